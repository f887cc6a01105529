"""Which points to evaluate next, and how often."""
