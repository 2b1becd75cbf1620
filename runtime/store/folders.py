"""Where entries lie, how many may, and whether that is a place that can be trusted: what is found there runs.

No pathlib in what reads entries: it would cost a warm start 3 ms.
"""

from __future__ import annotations

import os
import stat
import sys
from dataclasses import dataclass

VARIABLE = "SHADESMITH_CACHE_DIR"
ROOT = 0
BY_TIME = ("lru", "fifo")
"""Policies that remove what is oldest, by use or by birth."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When a folder is cleaned, and how: Taichi's options `offline_cache_*`.

    policy: "never"; "version": texts of other versions of shadesmith go; "lru", "fifo": when there are more than
    `max_bytes`, the part `factor` of the entries goes, those first that were used or written longest ago, and more if
    that does not do.
    """

    policy: str = "lru"
    max_bytes: int = 100 << 20
    factor: float = 0.25


def folder_of(path: str = "") -> str:
    """Return the folder of the cache: the one given, that of SHADESMITH_CACHE_DIR, or one in the user's own cache."""
    named = path or os.environ.get(VARIABLE, "")
    if named:
        return os.path.abspath(os.path.expanduser(named))
    return os.path.join(_user_cache(), "kernels")


def _user_cache() -> str:
    if sys.platform == "linux":  # the rule of the XDG, at once: importing platformdirs takes 5 ms
        wanted = os.environ.get("XDG_CACHE_HOME", "").strip()
        return os.path.join(wanted if os.path.isabs(wanted) else os.path.expanduser("~/.cache"), "shadesmith")
    from platformdirs import user_cache_dir

    return user_cache_dir("shadesmith")


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
