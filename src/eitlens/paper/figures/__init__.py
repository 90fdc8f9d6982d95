"""The figures of the paper and of our results beside it."""
