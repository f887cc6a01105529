"""Problems from control, tuning and training; one file each, with its constants."""
