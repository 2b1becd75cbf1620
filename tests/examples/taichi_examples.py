"""Taichi's 79 examples by `shadesmith run`, unchanged: what each does here, compared with what Taichi 1.7.4 does.

    python tests/examples/taichi_examples.py --targets cpu,vulkan [--jobs 2] [--results FILE.json] [PROGRAM ...]
    python tests/examples/taichi_examples.py --results FILE.json --page      # the table of docs/contributing/taichi-examples.md

The programs are read from an installed Taichi, or from the folder SHADESMITH_TAICHI_EXAMPLES. The results of runs are added
to the file. What Taichi does is in `tests/data/taichi_examples.json` (`record_taichi_pictures.py`).
"""

from __future__ import annotations

import argparse
import base64
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).parent))
from record_taichi_pictures import CELLS, beside, thumbnail, traces  # noqa: E402


def examples() -> Path | None:
    named = os.environ.get("SHADESMITH_TAICHI_EXAMPLES")
    spec = importlib.util.find_spec("taichi")
    return Path(named) if named else Path(spec.origin).parent / "examples" if spec and spec.origin else None


FOLDER = examples()
FILES = sorted(str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*.py")) if FOLDER is not None else []
PROGRAMS = [name for name in FILES if name != "patterns.py"]  # a module that some of them import
RECORDED = json.loads((Path(__file__).parents[1] / "data/taichi_examples.json").read_text())
SLOW = 900
"""[s] after which a program has failed."""
NEAR = 2.5
"""Difference of the means of 16 x 16 parts of a picture, of 255; texts have another font, and circles other edges."""
RANDOM = re.compile(r"ti\.random|tm\.random|perf_counter|time\.time(_ns)?\(|ti\.randn")
"""In programs whose pictures show the clock, or random numbers of kernels; Python's and NumPy's are seeded."""
ALIKE = 16
"""Difference of the mean colours of the pictures of these, of 255."""
LESS_ALIKE = {"rendering/rasterizer.py": 48}
"""The same for a program that draws a few large random triangles."""
RANDOM_COLUMNS = ("red", "green", "blue", "Alpha", "vdata1")
NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")
WARNINGS = re.compile("Unknown type foo_data_type")
"""In a line that Taichi prints and we log."""
ASSERTS = "features/sparse/taichi_dynamic.py"
"""It prints nothing, and compares 272 numbers itself."""
LACKS = {
    r"urlopen error|HTTP Error|name resolution": "a model that it downloads",
    r"has no attribute 'get_cmap'": "matplotlib below 3.9",
    r"videos need ffmpeg": "ffmpeg",
    r"No module named '([\w.]+)'": r"\1",
    r"run 'pip install ([\w -]+)'": r"\1",
    r"this driver \(lavapipe\) ends all loops": "a driver that has loops of 1,016,060 iterations (lavapipe: 65,535)",
    r"requires cv2, wget and scipy": "cv2, wget and scipy",
}
"""What an error of a program that cannot run here says, and what is missing then."""


@dataclass
class Outcome:
    """What became of a program on a target.

    state: "same", "other" (than Taichi's), "missing" (a package, a network) or "failed". how: what was compared.
    difference, limit: in units of `how`, or 0. reason: of a program that did not run, or differs. seconds: that it took.
    """

    program: str
    target: str
    state: str
    how: str = ""
    difference: float = 0.0
    limit: float = 0.0
    reason: str = ""
    seconds: float = 0.0


def run(program: str, target: str, scratch: Path) -> Outcome:
    """Run a program in a process of its own, below a folder, and compare what it leaves."""
    assert FOLDER is not None
    frames, start = scratch / "frames", time.monotonic()
    count = RECORDED[program].get("frame", 3)
    words = [sys.executable, "-m", "shadesmith", "run", "--arch", target, "--frames", str(count), str(FOLDER / program)]
    environment = {**os.environ, **beside(scratch), "SHADESMITH_GUI_DIR": str(frames)}
    if importlib.util.find_spec("matplotlib") is None:
        del environment["MPLBACKEND"]
    options: Any = {"cwd": scratch, "env": environment, "capture_output": True, "text": True, "timeout": SLOW}
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, **options)
    except subprocess.TimeoutExpired:
        return Outcome(program, target, "failed", reason=f"not finished after {SLOW} s", seconds=SLOW)
    found = of_process(program, target, done, scratch)
    found.seconds = round(time.monotonic() - start, 1)
    return found


def of_process(program: str, target: str, done: Any, scratch: Path) -> Outcome:
    """Return what became of a program that has ended."""
    if done.returncode != 0:
        for pattern, missing in LACKS.items():
            if match := re.search(pattern, done.stderr):
                return Outcome(program, target, "missing", reason=match.expand(missing))
        return Outcome(program, target, "failed", reason=done.stderr[-3000:])
    drawn = sorted((scratch / "frames").glob("*.png"))
    pairs = list(compared(program, drawn, traces(scratch, done.stdout)))
    if not pairs:
        return Outcome(program, target, "other", reason="nothing was compared")
    how, difference, limit = max(pairs, key=lambda pair: pair[1] / pair[2] if pair[2] else 2.0 * (pair[1] > 0))
    state = "same" if difference <= limit else "other"
    reason = "" if state == "same" else f"{how}: {difference:.3g} exceeds {limit:.3g}"
    return Outcome(program, target, state, ", ".join(pair[0] for pair in pairs), round(difference, 3), limit, reason)


def compared(program: str, drawn: list[Path], found: dict[str, Any]) -> Iterator[tuple[str, float, float]]:
    """Yield what is compared with Taichi's, by how much it differs, and how much it may."""
    assert FOLDER is not None
    known, is_random = RECORDED[program], RANDOM.search((FOLDER / program).read_text()) is not None
    if "thumbnail" in known:
        picture = Image.open(drawn[min(known["frame"], len(drawn)) - 1]) if drawn else Image.new("RGB", (CELLS, CELLS))
        cells = thumbnail(np.asarray(picture.convert("RGB"))).astype(int)
        yield compare_pictures("picture", cells, known["thumbnail"], LESS_ALIKE.get(program, ALIKE) if is_random else 0)
        return
    pictures = known.get("figures", {}) | ({"picture": known["picture"]} if "picture" in known else {})
    for name, expected in pictures.items():
        cells = decoded((found.get("figures", {}) | {"picture": found.get("picture")}).get(name))
        yield compare_pictures(name.partition("-")[0], cells, expected, ALIKE if is_random else 0)
    if "columns" in known:
        pairs = [
            (found["columns"][name], mean) for name, mean in known["columns"].items() if name not in RANDOM_COLUMNS
        ]
        yield f"{len(pairs)} columns of a file", max(abs(ours - theirs) for ours, theirs in pairs), 1e-5
    pairs = [[line for line in printed.get("lines", []) if not WARNINGS.search(line)] for printed in (found, known)]
    if any(pairs):
        yield "lines without their numbers" if is_random else "lines", different(*pairs, not is_random), 0
    elif program == ASSERTS:
        yield "its own asserts", 0, 0


def compare_pictures(name: str, cells: np.ndarray, expected: str, alike: float) -> tuple[str, float, float]:
    """Return the difference of thumbnails: of their cells, or where they are only alike of their mean colours."""
    theirs = decoded(expected)
    if alike:
        return f"mean colours of a {name}", float(np.abs(cells.mean((0, 1)) - theirs.mean((0, 1))).max()), alike
    return name, float(np.abs(cells - theirs).mean()), NEAR


def decoded(thumb: str | None) -> np.ndarray:
    """Return a thumbnail; nothing is black."""
    data = base64.b64decode(thumb) if thumb else bytes(CELLS * CELLS * 3)
    return np.frombuffer(data, np.uint8).reshape(CELLS, CELLS, 3).astype(int)


def different(ours: list[str], theirs: list[str], with_numbers: bool) -> int:
    """Return how many lines differ, in any order: their words, or numbers by more than the order of sums makes them."""
    count = abs(len(ours) - len(theirs))
    for a, b in zip(sorted(ours), sorted(theirs)):
        numbers = [[float(number) for number in NUMBER.findall(line)] for line in (a, b)]
        same = NUMBER.sub("", a) == NUMBER.sub("", b)
        count += not (same and (not with_numbers or np.allclose(*numbers, rtol=1e-3, atol=1e-5)))
    return count


def page(results: list[dict[str, Any]], targets: list[str]) -> str:
    """Return the table of results."""
    states = {(row["program"], row["target"]): row for row in results}
    lines = [f"| program | compared by | {' | '.join(targets)} |", f"|---|---|{'---|' * len(targets)}"]
    for program in sorted({row["program"] for row in results}):
        rows = [states.get((program, target)) for target in targets]
        how = next((row["how"] for row in rows if row and row["how"]), "")
        lines.append(f"| {program} | {how} | {' | '.join(map(shown, rows))} |")
    return "\n".join(lines)


def shown(row: dict[str, Any] | None) -> str:
    """Return a cell of the table."""
    if row is None:
        return ""
    if row["state"] == "same":
        return f"{row['difference']:.2g} of {row['limit']:g}" if row["limit"] else "equal"
    return f"needs {row['reason']}" if row["state"] == "missing" else f"**{row['state']}**: {row['reason'][-80:]}"


def main() -> None:
    """Run programs, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", default="cpu,vulkan")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--results", type=Path, default=Path("taichi_examples_results.json"))
    parser.add_argument("--page", action="store_true")
    parser.add_argument("programs", nargs="*", default=PROGRAMS)
    options = parser.parse_args()
    results = json.loads(options.results.read_text()) if options.results.exists() else []
    targets = options.targets.split(",")
    if options.page:
        print(page(results, targets))
        return

    def one(pair: tuple[str, str]) -> Outcome:
        with tempfile.TemporaryDirectory() as scratch:
            return run(*pair, Path(scratch))

    pairs = [(program, target) for target in targets for program in options.programs]
    with ThreadPoolExecutor(options.jobs) as pool:
        for found in pool.map(one, pairs):
            same = [row for row in results if (row["program"], row["target"]) != (found.program, found.target)]
            results = [*same, asdict(found)]
            options.results.write_text(json.dumps(results, indent=0) + "\n")
            line = f"{found.target:7} {found.state:8} {found.program:50} {found.how} {found.difference:g} of {found.limit:g}"
            print(f"{line}  {found.seconds} s {found.reason}", flush=True)
    for target in targets:
        states = [row["state"] for row in results if row["target"] == target]
        print(f"{target}: {len(states)} programs, " + ", ".join(f"{states.count(s)} {s}" for s in sorted(set(states))))


if __name__ == "__main__":
    main()
