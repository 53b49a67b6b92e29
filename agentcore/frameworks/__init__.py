"""One folder for each framework that is emulated."""
