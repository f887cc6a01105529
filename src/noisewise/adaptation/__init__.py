"""What changes between generations."""
