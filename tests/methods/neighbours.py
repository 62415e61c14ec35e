"""How far some users move a release, in units of what it costs: the audit's own measure."""

from __future__ import annotations

from discreet.audit.replay import Scales, distance, move, noise_scales

__all__ = ["Scales", "distance", "move", "noise_scales"]
