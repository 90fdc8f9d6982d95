"""The guide: a network that proposes ellipses to the chains, its training, and its proposals as jumps of a chain."""
