"""`GUI.slider` and `GUI.label`: a value that the program and, where a window is, the user set."""

from __future__ import annotations

from collections.abc import Callable


class WidgetValue:
    """What a slider or label shows."""

    def __init__(self, value: float) -> None:
        self._value = float(value)
        self._shown: list[Callable[[float], None]] = []

    @property
    def value(self) -> float:
        """The number: a slider's place, a label's text."""
        return self._value

    @value.setter
    def value(self, value: float) -> None:
        self._value = float(value)
        for show in self._shown:
            show(self._value)

    def moved(self, value: float) -> None:
        """Take a value from the window, which shows it already."""
        self._value = value

    def shown_by(self, show: Callable[[float], None]) -> None:
        """Tell `show` of each value the program sets."""
        self._shown.append(show)
        show(self._value)
