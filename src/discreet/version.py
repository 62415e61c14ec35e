"""The version of this package, where rooms that must not import the rest can read it."""

__version__ = "0.2.0"
