"""Minimise functions that can only be measured with noise, under a fixed budget."""

__version__ = "0.1.0"
