"""Silos: organisations that train together without pooling their users' ratings."""
