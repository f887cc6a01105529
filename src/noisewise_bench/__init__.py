"""Noisy problems with a hidden truth, and fair comparisons of methods on them."""
