"""Compare `ti.GUI` without a window with Taichi's: images, saved frames, many shapes.

    python benchmarks/gui.py --taichi /path/to/python-with-taichi [--rounds 5]

Each measurement is a process of its own; the two modules alternate. A row shows processor times of one call, which
other programs disturb less than a clock, the medians' ratio (shadesmith / Taichi) and the range of the ratios.
"""

import argparse
import importlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

CALLS = 7
GOALS_MS = {"image": 1000 / 30, "circles": 500.0}
"""Most that a call may take, in milliseconds: 30 images a second, and circles without waiting."""


def cases(ti: Any, folder: Path) -> dict[str, Callable[[], object]]:
    """Return what to measure, by name."""
    generator = np.random.default_rng(0)
    large, small = (ti.GUI("large", (1920, 1080), show_gui=False), ti.GUI("small", (512, 512), show_gui=False))
    x, y = np.meshgrid(np.linspace(0, 1, 1920), np.linspace(0, 1, 1080), indexing="ij")
    image = np.stack([np.sin(9 * x) / 2 + 0.5, y, x * y], -1).astype(np.float32)
    pixels = ti.Vector.field(3, ti.f32, (1920, 1080))
    pixels.from_numpy(image)
    places, ends = generator.random((100_000, 2)), generator.random((100_000, 2))
    colors = generator.integers(0, 1 << 24, 100_000)
    file = str(folder / "frame.png")
    return {
        "image": lambda: (large.set_image(pixels), large.show()),
        "saved": lambda: (large.set_image(image), large.show(file)),
        "circles": lambda: small.circles(places, radius=1.5),
        "colours": lambda: small.circles(places, radius=1.5, color=colors),
        "lines": lambda: small.lines(places[:1000], ends[:1000], radius=1.5),
        "triangles": lambda: small.triangles(places, places + (0.01, 0), places + (0, 0.01), color=colors),
    }


def measure(module: str) -> dict[str, float]:
    """Return the processor time [ms] of each case, the median of some calls."""
    ti = importlib.import_module(module)
    ti.init(arch=ti.cpu, offline_cache=False, log_level="error")
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, call in cases(ti, Path(folder)).items():
            call()
            times = []
            for _ in range(CALLS):
                start = time.process_time()
                call()
                times.append(time.process_time() - start)
            found[name] = statistics.median(times) * 1e3
    return found


def main() -> int:
    """Print all rows, or be a worker. Returns the number of missed goals."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--taichi", default=sys.executable, help="interpreter that has Taichi 1.7.4")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        print(json.dumps(measure(arguments.worker)))
        return 0
    rounds: dict[str, list[dict[str, float]]] = {"shadesmith": [], "taichi": []}
    for _ in range(arguments.rounds):
        for module, python in (("taichi", arguments.taichi), ("shadesmith", sys.executable)):
            command = [python, __file__, "--worker", module]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
            if done.returncode != 0:
                raise SystemExit(f"{module} failed:\n{done.stderr[-3000:]}")
            rounds[module].append(json.loads(done.stdout.splitlines()[-1]))
    missed = 0
    for name in rounds["taichi"][0]:
        own_times, taichi_times = ([found[name] for found in rounds[module]] for module in ("shadesmith", "taichi"))
        ratios = [mine / other for mine, other in zip(own_times, taichi_times, strict=True)]
        time_ms, goal = statistics.median(own_times), GOALS_MS.get(name)
        verdict = "" if goal is None else f"  goal {goal:.0f} ms {'ok' if time_ms <= goal else 'MISSED'}"
        missed += goal is not None and time_ms > goal
        print(
            f"{name:10} shadesmith {time_ms:8.1f} ms  Taichi {statistics.median(taichi_times):8.1f} ms  "
            f"ratio {statistics.median(ratios):6.2f} ({min(ratios):.2f} to {max(ratios):.2f}){verdict}",
            flush=True,
        )
    return missed


if __name__ == "__main__":
    sys.exit(main())
