"""Regression on measured points: Gaussian processes with noise, replicates and output warping."""
