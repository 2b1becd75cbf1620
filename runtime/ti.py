"""`ti`, the command line of Taichi's programmers: `ti example fractal`, `ti run a.py`, `ti cache clean`.

In: the arguments. Out: an exit status. What Taichi's own developers use it for (`ti release`) is refused by name.
"""

from __future__ import annotations

import argparse
import code
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ..transpiler.errors import PACKAGE
from .commands import command_line
from .loading import loader
from .store.folders import folder_of
from .taichi_name import FOLDER

PROGRAMS = Path(__file__).resolve().parents[1] / "examples"
"""The example programs of this package."""
DEVELOPERS = {
    "release": "makes a release of Taichi",
    "doc": "builds Taichi's documentation",
    "format": "formats Taichi's source",
    "format_all": "formats Taichi's source",
    "regression": "compares Taichi's benchmarks",
    "baseline": "stores Taichi's benchmarks",
    "test": "runs Taichi's tests",
    "lint": "checks Taichi's source",
    "changelog": "shows Taichi's changes",
}
"""Commands for developers of Taichi."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command of `ti`; return its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] in ("-h", "--help"):
        print("usage: ti COMMAND [ARGUMENT ...]\n")
        print("\n".join(f"    {name:<14}{(action.__doc__ or '').splitlines()[0]}" for name, action in COMMANDS.items()))
        return 0 if given else 1
    name, rest = given[0], given[1:]
    if name.endswith(".py"):
        return _start("run", *given)
    if name in COMMANDS:
        return COMMANDS[name](rest)
    if name in DEVELOPERS:
        print(f"ti {name} {DEVELOPERS[name]}; shadesmith has no such command", file=sys.stderr)
    else:
        print(f"{name} is not a valid command! Commands: {', '.join(COMMANDS)}", file=sys.stderr)
    return 2


def _start(*words: str) -> int:
    return command_line.main(words)


def _run(words: list[str]) -> int:
    """Run a script"""
    return _start("run", *words)


def _debug(words: list[str]) -> int:
    """Run a script with `debug=True`: checks of indices, assertions"""
    os.environ["TI_DEBUG"] = "1"
    return _start("run", *words)


def _diagnose(words: list[str]) -> int:
    """Show what is installed and what works"""
    return _start("diagnose", *words)


def _repl(words: list[str]) -> int:
    """Start a Python prompt with `ti`"""
    code.interact(banner="ti is shadesmith", local={"ti": sys.modules[PACKAGE]}, exitmsg="")
    return 0


def _cache(words: list[str]) -> int:
    """Manage the offline cache: `ti cache clean [-p FOLDER]`"""
    parser = argparse.ArgumentParser(prog="ti cache")
    parser.add_argument("action", choices=("clean",))
    parser.add_argument("-p", "--offline-cache-file-path", dest="folder", default="")
    options = parser.parse_args(words)
    return _start("cache", options.action, *(("--folder", folder_of(options.folder)) if options.folder else ()))


def examples() -> dict[str, Path]:
    """Return the files of all example programs by name: ours, and those of Taichi's wheel if it is installed."""
    found = {}
    folders = [Path(named)] if (named := os.environ.get("SHADESMITH_TAICHI_EXAMPLES")) else _taichis_examples()
    for folder in (*folders, PROGRAMS):
        found.update({path.stem: path for path in folder.rglob("*.py") if path.stem != "__init__"})
    return dict(sorted(found.items()))


def _taichis_examples() -> list[Path]:
    for folder in sys.path:
        path = Path(folder, "taichi", "examples")
        if folder != str(FOLDER) and path.is_dir():
            return [path]
    return []


def _example(words: list[str]) -> int:
    """Run an example by its name"""
    parser = argparse.ArgumentParser(prog="ti example")
    parser.add_argument("name", nargs="?")
    parser.add_argument("-p", "--print", action="store_true", help="print the program instead of running it")
    parser.add_argument("-P", "--pretty-print", action="store_true", help="print it with numbers of lines")
    parser.add_argument("-s", "--save", action="store_true", help="copy it to the working directory")
    options, rest = parser.parse_known_args(words)
    known = examples()
    if options.name is None:
        print("\n".join(known))
        return 0
    path = known.get(options.name.removesuffix(".py"))
    if path is None:
        print(f"there is no example {options.name}; `ti example` lists them", file=sys.stderr)
        return 2
    lines = path.read_text(encoding="utf-8").splitlines()
    if options.save:
        shutil.copy(path, ".")
    elif options.pretty_print:
        print("\n".join(f"{number:4} {line}" for number, line in enumerate(lines, 1)))
    elif options.print:
        print("\n".join(lines))
    else:
        of_package = path.parent == PROGRAMS
        return _start("run", *(("-m", f"{PACKAGE}.examples.{path.stem}") if of_package else (str(path),)), *rest)
    return 0


_videos = loader(".tools.video", __package__)


def _mp4(words: list[str], *names: str, optional: tuple[str, ...] = ()) -> argparse.Namespace:
    """Parse `-i FILE.mp4` and options that are numbers."""
    parser = argparse.ArgumentParser(prog="ti")
    parser.add_argument("-i", "--input", required=True, dest="input_file")
    for name in (*names, *optional):
        short = {"speed": "-s", "framerate": "-f", "ratio-width": "-w"}.get(name)
        words_of_option = [short] if short else []
        parser.add_argument(*words_of_option, f"--{name}", type=float, required=name in names)
    options = parser.parse_args(words)
    if not options.input_file.endswith(".mp4"):
        parser.error("filename must be of type .mp4")
    return options


def _neighbour(file: str, addition: str) -> str:
    path = Path(file)
    return str(path.with_name(f"{path.stem}-{addition}{path.suffix}"))


def _gif(words: list[str]) -> int:
    """Convert an mp4 file to a gif next to it"""
    given = _mp4(words, optional=("framerate",))
    _videos().mp4_to_gif(given.input_file, str(Path(given.input_file).with_suffix(".gif")), int(given.framerate or 24))
    return 0


def _video_speed(words: list[str]) -> int:
    """Speed up an mp4 file"""
    given = _mp4(words, "speed")
    _videos().accelerate_video(given.input_file, _neighbour(given.input_file, "sped"), given.speed)
    return 0


def _video_crop(words: list[str]) -> int:
    """Crop an mp4 file"""
    given = _mp4(words, "x1", "x2", "y1", "y2")
    file = _neighbour(given.input_file, "cropped")
    _videos().crop_video(given.input_file, file, given.x1, given.x2, given.y1, given.y2)
    return 0


def _video_scale(words: list[str]) -> int:
    """Scale an mp4 file"""
    given = _mp4(words, "ratio-width", optional=("ratio-height",))
    height = given.ratio_height or given.ratio_width
    _videos().scale_video(given.input_file, _neighbour(given.input_file, "scaled"), given.ratio_width, height)
    return 0


def _video(words: list[str]) -> int:
    """Make a video of png files"""
    parser = argparse.ArgumentParser(prog="ti video")
    parser.add_argument("inputs", nargs="*")
    parser.add_argument("-o", "--output", default="video.mp4")
    parser.add_argument("-f", "--framerate", type=int, default=24)
    parser.add_argument("-c", "--crf", type=int, default=20)
    given = parser.parse_args(words)
    frames = given.inputs or sorted(str(path) for path in Path().glob("*.png"))
    _videos().make_video(frames, output_path=given.output, crf=given.crf, frame_rate=given.framerate)
    return 0


def _module(words: list[str]) -> int:
    """Build an archive of the kernels that a file exports: `ti module build FILE.py -o FILE`"""
    parser = argparse.ArgumentParser(prog="ti module")
    parser.add_argument("action", choices=("build",))
    parser.add_argument("source")
    parser.add_argument("-o", "--output")
    given = parser.parse_args(words)
    return _start("build", given.source, *(("-o", given.output) if given.output else ()))


COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "example": _example,
    "gallery": _example,
    "run": _run,
    "debug": _debug,
    "diagnose": _diagnose,
    "repl": _repl,
    "cache": _cache,
    "module": _module,
    "video": _video,
    "gif": _gif,
    "video_speed": _video_speed,
    "video_crop": _video_crop,
    "video_scale": _video_scale,
}
"""By name."""
