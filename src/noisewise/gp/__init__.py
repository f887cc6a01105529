"""The Gaussian process: its model, what it proposes, what it answers."""
