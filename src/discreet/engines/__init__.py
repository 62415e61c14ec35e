"""Engines: where the users are, and how their contributions are added up."""
