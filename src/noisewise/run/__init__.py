"""What happens: a run as data, the search that moves it on, seeds, the last phase."""
