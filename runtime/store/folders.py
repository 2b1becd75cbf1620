"""The folder of the entries, its size limit, and whether it can be trusted: code that is found there is executed.

The modules that read entries avoid pathlib, which would add 3 ms to a warm start.
"""

from __future__ import annotations

import os
import stat
import sys

from ...transpiler.lazy_dataclasses import dataclass

if sys.platform != "win32":
    import grp
    import pwd

VARIABLE = "SHADESMITH_CACHE_DIR"
ROOT = 0
BY_TIME = ("lru", "fifo")
"""Policies that remove the oldest entries, by last use or by creation."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When a folder is cleaned, and how: Taichi's options `offline_cache_*`.

    policy: "never"; "version" removes sources emitted by other versions of shadesmith; "lru" and "fifo" remove the
      fraction `factor` of the entries once they exceed `max_bytes`, least recently used or oldest first, and more if
      that does not suffice.
    """

    policy: str = "lru"
    max_bytes: int = 100 << 20
    factor: float = 0.25


def folder_of(path: str = "") -> str:
    """Return the folder of the cache: `path`, or that of SHADESMITH_CACHE_DIR, or one in the user's own cache."""
    named = path or os.environ.get(VARIABLE, "")
    if named:
        return os.path.abspath(os.path.expanduser(named))
    return os.path.join(_user_cache(), "kernels")


def _user_cache() -> str:
    if sys.platform == "linux":  # the XDG rule, written out: importing platformdirs takes 5 ms
        wanted = os.environ.get("XDG_CACHE_HOME", "").strip()
        return os.path.join(wanted if os.path.isabs(wanted) else os.path.expanduser("~/.cache"), "shadesmith")
    from platformdirs import user_cache_dir

    return user_cache_dir("shadesmith")


def check_folder(folder: str) -> None:
    """Check that only the user and root can have written to a folder, if it exists.

    Raises: OSError whose `strerror` says what is wrong.
    """
    try:
        status = os.stat(folder)
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(status.st_mode):
        raise OSError(0, "it is not a folder")
    if sys.platform == "win32":  # access lists protect folders of the user
        return
    if status.st_uid not in (os.geteuid(), ROOT):
        raise OSError(0, "the folder belongs to another user")
    check_mode(status)


def check_mode(status: os.stat_result) -> None:
    """Check that nobody but its owner and root may write to a file or folder.

    A group that is only its user's own counts as the owner: many systems give each user one, and let it write.
    Raises: OSError whose `strerror` says what is wrong.
    """
    if sys.platform == "win32":
        return
    if status.st_mode & stat.S_IWOTH:
        raise OSError(0, "everybody may write to it")
    if status.st_mode & stat.S_IWGRP and not _is_private(status.st_gid, status.st_uid):
        raise OSError(0, "other users of its group may write to it")


def _is_private(group: int, user: int) -> bool:
    """Return whether a group is the one of its user alone: it has the user's name and no other members."""
    if sys.platform == "win32":
        return False
    try:
        entry, owner = grp.getgrgid(group), pwd.getpwuid(user).pw_name
    except KeyError:
        return False
    return entry.gr_name == owner and set(entry.gr_mem) <= {owner}
