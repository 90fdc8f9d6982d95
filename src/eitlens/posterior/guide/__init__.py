"""A network that guesses where ellipses are, so that chains start there."""
