"""What finished studies of any tool are worth: `noisewise.audit`."""
