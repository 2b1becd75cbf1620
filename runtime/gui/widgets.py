"""`GUI.slider` and `GUI.label`: a value that the program and, in a window, the user can set."""

from __future__ import annotations

from collections.abc import Callable


class WidgetValue:
    """The value of a slider or label."""

    def __init__(self, value: float) -> None:
        self._value = float(value)
        self._shown: list[Callable[[float], None]] = []

    @property
    def value(self) -> float:
        """The number: a slider's position, a label's number."""
        return self._value

    @value.setter
    def value(self, value: float) -> None:
        self._value = float(value)
        for show in self._shown:
            show(self._value)

    def moved(self, value: float) -> None:
        """Set the value from the window, which already shows it."""
        self._value = value

    def shown_by(self, show: Callable[[float], None]) -> None:
        """Call `show` with each value that the program sets."""
        self._shown.append(show)
        show(self._value)
