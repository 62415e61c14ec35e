"""Randomised response: what a device does to its own answer before it leaves."""
