"""DPALS, the published private ALS."""
