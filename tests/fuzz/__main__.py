"""`python -m fuzz`: run random programs on several targets, compare, and reduce what differs to a few lines.

make fuzz SECONDS=600 SEED=0 TARGETS=c0,c3,vulkan
python -m fuzz --targets taichi --dialect taichi --count 500 --seed 1000
python -m fuzz --show 17                      prints a program
python -m fuzz --reduce FILE --targets c3     reduces a program that fails
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .dialects import DIALECTS
from .program import Program
from .session import Session, reduced, report


@contextmanager
def resident_tools(folder: Path) -> Iterator[None]:
    """Keep gcc and glslangValidator in memory, if that is possible: the workers find them on the PATH."""
    sys.path.append(str(Path(__file__).parents[1] / "support"))
    import resident_gcc
    import resident_glslang

    (folder / "tools").mkdir()
    stops = [tool.start(folder, folder / "tools") for tool in (resident_gcc, resident_glslang)]
    try:
        yield
    finally:
        for stop in filter(None, stops):
            stop()


def main() -> int:
    """Run, print what was found, and return the exit status: 1 if something is unexplained."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="end after so long; what is being reduced is finished"
    )
    parser.add_argument("--count", type=int, default=10**9, help="end after so many kernels")
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument(
        "--targets", default="c0,c3,vulkan", help="c0, c3, vulkan, cuda, emulated, emulated3, plain, checked, taichi"
    )
    parser.add_argument("--dialect", default="", choices=["", *DIALECTS], help="a part of the language")
    parser.add_argument("--jobs", type=int, default=1, help="programs at a time")
    parser.add_argument("--found", type=Path, help="a folder for failing and reduced programs")
    parser.add_argument("--no-reduce", action="store_true", help="do not reduce failures")
    parser.add_argument("--show", type=int, help="print the program of a seed")
    parser.add_argument("--reduce", type=Path, help="reduce the program of a file, in --seconds at most")
    options = parser.parse_args()
    targets = options.targets.split(",")
    dialect = options.dialect or ("taichi" if targets[0].startswith("taichi") else "portable")
    if options.show is not None:
        print(Program(options.show, dialect).text())
        return 0
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder, resident_tools(Path(folder)):
        if options.reduce is not None:
            print(reduced(options.reduce.read_text(), targets, Path(folder), options.jobs, options.seconds))
            return 0
        session = Session(targets, dialect, Path(folder), options.found, not options.no_reduce, options.jobs)
        session.run(options.seed, options.count, options.seconds)
        print(report(session))
        return 1 if session.unexplained else 0


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    os.environ.setdefault("SHADESMITH_OFFLINE_CACHE", "0")
    sys.exit(main())
