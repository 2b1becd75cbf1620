"""Waits until other threads have left the functions that they were in, so that memory they may use can be freed.

Launches and element accesses take no lock and count nothing, which would cost every one of them. Instead, the rare
caller that frees memory by force (the end of a session, `SNodeTree.destroy`) first makes later calls fail, and then
looks at the Python frames of all threads until those that were inside of shadesmith have left it.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from types import CodeType, FrameType

OWN_FOLDER = str(Path(__file__).parents[1])
LAUNCHER = "<launcher of "
"""Start of the file name of generated launchers."""
FIRST_PAUSE, LONGEST_PAUSE = 0.0001, 0.01
"""Time between two looks [s]."""


def wait_for_other_threads(seconds: float, harmless: Collection[CodeType] = (), session: object = None) -> bool:
    """Wait until each call in progress in another thread has ended; return whether all have.

    seconds: limit of the wait. harmless: functions in which a thread uses no memory, such as one that waits.
    session: launches of other sessions are harmless too.
    """
    waiting = frozenset(map(id, harmless))  # comparing code objects would compare their instructions
    calls = dict(_calls(waiting, session))
    end, pause = time.monotonic() + seconds, FIRST_PAUSE
    while calls:
        if time.monotonic() > end:
            return False
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
        now = dict(_calls(waiting, session))
        calls = {thread: frame for thread, frame in calls.items() if now.get(thread) is frame}
    return True


def _calls(waiting: Collection[int], session: object) -> Iterator[tuple[int, FrameType]]:
    """Yield the outermost frame inside of shadesmith of each other thread that has one.

    waiting: identities of the code of functions in which a thread uses no memory.
    """
    own = threading.get_ident()
    for thread, innermost in sys._current_frames().items():
        outermost, frame = None, innermost if thread != own else None
        while frame is not None:
            if id(frame.f_code) in waiting:
                outermost = None
                break
            file = frame.f_code.co_filename
            if file.startswith(LAUNCHER) and frame.f_globals.get("session", session) is not session:
                outermost = None
                break
            if file.startswith((OWN_FOLDER, LAUNCHER)):
                outermost = frame
            frame = frame.f_back
        if outermost is not None:
            yield thread, outermost


def keep_for_ever(value: object) -> None:
    """Let an object outlive the interpreter, since a thread or another process may still use what it owns."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))
