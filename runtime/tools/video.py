"""`ti.tools.VideoManager` and `ti.tools.video`: frames as PNG files, and videos made of them by ffmpeg."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Iterable, Sequence
from typing import Any

from ..gui.images import image_of
from ..session.logging_levels import LOGGER
from .image import imwrite

FRAME_FN_TEMPLATE = "%06d.png"
FRAME_DIR = "frames"
FIRST_CHECKPOINT = 4
"""Frames after which the first video is made; the next follows after twice as many."""


class VideoManager:
    """Writes frames to `<output_dir>/frames`, and videos of them to `<output_dir>`.

    video_filename: without a suffix; `video` if not given. width, height [pixels]: of the video; those of the frames if
    not given. post_processor: its `process(img)` gets each frame as an array and returns the one to write. framerate
    [frames/s]. automatic_build: make a video after 4, 8, 16, ... frames.

    Example:
        >>> video = ti.tools.VideoManager("wave", framerate=24, automatic_build=False)
        >>> video.write_frame(np.zeros((64, 32, 3)))
    """

    def __init__(self, output_dir: str, video_filename: str | None = None, width: int | None = None,
                 height: int | None = None, post_processor: Any = None, framerate: int = 24,
                 automatic_build: bool = True) -> None:  # fmt: skip
        self.directory = os.fspath(output_dir)
        self.frame_directory = os.path.join(self.directory, FRAME_DIR)
        self.video_filename = video_filename
        self.width = width
        self.height = height
        self.post_processor = post_processor
        self.framerate = framerate
        self.automatic_build = automatic_build
        self.next_video_checkpoint = FIRST_CHECKPOINT
        self.frame_counter = 0
        self.frame_fns: list[str] = []
        os.makedirs(self.frame_directory, exist_ok=True)

    def get_output_filename(self, suffix: str) -> str:
        """Return the path of the video with a suffix, such as `.mp4`."""
        name = self.video_filename or "video"
        stem, extension = os.path.splitext(name)
        if extension:
            LOGGER.warning("file extension %s of `%s` will be disregarded", extension, name)
        return os.path.join(self.directory, stem + suffix)

    def get_frame_directory(self) -> str:
        """Return the path of the frames."""
        return self.frame_directory

    def write_frame(self, img: Any) -> None:
        """Write the next frame, (width, height[, channels]); a last odd row or column is left out.

        Raises: as `ti.tools.imwrite`.
        """
        image = image_of(img, "VideoManager.write_frame")
        if self.post_processor is not None:
            image = image_of(self.post_processor.process(image.copy()), "VideoManager.write_frame")
        width, height = image.shape[0] // 2 * 2, image.shape[1] // 2 * 2
        if (width, height) != image.shape[:2] and not self.frame_counter:
            LOGGER.warning("frames of %d x %d pixels: sizes are even, the last odd row or column is left out",
                           *image.shape[:2])  # fmt: skip
        self.width, self.height = self.width or width, self.height or height
        name = FRAME_FN_TEMPLATE % self.frame_counter
        imwrite(image[:width, :height], os.path.join(self.frame_directory, name))
        self.frame_fns.append(name)
        self.frame_counter += 1
        if self.automatic_build and self.frame_counter == self.next_video_checkpoint:
            self.next_video_checkpoint *= 2
            if _ffmpeg().is_installed():
                self.make_video()

    def write_frames(self, images: Iterable[Any]) -> None:
        """Write frames."""
        for image in images:
            self.write_frame(image)

    def clean_frames(self) -> None:
        """Delete the frames in the folder, those of earlier runs too, and start again."""
        self.frame_counter, self.next_video_checkpoint = 0, FIRST_CHECKPOINT
        self.frame_fns.clear()
        for name in os.listdir(self.frame_directory):
            if re.fullmatch(r"\d{6,}\.png", name):
                os.remove(os.path.join(self.frame_directory, name))

    def make_video(self, mp4: bool = True, gif: bool = True) -> None:
        """Make `.mp4` and `.gif` videos of the frames written so far.

        Raises: RuntimeError if there is no frame, ffmpeg is missing, or it fails.
        """
        if not self.frame_counter:
            raise RuntimeError(f"no frame was written to {self.frame_directory}. Hint: call `write_frame(img)` first")
        source = os.path.join(self.frame_directory, FRAME_FN_TEMPLATE)
        size = (self.width or 0, self.height or 0)
        for wanted, suffix in ((mp4, ".mp4"), (gif, ".gif")):
            if wanted:
                _ffmpeg().encode(source, self.framerate, size, 1, self.get_output_filename(suffix), self.frame_counter)


def get_ffmpeg_path() -> str:
    """Return the path of ffmpeg. Raises: RuntimeError if it is not installed."""
    path: str = _ffmpeg().find()
    return path


def make_video(
    input_files: Sequence[str],
    width: int = 0,
    height: int = 0,
    frame_rate: int = 24,
    crf: int = 20,
    output_path: str = "video.mp4",
) -> None:
    """Make a video of pictures; the suffix of `output_path`, .mp4 or .gif, selects the format.

    width, height [pixels]: those of the pictures if 0. crf: the lower, the better and the larger.

    Raises: ValueError for a path instead of a list of paths, or none; RuntimeError as `VideoManager.make_video`.
    """
    if isinstance(input_files, str) or not input_files:
        raise ValueError(f"`input_files` is a list of the names of picture files; found {input_files!r}")
    _ffmpeg().encode_files(input_files, frame_rate, (width, height), crf, output_path)


def mp4_to_gif(input_fn: str, output_fn: str, framerate: int) -> None:
    """Make a GIF of a video. Raises: RuntimeError if ffmpeg is missing or fails."""
    _ffmpeg().to_gif(input_fn, output_fn, framerate)


def accelerate_video(input_fn: str, output_fn: str, speed: float) -> None:
    """Make a video `speed` times as fast. Raises: RuntimeError if ffmpeg is missing or fails."""
    _ffmpeg().filter_video(input_fn, output_fn, f"setpts={1 / speed:.4f}*PTS")


def crop_video(input_fn: str, output_fn: str, x_begin: float, x_end: float, y_begin: float, y_end: float) -> None:
    """Cut a rectangle, in fractions of the picture, y downwards, out of a video. Raises: RuntimeError."""
    size = f"iw*{x_end - x_begin:.4f}:ih*{y_end - y_begin:.4f}"
    _ffmpeg().filter_video(input_fn, output_fn, f"crop={size}:iw*{x_begin:.4f}:ih*{y_begin:.4f}")


def scale_video(input_fn: str, output_fn: str, ratiow: float, ratioh: float) -> None:
    """Make a video `ratiow` times as wide and `ratioh` times as high. Raises: RuntimeError if ffmpeg fails."""
    _ffmpeg().filter_video(input_fn, output_fn, f"scale=iw*{ratiow:.4f}:ih*{ratioh:.4f}")


def _ffmpeg() -> Any:
    return importlib.import_module("..gui.ffmpeg", __package__)
