"""Which device computes: the CPU's threads, or a GPU where the extra ``gpu`` and a card are there."""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass

from discreet.data.ratings import Ratings
from discreet.engines.choice import AnyRatings, engine_of
from discreet.engines.disk import BlockEngine, DiskEngine
from discreet.errors import SettingsInvalid
from discreet.methods.private_half import PrivateHalf

__all__ = ["Gpu", "check_device", "check_kernels", "check_present", "engine_on"]


@dataclass(frozen=True)
class Gpu:
    """What answers for users on a GPU. Made anywhere, used where the GPU is.

    Parameters
    ----------
    half
        Where the method's private half on a GPU is (``module:Class``).
    device
        Of torch.
    memory
        Bytes of the device to use; a share of what is free by default.
    """

    half: str
    device: str = "cuda"
    memory: float | None = None

    def engine(self, ratings: Ratings) -> BlockEngine:
        """The engine of these users, on a device that was checked."""
        import torch

        from discreet.engines.gpu import GpuEngine

        room, _, name = self.half.partition(":")
        half = getattr(importlib.import_module(room), name)
        return GpuEngine(half, ratings, torch.device(self.device), self.memory)

    def kind(self) -> tuple[str, ...]:
        """What decides how numbers are rounded there: the card, and the versions of what compiles for it."""
        check_present(self.device)
        import torch
        import triton

        card = torch.cuda.get_device_name(self.device) if self.device != "cpu" else "cpu"
        return card, torch.__version__, triton.__version__


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
    check_kernels(device, method, gpu_half)
    check_present(device)


def check_kernels(device: str, method: str, gpu_half: str | None) -> None:
    """Refuse what is no device, or one that a method has no kernels for; whether it is there is seen elsewhere."""
    if _is_gpu(device) and gpu_half is None:
        raise SettingsInvalid(
            f"the method {method} has no GPU kernels; leave out the device {device}, or use budgeted"
        )


def check_present(device: str) -> None:
    """Refuse a device that is not there, naming what is missing."""
    if not _is_gpu(device):
        return
    if missing := [name for name in ("torch", "triton") if importlib.util.find_spec(name) is None]:
        raise SettingsInvalid(
            f"the device {device} needs {' and '.join(missing)}: install them with pip install 'discreet[gpu]'"
        )
    import torch

    if not torch.cuda.is_available():
        raise SettingsInvalid(
            f"the device {device} was asked for, and torch {torch.__version__} finds no GPU"
        )
    if int(device.partition(":")[2] or 0) >= torch.cuda.device_count():
        raise SettingsInvalid(f"there is no device {device}: torch finds {torch.cuda.device_count()} GPU(s)")


def _is_gpu(device: str) -> bool:
    if device == "cpu":
        return False
    kind, _, number = device.partition(":")
    if kind != "cuda" or (number and not number.isdecimal()):
        raise SettingsInvalid(
            f"there is no device {device!r}; use cpu, cuda, or cuda:0 for the first of several"
        )
    return True


def engine_on(
    device: str, private_half: type[PrivateHalf], gpu_half: str | None, ratings: AnyRatings
) -> BlockEngine | DiskEngine:
    """The engine that answers for these ratings on a device that was checked."""
    if device == "cpu":
        return engine_of(private_half, ratings)
    assert gpu_half is not None
    gpu = Gpu(gpu_half, device)
    if isinstance(ratings, Ratings):
        return gpu.engine(ratings)
    return DiskEngine(private_half, ratings, gpu.engine)
