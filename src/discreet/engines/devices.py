"""Which device computes: the CPU's threads, or a GPU where the extra ``gpu`` and a card are there."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any, Protocol

from discreet.data.ratings import Ratings
from discreet.engines.choice import AnyRatings, engine_of
from discreet.errors import SettingsInvalid
from discreet.methods.private_half import PrivateHalf
from discreet.methods.question import Question
from discreet.privacy.gaussian.totals import Total

__all__ = ["check_device", "engine_on"]


class _Engine(Protocol):
    def totals(self, question: Question[Any]) -> list[Total]: ...


def check_device(device: str, method: str, gpu_half: str | None) -> None:
    """Refuse a device that is not there, or that a method has no kernels for. Reads nothing private.

    Parameters
    ----------
    device
        ``"cpu"``, ``"cuda"`` or ``"cuda:0"``.
    method, gpu_half
        The method's name, and where its private half on a GPU is (``module:Class``), if it has one.

    Raises
    ------
    SettingsInvalid
        Naming what is missing.
    """
    if device == "cpu":
        return
    kind, _, number = device.partition(":")
    if kind != "cuda" or (number and not number.isdecimal()):
        raise SettingsInvalid(
            f"there is no device {device!r}; use cpu, cuda, or cuda:0 for the first of several"
        )
    if gpu_half is None:
        raise SettingsInvalid(
            f"the method {method} has no GPU kernels; leave out the device {device}, or use budgeted"
        )
    if missing := [name for name in ("torch", "triton") if importlib.util.find_spec(name) is None]:
        raise SettingsInvalid(
            f"the device {device} needs {' and '.join(missing)}: install them with pip install 'discreet[gpu]'"
        )
    import torch

    if not torch.cuda.is_available():
        raise SettingsInvalid(
            f"the device {device} was asked for, and torch {torch.__version__} finds no GPU"
        )
    if int(number or 0) >= torch.cuda.device_count():
        raise SettingsInvalid(f"there is no device {device}: torch finds {torch.cuda.device_count()} GPU(s)")


def engine_on(
    device: str, private_half: type[PrivateHalf], gpu_half: str | None, ratings: AnyRatings
) -> _Engine:
    """The engine that answers for these ratings on a device that was checked."""
    if device == "cpu":
        return engine_of(private_half, ratings)
    if not isinstance(ratings, Ratings):
        raise SettingsInvalid(
            f"ratings on disk are added up on the CPU; leave out the device {device}, or hold them in memory"
        )
    import torch

    from discreet.engines.gpu import GpuEngine

    assert gpu_half is not None
    room, _, name = gpu_half.partition(":")
    return GpuEngine(getattr(importlib.import_module(room), name), ratings, torch.device(device))
