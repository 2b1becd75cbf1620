"""Ten programs: where their Python is, how the hand-written CUDA C is launched, and with which data both start.

`PROGRAMS` is the table. A size is a constant at the top of both sources, under one name; `small` has the sizes at which
the interpreter takes part, `large` those at which a GPU is timed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import shadesmith

FOLDER = Path(__file__).parent
EXAMPLES = Path(shadesmith.__file__).parent / "examples"

Constants = Mapping[str, Any]
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Launch:
    """One kernel of the hand-written source.

    extent: threads along x, and the number of rows of the grid, from the constants.
    arguments: names of arrays and of the program's `scalars`.
    """

    kernel: str
    extent: Callable[[Constants], tuple[int, int]]
    arguments: tuple[str, ...]
    block: int = 128


@dataclass(frozen=True)
class Program:
    """start: makes all arrays, those that are only written too. results: what is compared afterwards.

    kernel: the Python function; parameters: names of the arrays and scalars that it is called with.
    tolerance: of the results, relative to their largest number. outliers: the part of them that may differ by more,
    where a comparison decides differently after another rounding.
    """

    name: str
    kernel: str
    start: Callable[[Constants, np.random.Generator], Arrays]
    launches: tuple[Launch, ...]
    results: tuple[str, ...]
    small: dict[str, Any]
    large: dict[str, Any]
    parameters: tuple[str, ...] = ()
    scalars: dict[str, float] = field(default_factory=dict)
    path: Path | None = None
    tolerance: float = 2e-5
    outliers: float = 0.0

    @property
    def python(self) -> Path:
        """The Python source."""
        return self.path or FOLDER / "programs" / f"{self.name}.py"

    @property
    def cuda(self) -> Path:
        """The CUDA C that a person wrote."""
        return FOLDER / "cuda" / f"{self.name}.cu"


def one_each(name: str) -> Callable[[Constants], tuple[int, int]]:
    """One thread for each of `name` items."""
    return lambda constants: (constants[name], 1)


def grid(rows: str, columns: str, margin: int = 0) -> Callable[[Constants], tuple[int, int]]:
    """One thread for each cell inside a margin."""
    return lambda constants: (constants[columns] - 2 * margin, constants[rows] - 2 * margin)


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def floats(array: Any) -> np.ndarray:
    return np.ascontiguousarray(array, np.float32)


def start_p2g3d(constants: Constants, rng: np.random.Generator) -> Arrays:
    n, m = constants["n_particles"], constants["n_grid"]
    return {
        "x": floats(rng.uniform(0.3, 0.7, (n, 3))),
        "v": floats(rng.normal(0, 1, (n, 3))),
        "C": floats(rng.normal(0, 1, (n, 3, 3))),
        "J": floats(rng.uniform(0.9, 1.1, n)),
        "grid_v": zeros(m, m, m, 3),
        "grid_m": zeros(m, m, m),
    }


def start_mpm88(constants: Constants, rng: np.random.Generator) -> Arrays:
    n, m = constants["PARTICLES"], constants["CELLS"]
    return {
        "position": floats(rng.uniform(0.2, 0.6, (n, 2))),
        "velocity": floats(rng.normal(0, 0.1, (n, 2))),
        "affine": floats(rng.normal(0, 0.1, (n, 2, 2))),
        "stretch": floats(rng.uniform(0.98, 1.02, n)),
        "momentum": zeros(m, m, 2),
        "mass": zeros(m, m),
    }


def start_mpm99(constants: Constants, rng: np.random.Generator) -> Arrays:
    n, m = constants["n_particles"], constants["n_grid"]
    return {
        "x": floats(rng.uniform(0.3, 0.6, (n, 2))),
        "v": floats(rng.normal(0, 0.1, (n, 2))),
        "C": floats(rng.normal(0, 0.1, (n, 2, 2))),
        "F": floats(np.eye(2) + rng.normal(0, 0.02, (n, 2, 2))),
        "material": np.asarray(np.arange(n) % 3, np.int32),
        "Jp": floats(rng.uniform(0.98, 1.02, n)),
        "grid_v": zeros(m, m, 2),
        "grid_m": zeros(m, m),
    }


def start_sgemm(constants: Constants, rng: np.random.Generator) -> Arrays:
    n = constants["n"]
    return {"A": floats(rng.normal(0, 1, (n, n))), "B": floats(rng.normal(0, 1, (n, n))), "C": zeros(n, n)}


def start_raymarch(constants: Constants, rng: np.random.Generator) -> Arrays:
    return {"pixels": zeros(constants["width"], constants["height"], 3)}


def start_sph(constants: Constants, rng: np.random.Generator) -> Arrays:
    n, m = constants["n_particles"], constants["n_cells"]
    return {
        "x": floats(rng.uniform(-0.01, 1.01, (n, 3))),
        "density": zeros(n),
        "pressure": zeros(n),
        "count": np.zeros((m, m, m), np.int32),
        "cell": np.zeros((m, m, m, constants["max_per_cell"]), np.int32),
    }


def start_advect(constants: Constants, rng: np.random.Generator) -> Arrays:
    n = constants["n"]
    return {
        "velocity": floats(rng.normal(0, 30, (n, n, 2))),
        "new_velocity": zeros(n, n, 2),
        "dye": floats(rng.uniform(0, 1, (n, n, 3))),
        "new_dye": zeros(n, n, 3),
    }


def start_lbm(constants: Constants, rng: np.random.Generator) -> Arrays:
    shape = constants["nx"], constants["ny"]
    weights = np.array([4, 1, 1, 1, 1, 1 / 4, 1 / 4, 1 / 4, 1 / 4]) / 9
    return {
        "rho": floats(rng.uniform(0.9, 1.1, shape)),
        "vel": floats(rng.uniform(-0.1, 0.1, (*shape, 2))),
        "f_old": floats(weights * rng.uniform(0.9, 1.1, (*shape, 9))),
        "f_new": zeros(*shape, 9),
    }


def start_flux(constants: Constants, rng: np.random.Generator) -> Arrays:
    n = constants["n"]
    depth = rng.uniform(0.8, 1.2, (n, n))
    return {"q": floats(np.stack([depth, *rng.normal(0, 0.2, (2, n, n))], -1)), "q_new": zeros(n, n, 3)}


def start_nbody(constants: Constants, rng: np.random.Generator) -> Arrays:
    n = constants["BODIES"]
    return {"position": floats(rng.normal(0, 1, (n, 3))), "velocity": zeros(n, 3)}


MILLION = 1 << 20
MPM88 = ("position", "velocity", "affine", "stretch", "momentum", "mass")
MPM99 = ("x", "v", "C", "F", "material", "Jp", "grid_v", "grid_m")

TABLE = (
    Program(
        "p2g3d", "p2g", start_p2g3d,
        (Launch("p2g", one_each("n_particles"), ("x", "v", "C", "J", "grid_v", "grid_m")),),
        ("grid_v", "grid_m"),
        small={"n_particles": 40, "n_grid": 12}, large={"n_particles": MILLION, "n_grid": 128},
    ),
    Program(
        "mpm88", "substep", start_mpm88,
        (
            Launch("clear_grid", lambda c: (c["CELLS"] ** 2, 1), ("momentum", "mass")),
            Launch("particles_to_grid", one_each("PARTICLES"), MPM88),
            Launch("update_grid", grid("CELLS", "CELLS"), ("momentum", "mass")),
            Launch("grid_to_particles", one_each("PARTICLES"), MPM88[:5]),
        ),
        MPM88,
        small={"PARTICLES": 60, "CELLS": 12}, large={"PARTICLES": MILLION, "CELLS": 512, "STEP": 1e-5},
        path=EXAMPLES / "mpm88.py",
    ),
    Program(
        "mpm99", "substep", start_mpm99,
        (
            Launch("clear_grid", lambda c: (c["n_grid"] ** 2, 1), ("grid_v", "grid_m")),
            Launch("particles_to_grid", one_each("n_particles"), MPM99),
            Launch("update_grid", grid("n_grid", "n_grid"), ("grid_v", "grid_m")),
            Launch("grid_to_particles", one_each("n_particles"), ("x", "v", "C", "grid_v")),
        ),
        MPM99,
        small={"n_particles": 45, "n_grid": 12}, large={"n_particles": MILLION, "n_grid": 512, "dt": 1e-5},
        tolerance=1e-4,
    ),
    Program(
        "sgemm", "sgemm", start_sgemm,
        (Launch("sgemm", lambda c: (256 * (c["n"] // 64), c["n"] // 64), ("A", "B", "C"), block=256),),
        ("C",),
        small={"n": 64}, large={"n": 2048},
    ),
    Program(
        "raymarch", "render", start_raymarch,
        (Launch("render", grid("width", "height"), ("pixels", "time")),),
        ("pixels",),
        small={"width": 9, "height": 7}, large={"width": 3840, "height": 2160},
        parameters=("time",), scalars={"time": 0.7}, tolerance=1e-3, outliers=0.02,
    ),
    Program(
        "sph", "compute_density", start_sph,
        (
            Launch("clear_cells", lambda c: (c["n_cells"] ** 3, 1), ("count",)),
            Launch("fill_cells", one_each("n_particles"), ("x", "count", "cell")),
            Launch("compute_density", one_each("n_particles"), ("x", "count", "cell", "density", "pressure")),
        ),
        ("density", "pressure", "count"),
        small={"n_particles": 120, "n_cells": 3}, large={"n_particles": MILLION, "n_cells": 64},
        tolerance=1e-4,  # the seventh power
    ),
    Program(
        "advect", "advect", start_advect,
        (Launch("advect", grid("n", "n"), ("velocity", "new_velocity", "dye", "new_dye")),),
        ("new_velocity", "new_dye"),
        small={"n": 9}, large={"n": 2048},
        tolerance=1e-3,  # of random neighbours
    ),
    Program(
        "lbm", "step", start_lbm,
        (
            Launch("collide_and_stream", grid("nx", "ny", 1), ("rho", "vel", "f_old", "f_new")),
            Launch("update_macro", grid("nx", "ny", 1), ("rho", "vel", "f_old", "f_new")),
        ),
        ("rho", "vel", "f_old", "f_new"),
        small={"nx": 7, "ny": 6}, large={"nx": 2048, "ny": 2048},
    ),
    Program(
        "flux", "update", start_flux,
        (Launch("update", grid("n", "n", 2), ("q", "q_new")),),
        ("q_new",),
        small={"n": 9, "dt": 0.01}, large={"n": 2048},
    ),
    Program(
        "nbody", "kick", start_nbody,
        (Launch("kick", one_each("BODIES"), ("position", "velocity", "mass", "step")),),
        ("velocity",),
        small={"BODIES": 256}, large={"BODIES": 1 << 16},
        parameters=("position", "velocity", "mass", "step"), scalars={"mass": 0.01, "step": 0.1},
        path=EXAMPLES / "nbody.py",
    ),
)  # fmt: skip
PROGRAMS = {program.name: program for program in TABLE}
