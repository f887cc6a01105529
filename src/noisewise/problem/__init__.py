"""What is minimised: parameters, bounds, start, earlier data, trials and values."""
