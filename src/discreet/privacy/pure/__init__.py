"""Releases without delta: exact integer noise, epsilons that add up."""
