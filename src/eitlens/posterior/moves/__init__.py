"""Moves of a Markov chain of phantoms: steps along the surface of the data (manifold), and jumps."""
