"""The Bayesian model: coordinates of the ellipses, their prior, the likelihood of the data, the posterior."""
