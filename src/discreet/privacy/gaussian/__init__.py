"""Gaussian releases: integer contributions, exact sums, noise, one charge."""
