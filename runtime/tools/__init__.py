"""`ti.tools`: pictures, videos, PLY and VTK files; `ti.tools.halo` splits arrays over ranks."""

from . import diagnose, halo, image, np2ply, video, vtk
from .image import imread, imresize, imshow, imwrite
from .np2ply import PLYWriter
from .video import VideoManager
from .vtk import write_vtk

__all__ = [
    "PLYWriter", "VideoManager", "diagnose", "halo", "image", "imread", "imresize", "imshow", "imwrite", "np2ply",
    "video", "vtk", "write_vtk",
]  # fmt: skip
