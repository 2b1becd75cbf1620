from typing import Any, TypeAlias, TypeVar

from shadesmith.runtime.gui.ui import Canvas as Canvas
from shadesmith.runtime.gui.ui import Gui as Gui
from shadesmith.runtime.gui.ui import Window as Window
def check_ggui_availability() -> None:
    """Return, since a window always works: without a display it saves its frames."""
def make_camera() -> Any:
    """Return a camera; Taichi's old name for `ti.ui.Camera()`."""
