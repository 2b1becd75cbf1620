"""A window that shows pictures and collects events, by tkinter.

In: pictures as bytes. Out: events with Taichi's names on X11. A key has the name of its unshifted character: `a` with
Shift too, `1` for `!`.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ...transpiler.errors import ReportedError
from .events import MODIFIERS, Delta, EType, Event, is_held

SHIFTED = str.maketrans('~!@#$%^&*()_+{}|:"<>?', "`1234567890-=[]\\;',./")
"""Maps shifted characters to the unshifted ones on the same keys of the American layout."""
KEYPAD = {
    "KP_0": "KP_Insert", "KP_1": "KP_End", "KP_2": "KP_Down", "KP_3": "KP_Next", "KP_4": "KP_Left", "KP_5": "KP_Begin",
    "KP_6": "KP_Right", "KP_7": "KP_Home", "KP_8": "KP_Up", "KP_9": "KP_Prior", "KP_Decimal": "KP_Delete",
}  # fmt: skip
"""Names of the keypad's keys with and without Num Lock; toggling it may not leave a key pressed."""
BUTTONS = {1: "LMB", 2: "MMB", 3: "RMB"}
NOTCH = 120
"""Delta of the wheel for one notch."""
WHEELS = {4: Delta(0, NOTCH), 5: Delta(0, -NOTCH), 6: Delta(NOTCH, 0), 7: Delta(-NOTCH, 0)}
"""X11 reports the wheel as buttons."""
SHOWS_AFTER_CLOSE = 5
"""Calls of `show` that a closed window accepts, so that a loop can finish its iteration."""
CLOSED = "Window close button clicked, exiting... (use `while gui.running` to exit gracefully)"


class NoWindowError(ReportedError):
    """No window can be opened; the message gives the reason. expected: there is no display, so none is missed."""

    def __init__(self, reason: str, hint: str | None = None, *, expected: bool) -> None:
        super().__init__(reason, hint)
        self.expected = expected


class Window:
    """A tkinter window of `res` pixels."""

    def __init__(self, tkinter: Any, name: str, res: tuple[int, int], fullscreen: bool) -> None:
        self.pressed: set[str] = set()
        self.cursor = (0.0, 0.0)
        self._res = res
        self._events: list[Event] = []
        self._open = True
        self._shows_left = SHOWS_AFTER_CLOSE
        self._last = time.perf_counter()
        self._tkinter = tkinter
        self._root = tkinter.Tk(className=name)
        self._root.title(name)
        self._root.resizable(False, False)
        self._root.attributes("-fullscreen", fullscreen)
        # `master` is necessary: else the picture of a second window would belong to the first one.
        self._image = tkinter.PhotoImage(master=self._root, width=res[0], height=res[1])
        self._label = tkinter.Label(self._root, image=self._image, borderwidth=0, highlightthickness=0)
        self._label.pack()
        self._bind()
        self._root.update()

    def is_open(self) -> bool:
        """Whether it has not been closed."""
        return self._open

    def close(self) -> None:
        """Close it; a second call does nothing."""
        if self._open:
            self._open = False
            self._root.destroy()

    def show(self, pixels: np.ndarray[Any, Any], seconds: float) -> list[Event]:
        """Show bytes, (height, width, 3), first row on top, `seconds` after the last ones; return the events since.

        Raises: RuntimeError if the window was closed several calls ago.
        """
        if not self._open:
            self._shows_left -= 1
            if self._shows_left < 0:
                raise RuntimeError(CLOSED)
            return self.poll()
        self._image.configure(data=b"P6 %d %d 255 " % self._res + pixels.tobytes(), format="ppm")
        wait = self._last + seconds - time.perf_counter()
        if wait > 0:
            time.sleep(wait)
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
        """Add a slider below the canvas that calls `moved`; return the function that sets it."""
        scale = self._tkinter.Scale(
            self._root, label=text, from_=minimum, to=maximum, resolution=step, orient="horizontal",
            command=lambda value: moved(float(value)),
        )  # fmt: skip
        scale.pack(fill="x")
        return lambda value: scale.set(value) if self._open else None

    def add_label(self, text: str) -> Callable[[float], None]:
        """Add a label; return the function that sets its number."""
        label = self._tkinter.Label(self._root, text=text)
        label.pack(fill="x")
        return lambda value: label.configure(text=f"{text}: {value:g}") if self._open else None

    def add_button(self, text: str, key: str) -> None:
        """Add a button that gives an event of `key`."""
        button = self._tkinter.Button(self._root, text=text, command=lambda: self._record(EType.Press, key))
        button.pack(fill="x")

    def _bind(self) -> None:
        self._root.protocol("WM_DELETE_WINDOW", self._closed)
        self._root.bind("<KeyPress>", lambda event: self._pressed(_key_of(event)))
        self._root.bind("<KeyRelease>", lambda event: self._released(_key_of(event)))
        self._root.bind("<FocusOut>", lambda _: self.pressed.clear())  # a release outside the window gives no event
        self._label.bind("<ButtonPress>", self._button_pressed)
        self._label.bind("<ButtonRelease>", self._button_released)
        self._label.bind("<MouseWheel>", lambda event: self._wheel(event, Delta(0, event.delta)))
        self._label.bind("<Motion>", self._moved)

    def _closed(self) -> None:
        self._record(EType.Press, "WMClose")
        self.close()

    def _pressed(self, key: str) -> None:
        self._record(EType.Press, key)
        self.pressed.add(key)

    def _released(self, key: str) -> None:
        self._record(EType.Release, key)
        self.pressed.discard(key)

    def _button_pressed(self, event: Any) -> None:
        self._set_cursor(event)
        if event.num in WHEELS:
            # Tk 8.6 reports buttons 6 and 7, the sideways wheel, as 4 and 5 with Shift.
            sideways = event.num < 6 and event.state & 1 and not is_held("Shift", self.pressed)
            self._wheel(event, WHEELS[event.num + 2 if sideways else event.num])
        else:
            self._pressed(BUTTONS.get(event.num, f"Button{event.num}"))

    def _button_released(self, event: Any) -> None:
        self._set_cursor(event)
        if event.num not in WHEELS:
            self._released(BUTTONS.get(event.num, f"Button{event.num}"))

    def _wheel(self, event: Any, delta: Delta) -> None:
        self._set_cursor(event)
        self._record(EType.Move, "Wheel", delta)

    def _moved(self, event: Any) -> None:
        self._set_cursor(event)
        self._record(EType.Move, "Motion")

    def _set_cursor(self, event: Any) -> None:
        self.cursor = (event.x / self._res[0], (self._res[1] - 1 - event.y) / self._res[1])

    def _record(self, kind: EType, key: str, delta: Delta = Delta()) -> None:  # noqa: B008 - a constant
        held = [name for name in MODIFIERS if is_held(name, self.pressed)]
        self._events.append(Event(kind, held, self.cursor, key, delta))


def _key_of(event: Any) -> str:
    """Return the unshifted character of a key, or its name on X11."""
    code = int(event.keysym_num)
    if 0x20 <= code < 0x7F or 0xA0 <= code <= 0xFF:  # X11 numbers these as Latin-1 does
        return chr(code).lower().translate(SHIFTED)
    return KEYPAD.get(event.keysym, str(event.keysym))


def open_window(name: str, res: tuple[int, int], fullscreen: bool) -> Window:
    """Return a window. Raises: NoWindowError if there is no display or no tkinter."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise NoWindowError("no display", expected=True)
    try:
        tkinter = importlib.import_module("tkinter")
    except ImportError as error:
        hint = "`apt install python3-tk`, or a Python that has tkinter"
        raise NoWindowError(f"tkinter is not installed ({error})", hint, expected=False) from None
    try:
        return Window(tkinter, name, res, fullscreen)
    except tkinter.TclError as error:
        raise NoWindowError(str(error), expected=False) from None
