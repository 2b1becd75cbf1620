"""Which device a rank takes, if several processes share the devices of a machine."""

import shadesmith as ti


def device_of_rank(arch: str, rank: int) -> str:
    """Return the name of a device for a rank: the ranks take the devices of an architecture in turn."""
    names = [device.name for device in ti.devices() if device.name.startswith(arch + ":")]
    return names[rank % len(names)] if names else arch
