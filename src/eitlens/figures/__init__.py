"""Single pictures and their style."""
