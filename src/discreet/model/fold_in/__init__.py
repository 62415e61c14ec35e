"""The ways to fold a person in."""
