"""What happens when things take long, or die: the figures of docs/reliability.md."""
