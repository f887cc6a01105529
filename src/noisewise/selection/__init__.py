"""Samples to weights."""
