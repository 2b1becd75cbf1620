"""The logger `shadesmith` and Taichi's names of its levels."""

from __future__ import annotations

import logging

from ...transpiler.errors import TaichiRuntimeError

LOGGER = logging.getLogger("shadesmith")
TRACE_LEVEL = 5
LEVELS = {
    "trace": TRACE_LEVEL,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
    "off": logging.CRITICAL + 10,
}
"""Taichi's names of levels, as `ti.init(log_level=...)` takes them."""


def set_logging_level(level: str) -> None:
    """Set the level of the logger `shadesmith`. Raises: TaichiRuntimeError for an unknown name.

    level: "trace", "debug", "info", "warn", "error" or "critical".

    Example:
        >>> ti.set_logging_level("warn")
    """
    if level.lower() not in LEVELS:
        raise TaichiRuntimeError(f"Unknown logging level [{level}]. Levels = {', '.join(LEVELS)}")
    LOGGER.setLevel(LEVELS[level.lower()])


def is_logging_effective(level: str) -> bool:
    """Return whether messages of a level are logged.

    Example:
        >>> ti.is_logging_effective("error")
        True
    """
    return LOGGER.isEnabledFor(LEVELS[level.lower()])
