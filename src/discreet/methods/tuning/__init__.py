"""Choosing settings by private trials, paid for."""
