"""GPUs of the tests' clusters that are not of one kind; on the nodes too, so in a module of its own."""

from __future__ import annotations

import os

from discreet.engines.gpu import Gpu


class Odd(Gpu):
    """One in every process."""

    def kind(self) -> tuple[str, ...]:
        """As no other."""
        return (f"card {os.getpid()}",)
