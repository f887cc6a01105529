"""Any program as an objective: what to run, how to read its value, and running it."""
