"""Edits that are saved while the program runs: the next launch runs what is saved.

In: a launcher and the files of its source. Out: a launcher that checks their times first, about 1 us a file.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from weakref import ref

from ....transpiler.errors import TaichiCompilationError, warn_user
from ...session.module_source import Choice, Recompiled, Stamp


def follow(
    launch: Callable[..., Any], choice: Choice, kernel: ref[Recompiled], key: Any, policy: str
) -> Callable[..., Any]:
    """Return a launcher that recompiles the kernel after a watched file has changed since it was read.

    What is saved while the compiler still works on the text before is seen by the next launch.
    Under the policy "watch" an edit that cannot run causes one warning, and the last good source keeps running; under
    the others every launch raises its error until the file is right again.
    """
    files = [os.fspath(path) for path in choice.watched]
    seen = [choice.seen[path] if path in choice.seen else stamp_of(path) for path in choice.watched]

    def launch_latest(*args: Any) -> Any:
        nonlocal seen
        now = [_stamp(file) for file in files]
        owner = kernel() if now != seen else None
        if owner is not None:
            try:
                return owner.recompile(key, args)(*args)
            except TaichiCompilationError as error:
                if policy != "watch":
                    raise
                seen = now
                warn_user(f"{error}\nThe last good source keeps running (edits='watch')")
        return launch(*args)

    return launch_latest


def dispatch(choice: Choice, kernel: ref[Recompiled], key: Any) -> Callable[..., Any]:
    """Return a launcher that lets the arguments of each launch decide which variant runs."""
    decide = choice.dispatch
    assert decide is not None

    def launch_chosen(*args: Any) -> Any:
        owner = kernel()
        assert owner is not None, "a kernel lives while it is called"
        return owner.launch_of_variant(key, args, decide(args))(*args)

    return launch_chosen


def stamp_of(path: Path) -> Stamp | None:
    """Return when a file and its permissions were changed, and its size; None if it does not exist.

    `cp -p` and `tar` restore the time of the content, and `chmod` leaves it: the time of the entry shows both.
    """
    return _stamp(os.fspath(path))


def _stamp(file: str) -> Stamp | None:
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size
