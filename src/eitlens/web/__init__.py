"""The page: draw inclusions, see what the boundary tells of them. A server, and the same page as static files."""
