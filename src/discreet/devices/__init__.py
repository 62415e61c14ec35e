"""Devices: the server is the adversary, and each device answers with one noisy bit a round.

discreet.devices.fit(ratings, epsilon=4.0) simulates a whole task. ``discreet.devices.device`` is what runs on a device,
in the standard library alone; so nothing is imported here before it is asked for.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.devices.simulation import DeviceFit, fit
    from discreet.devices.task import DeviceSettings

__all__ = ["DeviceFit", "DeviceSettings", "fit"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'discreet.devices' has no attribute {name!r}")
    from discreet.devices import simulation, task

    return getattr(task if name == "DeviceSettings" else simulation, name)
