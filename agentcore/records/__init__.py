"""What is kept of runs: their history, saved files, and where each message came from."""
