"""Selection among a few points."""
