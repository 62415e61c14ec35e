"""Budgeted private ALS, the default method."""
