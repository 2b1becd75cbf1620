"""Compare the time of compiling large kernels with another checkout, in turns: the processor time of both.

    python benchmarks/compile_turns.py --other /tmp/base [--families elements,branches] [--sizes 500,2000,8000]
        [--arch cpu,vulkan] [--rounds 3] [--first-call]

`--other` is a folder that holds a checkout named `shadesmith`. Each measurement is a process of its own, which compiles
a small kernel first, and then the source of the large one through `kernel.source`, without compilers and without the
cache. The least of the rounds is printed [s of processor time], of the other checkout and of this one.
`--first-call` measures the first call of the large kernel instead, with the compilers of the device.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import growing_kernels

HERE = Path(__file__).resolve().parents[2]
SIZES = {"fields": (300, 1000), "ndarrays": (300, 1000), "parallel_loops": (50, 200), "matrices": (10, 40)}
"""Sizes of the families whose size is no number of statements."""
FAMILIES = "elements,branches,distinct_elements,locals_in_one_task,calls,serial_loops,atomics,fields,parallel_loops"
SECONDS = 400


def measure(family: str, size: int, arch: str, is_call: bool) -> float:
    """Return the processor time of compiling one kernel to source, or of its first call, and of its compilers [s]."""
    import shadesmith as ti

    ti.init(arch=getattr(ti, arch) if is_call else ti.python, log_level=ti.ERROR, offline_cache=False)
    seconds = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for count in (20, size):  # the first one loads the modules
            module = growing_kernels.load(growing_kernels.FAMILIES[family](count), Path(folder))
            start = time.process_time() + sum(os.times()[2:4])  # with those of compilers
            if is_call:
                module.kernel(*module.arguments)
                ti.sync()
            else:
                module.kernel.source(*module.arguments, arch=getattr(ti, arch))
            seconds = time.process_time() + sum(os.times()[2:4]) - start
    return seconds


def measured(root: Path, family: str, size: int, arch: str, is_call: bool) -> float:
    """Measure in a process of its own; infinity if it fails or takes too long."""
    command = [sys.executable, __file__, "--child", family, str(size), arch, "call" if is_call else ""]
    environment = {**os.environ, "PYTHONPATH": str(root), "SHADESMITH_OFFLINE_CACHE": "0"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=environment)
        return float(done.stdout) if done.returncode == 0 else float("inf")
    except subprocess.TimeoutExpired:
        return float("inf")


def main() -> int:
    """Print the table."""
    if sys.argv[1:2] == ["--child"]:
        print(measure(sys.argv[2], int(sys.argv[3]), sys.argv[4], bool(sys.argv[5])))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--other", type=Path, required=True)
    parser.add_argument("--families", default=FAMILIES)
    parser.add_argument("--sizes", default="500,2000,8000")
    parser.add_argument("--arch", default="cpu,vulkan")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--first-call", action="store_true")
    options = parser.parse_args()
    print(f"{'kernel':22} {'arch':7} {'size':>6} {'other':>9} {'this':>9} {'times':>7}")
    for family in options.families.split(","):
        for size in SIZES.get(family, [int(size) for size in options.sizes.split(",")]):
            for arch in options.arch.split(","):
                given = family, size, arch, options.first_call
                pairs = [[measured(root, *given) for root in (options.other, HERE)] for _ in range(options.rounds)]
                other, this = (min(column) for column in zip(*pairs))
                print(f"{family:22} {arch:7} {size:6} {other:9.3f} {this:9.3f} {other / this:7.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
