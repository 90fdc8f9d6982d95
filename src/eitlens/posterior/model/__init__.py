"""What the posterior is of: ellipses, their prior, the likelihood of the data."""
