"""Templates, ranges, functions in both scopes, several results, block memory."""

from typing import Any, Literal

import shadesmith as ti
from shadesmith.math import clamp, vec3


@ti.pyfunc
def shade(x: float) -> float:
    return ti.sqrt(clamp(x, 0.0, 1.0))


@ti.kernel
def fill(x: ti.template, value: ti.f32) -> None:
    for i in ti.grouped(x):
        x[i] = shade(value)


@ti.kernel
def reverse(x: ti.types.NDArray[ti.i32, Literal[1]]) -> None:
    ti.loop_config(block_dim=64)
    for i in range(64):
        tile = ti.simt.block.SharedArray((64,), ti.i32)
        tile[i] = x[i]
        ti.simt.block.sync()
        x[i] = tile[63 - i]


@ti.kernel
def colours(n: int) -> vec3:
    result = vec3(0)
    for i, j in ti.ndrange(n, (1, 3)):
        result += vec3(i, j, ti.random())
    return result


def main() -> None:
    ti.init(arch=ti.cpu, random_seed=1)
    x = ti.field(ti.f32, shape=(4, 4))
    fill(x, 0.25)
    numbers = ti.ndarray(ti.i32, shape=64)
    reverse(numbers)
    colour: Any = colours(4)
    print(x[0, 0], colour, shade(0.25), ti.cache.stats().frontend_runs, ti.__version__, ti.__taichi_version__)


if __name__ == "__main__":
    main()
