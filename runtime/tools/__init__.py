"""`ti.tools`: pictures, videos, PLY and VTK files."""

from . import diagnose, image, np2ply, video, vtk
from .image import imread, imresize, imshow, imwrite
from .np2ply import PLYWriter
from .video import VideoManager
from .vtk import write_vtk

__all__ = [
    "PLYWriter", "VideoManager", "diagnose", "image", "imread", "imresize", "imshow", "imwrite", "np2ply", "video",
    "vtk", "write_vtk",
]  # fmt: skip
