"""How a Markov chain of bodies moves."""
