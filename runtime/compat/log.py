"""`ti._logging`: levels and messages, through Python's logger `shadesmith`."""

from __future__ import annotations

from ..session.session import LEVELS, LOGGER, is_logging_effective, set_logging_level

TRACE = "trace"
DEBUG = "debug"
INFO = "info"
WARN = "warn"
ERROR = "error"
CRITICAL = "critical"

supported_log_levels = [TRACE, DEBUG, INFO, WARN, ERROR, CRITICAL]

__all__ = ["CRITICAL", "DEBUG", "ERROR", "INFO", "TRACE", "WARN", "is_logging_effective", "set_logging_level"]


def _log(level: str, parts: tuple[object, ...]) -> None:
    LOGGER.log(LEVELS[level], " ".join(map(str, parts)), stacklevel=3)


def trace(*parts: object) -> None:
    """Log a message of level trace."""
    _log(TRACE, parts)


def debug(*parts: object) -> None:
    """Log a message of level debug."""
    _log(DEBUG, parts)


def info(*parts: object) -> None:
    """Log a message of level info."""
    _log(INFO, parts)


def warn(*parts: object) -> None:
    """Log a message of level warn."""
    _log(WARN, parts)


def error(*parts: object) -> None:
    """Log a message of level error."""
    _log(ERROR, parts)


def critical(*parts: object) -> None:
    """Log a message of level critical."""
    _log(CRITICAL, parts)
