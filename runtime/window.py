"""A window that shows images and collects events, by tkinter; none where there is no display."""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np


@dataclass(slots=True)
class Event:
    """type: one of Taichi's event types; key: what was pressed; pos: cursor in the unit square; modifier: keys held."""

    MOTION: ClassVar[str] = "MOTION"
    PRESS: ClassVar[str] = "PRESS"
    RELEASE: ClassVar[str] = "RELEASE"

    type: str
    key: str
    pos: tuple[float, float]
    modifier: tuple[str, ...] = ()
    delta: tuple[int, int] = (0, 0)

    def matches(self, wanted: Any) -> bool:
        """Tell whether `wanted`, a type, a key, or a pair of both, describes this event."""
        if isinstance(wanted, (list, tuple)):
            return all(self.matches(part) for part in wanted)
        return wanted in (self.type, self.key)


class Window:
    """A tkinter window of `res` pixels."""

    def __init__(self, tkinter: Any, name: str, res: tuple[int, int]) -> None:
        self.pressed: set[str] = set()
        self.cursor = (0.0, 0.0)
        self._res = res
        self._events: list[Event] = []
        self._open = True
        self._last = time.perf_counter()
        self._tkinter = tkinter
        self._root = tkinter.Tk(className=name)
        self._root.title(name)
        self._root.resizable(False, False)
        self._image = tkinter.PhotoImage(width=res[0], height=res[1])
        self._label = tkinter.Label(self._root, image=self._image, borderwidth=0)
        self._label.pack()
        self._root.protocol("WM_DELETE_WINDOW", self._closed)
        self._root.bind("<KeyPress>", lambda e: self._key(e, Event.PRESS))
        self._root.bind("<KeyRelease>", lambda e: self._key(e, Event.RELEASE))
        self._root.bind("<ButtonPress>", lambda e: self._button(e, Event.PRESS))
        self._root.bind("<ButtonRelease>", lambda e: self._button(e, Event.RELEASE))
        self._root.bind("<Motion>", self._motion)

    def is_open(self) -> bool:
        """Whether nobody has closed it."""
        return self._open

    def close(self) -> None:
        """Close it; again is no harm."""
        if self._open:
            self._open = False
            self._root.destroy()

    def show(self, pixels: np.ndarray[Any, Any], fps_limit: int | None) -> list[Event]:
        """Show an image of bytes, (height, width, 3), first row on top, and return the events since."""
        if not self._open:
            return []
        header = b"P6 %d %d 255 " % self._res
        self._image.configure(data=header + pixels.tobytes(), format="ppm")
        if fps_limit:
            time.sleep(max(0.0, self._last + 1 / fps_limit - time.perf_counter()))
        self._last = time.perf_counter()
        return self.poll()

    def poll(self) -> list[Event]:
        """Return the events since the last call."""
        if self._open:
            self._root.update()
        events, self._events = self._events, []
        return events

    def add_slider(
        self, text: str, minimum: float, maximum: float, step: float, moved: Callable[[float], None]
    ) -> Callable[[float], None]:
        """Add a slider below the canvas that tells `moved`; return what sets it."""
        scale = self._tkinter.Scale(
            self._root, label=text, from_=minimum, to=maximum, resolution=step, orient="horizontal",
            command=lambda value: moved(float(value)),
        )  # fmt: skip
        scale.pack(fill="x")
        return lambda value: scale.set(value) if self._open else None

    def add_label(self, text: str) -> Callable[[float], None]:
        """Add a label; return what sets its number."""
        label = self._tkinter.Label(self._root, text=text)
        label.pack(fill="x")
        return lambda value: label.configure(text=f"{text}: {value:g}") if self._open else None

    def add_button(self, text: str, key: str) -> None:
        """Add a button that gives an event of `key`."""
        button = self._tkinter.Button(
            self._root, text=text, command=lambda: self._events.append(Event(Event.PRESS, key, self.cursor))
        )
        button.pack(fill="x")

    def _closed(self) -> None:
        self._events.append(Event(Event.PRESS, "WMClose", self.cursor))
        self.close()

    def _key(self, event: Any, kind: str) -> None:
        key = {"space": " "}.get(event.keysym, event.keysym.removesuffix("_L").removesuffix("_R"))
        self._record(key, kind)

    def _button(self, event: Any, kind: str) -> None:
        self._motion(event)
        self._record({1: "LMB", 2: "MMB", 3: "RMB"}.get(event.num, "Wheel"), kind)

    def _record(self, key: str, kind: str) -> None:
        (self.pressed.add if kind == Event.PRESS else self.pressed.discard)(key)
        held = tuple(name for name in ("Shift", "Alt", "Control") if name in self.pressed)
        self._events.append(Event(kind, key, self.cursor, held))

    def _motion(self, event: Any) -> None:
        self.cursor = (event.x / self._res[0], 1 - event.y / self._res[1])


def open_window(name: str, res: tuple[int, int]) -> Window | None:
    """Return a window, or None where there is no display or no tkinter."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return None
    try:
        tkinter = importlib.import_module("tkinter")
        return Window(tkinter, name, res)
    except Exception:
        # No tkinter, or a display that refuses us (tkinter.TclError): frames go to files then.
        return None
