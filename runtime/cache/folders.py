"""Where entries lie, and whether that is a place that can be trusted: what is found there runs."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

VARIABLE = "SHADESMITH_CACHE_DIR"
ROOT = 0


def folder_of(path: str = "") -> Path:
    """Return the folder of the cache: the one given, that of SHADESMITH_CACHE_DIR, or one in the user's own cache."""
    named = path or os.environ.get(VARIABLE, "")
    if named:
        return Path(os.path.abspath(os.path.expanduser(named)))
    return _user_cache() / "kernels"


def _user_cache() -> Path:
    if sys.platform == "linux":  # the rule of the XDG, at once: importing platformdirs takes 5 ms
        wanted = os.environ.get("XDG_CACHE_HOME", "").strip()
        return Path(wanted if os.path.isabs(wanted) else os.path.expanduser("~/.cache"), "shadesmith")
    from platformdirs import user_cache_path

    return user_cache_path("shadesmith")


def check_folder(folder: str) -> None:
    """Check that nobody but the user (and root) can have written to a folder, if there is one.

    Raises: OSError whose `strerror` says what is wrong.
    """
    try:
        status = os.stat(folder)
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(status.st_mode):
        raise OSError(0, "it is not a folder")
    if sys.platform == "win32":  # folders of the user are, by their access lists
        return
    if status.st_uid not in (os.geteuid(), ROOT):
        raise OSError(0, "the folder belongs to another user")
    if status.st_mode & stat.S_IWOTH:
        raise OSError(0, "everybody may write to the folder")
