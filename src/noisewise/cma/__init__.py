"""The evolution strategy: distribution, update, rates, weights, and the base of its methods."""
