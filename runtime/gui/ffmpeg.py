"""Calls of ffmpeg; a separate module, loaded at the first call, since it imports slow parts of Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

EVEN = "crop=trunc(iw/2)*2:trunc(ih/2)*2"
"""H.264 stores colours for pairs of pixels, so sizes must be even."""
TO_GIF = "fps={rate},split[a][b];[a]palettegen[p];[b][p]paletteuse"
"""Computes a palette of 256 colours of the video, then converts the video to it."""


def find() -> str:
    """Return the path of ffmpeg. Raises: RuntimeError if it is not installed."""
    path = shutil.which("ffmpeg")
    if path is None:
        raise RuntimeError("videos need ffmpeg, which is not installed. Hint: `apt install ffmpeg`")
    return path


def is_installed() -> bool:
    """Return whether ffmpeg is installed."""
    return shutil.which("ffmpeg") is not None


def run(*arguments: str) -> None:
    """Run ffmpeg; the last argument is the file it makes. Raises: RuntimeError if it is missing or fails."""
    command = [find(), "-nostdin", "-loglevel", "error", "-y", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        raise RuntimeError(f"ffmpeg made no `{arguments[-1]}`: {done.stderr.strip()}")


def encode(source: str, rate: int, size: tuple[int, int], crf: int, target: str, count: int) -> None:
    """Make a video of `count` numbered pictures. Raises: RuntimeError."""
    scale = f"scale={size[0]}:{size[1]}," if all(size) else ""
    frames = ("-framerate", str(rate), "-i", source, "-frames:v", str(count))
    if target.endswith(".gif"):
        run(*frames, "-filter_complex", scale + TO_GIF.format(rate=rate), target)
    else:
        codec = ("-c:v", "libx264", "-profile:v", "high", "-crf", str(crf), "-pix_fmt", "yuv420p")
        run(*frames, "-filter:v", scale + EVEN, *codec, target)


def encode_files(names: Sequence[str], rate: int, size: tuple[int, int], crf: int, target: str) -> None:
    """Make a video of pictures with any file names. Raises: RuntimeError; OSError if one cannot be read."""
    with tempfile.TemporaryDirectory() as folder:
        suffix = Path(names[0]).suffix
        for number, name in enumerate(names):
            shutil.copy(name, os.path.join(folder, f"{number:06d}{suffix}"))
        encode(os.path.join(folder, f"%06d{suffix}"), rate, size, crf, target, len(names))


def filter_video(source: str, target: str, filters: str) -> None:
    """Make a video of a video. Raises: RuntimeError."""
    run("-i", source, "-filter:v", f"{filters},{EVEN}", target)


def to_gif(source: str, target: str, rate: int) -> None:
    """Make a GIF of a video. Raises: RuntimeError."""
    run("-i", source, "-filter_complex", TO_GIF.format(rate=rate), target)
