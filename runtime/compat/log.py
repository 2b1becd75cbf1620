"""`ti._logging`: levels and messages, through Python's logger `shadesmith`."""

from __future__ import annotations

from ..session.logging_levels import LEVELS, LOGGER, is_logging_effective, set_logging_level

TRACE = "trace"
DEBUG = "debug"
INFO = "info"
WARN = "warn"
ERROR = "error"
CRITICAL = "critical"

supported_log_levels = [TRACE, DEBUG, INFO, WARN, ERROR, CRITICAL]

__all__ = ["CRITICAL", "DEBUG", "ERROR", "INFO", "TRACE", "WARN", "is_logging_effective", "set_logging_level"]


def _log(level: str, msg: object, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
    text = str(msg).format(*args, **kwargs) if args or kwargs else str(msg)
    LOGGER.log(LEVELS[level], "%s", text, stacklevel=3)


def trace(msg: object, *args: object, **kwargs: object) -> None:
    """Log a message of level trace."""
    _log(TRACE, msg, args, kwargs)


def debug(msg: object, *args: object, **kwargs: object) -> None:
    """Log a message of level debug."""
    _log(DEBUG, msg, args, kwargs)


def info(msg: object, *args: object, **kwargs: object) -> None:
    """Log a message of level info."""
    _log(INFO, msg, args, kwargs)


def warn(msg: object, *args: object, **kwargs: object) -> None:
    """Log a message of level warn."""
    _log(WARN, msg, args, kwargs)


def error(msg: object, *args: object, **kwargs: object) -> None:
    """Log a message of level error."""
    _log(ERROR, msg, args, kwargs)


def critical(msg: object, *args: object, **kwargs: object) -> None:
    """Log a message of level critical."""
    _log(CRITICAL, msg, args, kwargs)
