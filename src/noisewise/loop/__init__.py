"""The ways in: minimize, ask and tell, checkpoints, probe."""
