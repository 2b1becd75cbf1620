"""Make the pictures of the gallery: `python -m shadesmith.examples.gallery [NAME ...]`; `make gallery` makes all."""

from __future__ import annotations

import argparse
import tempfile
import time
from importlib import import_module
from pathlib import Path

import shadesmith as ti

NAMES = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if not path.stem.startswith("_"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--arch", default="cpu")
    parser.add_argument("--output", type=Path, default=Path("docs/gallery"))
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or NAMES:
        with tempfile.TemporaryDirectory() as emitted:
            ti.init(arch=getattr(ti, arguments.arch), random_seed=1, log_level=ti.WARN, dump_dir=emitted)
            begin = time.perf_counter()
            picture = import_module(f"shadesmith.examples.gallery.{name}").picture()
            seconds = time.perf_counter() - begin
            ti.tools.imwrite(picture, arguments.output / f"{name}.png")
            (arguments.output / f"{name}.c").write_text(longest_source(Path(emitted)), encoding="utf-8")
        print(f"{name:<20} {picture.shape[0]} x {picture.shape[1]}  {seconds:6.1f} s", flush=True)


def longest_source(emitted: Path) -> str:
    """Return the longest emitted source of a program: that of the kernel that is most worth reading."""
    return max((path.read_text(encoding="utf-8") for path in emitted.rglob("*.c")), key=len, default="")


if __name__ == "__main__":
    main()
