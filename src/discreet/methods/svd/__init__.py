"""Private SVD."""
