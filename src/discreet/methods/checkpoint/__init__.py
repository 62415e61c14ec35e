"""A run on disk, release by release, so that it can be killed and go on."""

from discreet.methods.checkpoint.checkpoint import Checkpoint

__all__ = ["Checkpoint"]
