"""Make the pictures of the gallery: `python -m shadesmith.examples.gallery [NAME ...]`; `make gallery` makes all."""

from __future__ import annotations

import argparse
import time
from importlib import import_module
from pathlib import Path

import shadesmith as ti
from shadesmith.runtime.launch.kernel import Kernel

NAMES = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if not path.stem.startswith("_"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--arch", default="cpu")
    parser.add_argument("--output", type=Path, default=Path("docs/gallery"))
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or NAMES:
        ti.init(arch=getattr(ti, arguments.arch), random_seed=1, log_level=ti.WARN)
        begin = time.perf_counter()
        program = import_module(f"shadesmith.examples.gallery.{name}")
        picture = program.picture()
        ti.tools.imwrite(picture, arguments.output / f"{name}.png")
        kernels = [value for value in vars(program).values() if isinstance(value, Kernel)]
        sources = [instance.source for kernel in kernels for instance in kernel.instances()]
        (arguments.output / f"{name}.c").write_text(max(sources, key=len, default=""), encoding="utf-8")
        print(f"{name:<20} {picture.shape[0]} x {picture.shape[1]}  {time.perf_counter() - begin:6.1f} s")


if __name__ == "__main__":
    main()
