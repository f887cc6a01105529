"""What was measured, and what it says about the noise."""
