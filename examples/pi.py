"""Pi by Monte Carlo: the share of random points in the unit square that are in the quarter disc."""

from __future__ import annotations

import argparse

import shadesmith as ti


@ti.kernel
def count_inside(samples: ti.i32) -> ti.i32:
    inside = 0
    for _ in range(samples):
        x, y = ti.random(), ti.random()
        if x * x + y * y < 1.0:
            inside += 1
    return inside


def estimate(samples: int) -> float:
    return 4.0 * count_inside(samples) / samples


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arch", default="gpu")
    parser.add_argument("--samples", type=int, default=1 << 22)
    arguments = parser.parse_args()
    ti.init(arch=getattr(ti, arguments.arch))
    print(f"pi is about {estimate(arguments.samples):.5f}")


if __name__ == "__main__":
    main()
