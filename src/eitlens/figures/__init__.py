"""Pictures: one style, one file a figure."""
