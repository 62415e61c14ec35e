"""The device's side, in the standard library alone: this folder can be copied onto a device as it is."""
