"""The random programs of `fuzz.derivatives` with Taichi 1.7.4 too: both modes, where Taichi is right.

    PYTHONPATH=tests:.. python -m fuzz.derivatives_taichi --taichi PYTHON --seeds 0:200

Gradients of a weighted sum of the results, and duals of the results along one direction of `x`. Ours are compared with
finite differences as well: so where the two differ, it is known which is wrong.
"""

from __future__ import annotations

import argparse
import importlib
import json
import linecache
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

TOLERANCE = 1e-6


def worker(engine: str, first: int, last: int) -> None:
    """Print, for each seed, a line with the derivatives, or the error."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from fuzz import derivatives

    ti = importlib.import_module(engine)
    for seed in range(first, last):
        sys.stdout.write(f"BEGIN {seed}\n")
        sys.stdout.flush()
        ti.init(arch=ti.cpu, default_fp=ti.f64, offline_cache=False, log_level=ti.ERROR)
        found: dict[str, Any] = {}
        for mode in ("reverse", "forward"):
            try:
                found |= derive(ti, derivatives, seed, mode)
            except Exception as error:  # noqa: BLE001 - reported, and the run goes on
                found[f"{mode} refused"] = f"{type(error).__name__}: {str(error).strip()[-300:]}"
        sys.stdout.write(f"RESULT {json.dumps(found)}\n")
        sys.stdout.flush()


def derive(ti: Any, derivatives: Any, seed: int, mode: str) -> dict[str, Any]:
    """Return the gradients of the inputs, or the duals of the results."""
    source = derivatives.Program(seed, for_taichi=True).source.replace("import taichi as ti\n", "")
    file = f"<derivatives {seed} {mode}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    both = {"needs_grad": mode == "reverse", "needs_dual": mode == "forward"}
    n = derivatives.N
    fields = {name: ti.field(ti.f64, n, **both) for name in ("x", "y", "z0", "z1")}
    fields["v"] = ti.Vector.field(3, ti.f64, n, **both)
    fields["m"] = ti.Matrix.field(3, 3, ti.f64, n, **both)
    fields["loss"] = ti.field(ti.f64, (), **both)
    names: dict[str, Any] = {**fields, "ti": ti}
    exec(compile(source, file, "exec", dont_inherit=True), names)
    check = derivatives._Check(names["kernel"], fields)
    if mode == "reverse":
        return {name: values.tolist() for name, values in check.gradients().items()}
    check._reset({}, 0.0)
    results = [fields[name] for name in check.results]
    seeds = [1.0, -0.5, 0.7, 0.3]
    with ti.ad.FwdMode(loss=results, param=fields["x"], seed=seeds):
        names["kernel"](n + 1)
    return {f"dual of {name}": fields[name].dual.to_numpy().tolist() for name in check.results}


def results(python: str, engine: str, first: int, last: int) -> dict[int, dict[str, Any]]:
    """Return what an engine finds for each seed; a seed at which the process dies is refused."""
    found: dict[int, dict[str, Any]] = {}
    while first < last:
        command = [python, __file__, "--worker", engine, "--seeds", f"{first}:{last}"]
        done = subprocess.run(command, capture_output=True, text=True)
        seed = first
        for line in done.stdout.splitlines():
            if line.startswith("BEGIN "):
                seed = int(line[6:])
                found[seed] = {"reverse refused": "the process died", "forward refused": "the process died"}
            elif line.startswith("RESULT "):
                found[seed] = json.loads(line[7:])
        first = seed + 1
    return found


def verdict(ours: dict[str, Any], theirs: dict[str, Any], mode: str) -> str:
    """Return whether the numbers of one mode agree."""
    for name, found in (("we refuse", ours), ("Taichi refuses", theirs)):
        if f"{mode} refused" in found:
            return name
    keys = [key for key in ours if ("dual" in key) == (mode == "forward") and "refused" not in key]
    for key in keys:
        one, other = np.asarray(ours[key], float), np.asarray(theirs[key], float)
        if not np.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE):
            return "they differ"
    return "they agree"


def main() -> int:
    """Compare, and print how often which case occurs, and the seeds of those that are not alike."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--taichi", help="a Python that has Taichi 1.7.4")
    parser.add_argument("--seeds", default="0:50")
    parser.add_argument("--worker", help="the engine to run in this process")
    options = parser.parse_args()
    first, last = map(int, options.seeds.split(":"))
    if options.worker:
        worker(options.worker, first, last)
        return 0
    ours = results(sys.executable, "shadesmith", first, last)
    theirs = results(options.taichi, "taichi", first, last)
    failures = 0
    for mode in ("reverse", "forward"):
        cases: dict[str, list[int]] = {}
        for seed in range(first, last):
            cases.setdefault(verdict(ours[seed], theirs[seed], mode), []).append(seed)
        failures += len(cases.get("we refuse", []))
        for case, seeds in sorted(cases.items()):
            sys.stdout.write(f"{mode}: {case}: {len(seeds)}" + (f" {seeds}\n" if case != "they agree" else "\n"))
    for seed, found in theirs.items():
        for mode in ("reverse", "forward"):
            if f"{mode} refused" in found:
                sys.stdout.write(f"seed {seed} {mode}: {found[f'{mode} refused'][:150]!r}\n")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
