"""The evolution strategy: profiles, learning rates, covariance models, sampling and update."""
