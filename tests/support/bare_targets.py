"""Capabilities of targets with few types and no atomics of their own, for tests of single passes."""

from __future__ import annotations

from dataclasses import fields, replace

from shadesmith.runtime.devices.capabilities import portable
from shadesmith.transpiler.options import Capabilities


def bare(target: str, **members: object) -> Capabilities:
    """Return the capabilities with all that is true of a target's processor and compiler, and `members`."""
    full = portable(target)
    habits = {name: value for name in NAMES if isinstance(value := getattr(full, name), bool)}
    return replace(Capabilities(target), **{**habits, **members})


NAMES = [member.name for member in fields(Capabilities)]
