from typing import Any, TypeAlias, TypeVar

from shadesmith.runtime.tools.np2ply import PLYWriter as PLYWriter
from shadesmith.runtime.tools.video import VideoManager as VideoManager
from shadesmith.tools import diagnose as diagnose
from shadesmith.tools import halo as halo
from shadesmith.tools import image as image
def imread(filename: Any, channels: Any = ...) -> Any:
    """Return the picture of a file as bytes, shape (width, height, channels)."""
def imresize(img: Any, w: Any, h: Any = ...) -> Any:
    """Return a picture scaled to (w, h) without smoothing, the picture itself if that is its size; h: w if not given."""
def imshow(img: Any, title: Any = ...) -> None:
    """Show a picture in a window until it is closed or Escape is pressed; in a notebook, below the cell."""
def imwrite(img: Any, filename: Any) -> None:
    """Write a picture to a file; the suffix selects the format."""
from shadesmith.tools import np2ply as np2ply
from shadesmith.tools import video as video
from shadesmith.tools import vtk as vtk
def write_vtk(scalar_field: Any, filename: Any) -> None:
    """Write a 2-D or 3-D field of numbers to `<filename>.vtr`: a value for each point of the grid 0, 1, 2, ..."""
