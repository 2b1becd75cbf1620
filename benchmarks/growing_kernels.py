"""Kernels whose size is a number: for benchmarks/compile_growth.py and tests/passes/test_growth.py.

Each function of `FAMILIES` returns the source of a program that defines `kernel` and `arguments`; `load` runs it.
"""

import importlib.util
import itertools
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

HEAD = "import shadesmith as ti\n\n"
OPERATORS = ("+", "*", "-", "+", "*")

WEIGH = """@ti.func
def weigh(v, k: ti.f32):
    r = v * k
    if r > 4.0:
        r = r * 0.5 - 1.0
    return r + v
"""
SIGN = """@ti.func
def sign(v):
    if v > 0.0:
        return 1.0
    if v < 0.0:
        return -1.0
    return 0.0
"""

_NUMBERS = itertools.count()


def locals_in_one_task(size: int) -> str:
    """Arithmetic on local variables, each read by the next two, in a serial task."""
    lines = [f"v{k} = v{k - 1} {OPERATORS[k % 5]} v{k - 2} + {k % 7}.5" for k in range(2, size)]
    return _kernel("x = ti.field(ti.f32, shape=16)", ["v0 = x[0]", "v1 = x[1]", *lines, f"x[2] = v{size - 1}"])


def assignments_to_few_locals(size: int) -> str:
    """Assignments to eight variables that a loop changes too, in a parallel loop."""
    lines = [f"a{k % 8} = a{(k + 3) % 8} * {k % 9}.25 + a{(k + 5) % 8}" for k in range(size)]
    start = [f"a{k} = x[i] + {k}" for k in range(8)]
    loop = ["for _ in range(n):", "    a0 += 1.0", "    a3 *= 1.5"]
    body = [*start, *loop, *lines, "x[i] = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7"]
    return _kernel("x = ti.field(ti.f32, shape=64)", ["for i in x:", *_indented(body)], "n: ti.i32", "(3,)")


def elements(size: int) -> str:
    """Statements on elements of a field: loads, stores and compound assignments at constant offsets."""
    lines = [f"x[i + {k % 61}] = x[i + {(k * 7 + 3) % 61}] * {k % 5}.5 + y[i]" for k in range(size)]
    fields = "x = ti.field(ti.f32, shape=128)\ny = ti.field(ti.f32, shape=64)"
    return _kernel(fields, ["for i in y:", *_indented(lines)])


def distinct_elements(size: int) -> str:
    """One store to each of many elements of one field."""
    lines = [f"x[{k}] = x[{(k * 31 + 7) % size}] + {k % 5}.5" for k in range(size)]
    return _kernel(f"x = ti.field(ti.f32, shape={size})", lines)


def ndarray_elements(size: int) -> str:
    """Statements on elements of three ndarrays, which may be one."""
    lines = [f"{'abc'[k % 3]}[i + {k % 61}] += {'abc'[(k + 1) % 3]}[i + {(k * 7 + 3) % 61}]" for k in range(size)]
    parameters = ", ".join(f"{name}: ti.types.ndarray(ti.f32, 1)" for name in "abc")
    arguments = "tuple(ti.ndarray(ti.f32, 128) for _ in range(3))"
    return _kernel("", ["for i in range(a.shape[0] - 64):", *_indented(lines)], parameters, arguments)


def independent_loads(size: int) -> str:
    """Loads of many fields' elements kept in variables, with stores to another field between them."""
    lines: list[str] = []
    for k in range(size // 2):
        lines += [f"v{k} = x[i, {k}]", f"y[i, {k}] = v{k} * v{k // 2} + 1.0"]
    fields = f"x = ti.field(ti.f32, shape=(8, {size}))\ny = ti.field(ti.f32, shape=(8, {size}))"
    return _kernel(fields, ["for i in range(8):", *_indented(lines)])


def branches(size: int) -> str:
    """A row of `if` statements that change variables."""
    lines = [
        line
        for k in range(size // 2)
        for line in (f"if x[i] > {k}.5:", f"    a{k % 4} += {k}.0" if k % 3 else f"    a{k % 4} = x[i] * {k}.0")
    ]
    body = [*(f"a{k} = {k}.0" for k in range(4)), *lines, "x[i] = a0 + a1 + a2 + a3"]
    return _kernel("x = ti.field(ti.f32, shape=64)", ["for i in x:", *_indented(body)])


def chain(size: int) -> str:
    """One chain of `elif`, which nests in the syntax tree."""
    lines = [
        line for k in range(size // 2) for line in (f"{'elif' if k else 'if'} x[i] < {k}.5:", f"    y[i] = {k}.25")
    ]
    fields = "x = ti.field(ti.f32, shape=64)\ny = ti.field(ti.f32, shape=64)"
    return _kernel(fields, ["for i in x:", *_indented([*lines, "else:", "    y[i] = -1.0"])])


def serial_loops(size: int) -> str:
    """A row of serial loops in a parallel one, each with a few statements."""
    lines = [
        line
        for k in range(size // 4)
        for line in (
            f"for j in range({k % 5 + 2}):",
            f"    a += x[(i + j + {k}) % 64]",
            "    b = a * 0.5 + b",
            "x[i] = a",
        )
    ]
    return _kernel(
        "x = ti.field(ti.f32, shape=64)", ["for i in x:", *_indented(["a = 0.0", "b = 1.0", *lines, "x[i] = a + b"])]
    )


def fields(size: int) -> str:
    """Many fields, each with an accessor of its own, read and written once."""
    made = f"xs = [ti.field(ti.f32, shape=(4, {{}} + 3)) for _ in range({size})]".replace("{}", "8")
    names = "\n".join(f"f{k} = xs[{k}]" for k in range(size))
    lines = [f"f{k}[i, j] = f{(k + 1) % size}[i, j] * 2.0 + 1.0" for k in range(size)]
    return _kernel(f"{made}\n{names}", ["for i, j in ti.ndrange(4, 8):", *_indented(lines)])


def ndarrays(size: int) -> str:
    """Many ndarrays as parameters."""
    parameters = ", ".join(f"a{k}: ti.types.ndarray(ti.f32, 2)" for k in range(size))
    lines = [f"a{k}[i, 0] = a{(k + 1) % size}[i, 1] * 2.0" for k in range(size)]
    arguments = f"tuple(ti.ndarray(ti.f32, (4, 8)) for _ in range({size}))"
    return _kernel("", ["for i in range(a0.shape[0]):", *_indented(lines)], parameters, arguments)


def parallel_loops(size: int) -> str:
    """Many parallel loops, with values that cross from one to the next."""
    lines = [
        line
        for k in range(size)
        for line in (
            f"s{k} = x[{k % 60}] + {f's{k - 1}' if k else '1.0'}",
            "for i in x:",
            f"    x[i] = x[i] * 0.5 + s{k}",
        )
    ]
    return _kernel("x = ti.field(ti.f32, shape=64)", lines)


def unrolled(size: int) -> str:
    """A loop unrolled at compile time."""
    body = [f"for k in ti.static(range({size // 2})):", "    a = a * x[i] + k", "    x[i] += a"]
    return _kernel("x = ti.field(ti.f32, shape=64)", ["for i in x:", *_indented(["a = 0.0", *body, "x[i] = a"])])


def calls(size: int) -> str:
    """Many calls of an inlined function with branches."""
    function = WEIGH
    body = ["a = x[i]", *(f"a = weigh(a, {k % 9}.5)" for k in range(size)), "x[i] = a"]
    return _kernel(f"x = ti.field(ti.f32, shape=64)\n\n\n{function}", ["for i in x:", *_indented(body)])


def returning_calls(size: int) -> str:
    """Many calls of an inlined function that returns from branches."""
    function = SIGN
    body = ["a = x[i]", *(f"a += sign(a - {k}.5)" for k in range(size)), "x[i] = a"]
    return _kernel(f"x = ti.field(ti.f32, shape=64)\n\n\n{function}", ["for i in x:", *_indented(body)])


def real_calls(size: int) -> str:
    """Many calls of a real function."""
    function = "@ti.real_func\ndef mix(a: ti.f32, b: ti.f32) -> ti.f32:\n    return a * 0.75 + b\n"
    body = ["a = x[i]", *(f"a = mix(a, {k % 9}.5) + x[i]" for k in range(size)), "x[i] = a"]
    return _kernel(f"x = ti.field(ti.f32, shape=64)\n\n\n{function}", ["for i in x:", *_indented(body)])


def matrices(size: int) -> str:
    """Operations on matrices of 10 by 10, whose products are unrolled."""
    body = ["a = m[i]", *(f"a = a @ m[i] + a * {k}.5" for k in range(size)), "m[i] = a"]
    return _kernel("m = ti.Matrix.field(10, 10, ti.f32, shape=8)", ["for i in m:", *_indented(body)])


def vectors(size: int) -> str:
    """Arithmetic on vectors of three."""
    body = [
        "a = v[i]",
        "b = v[i] * 2.0",
        *(f"a, b = b.cross(a) + {k}.5, a.normalized()" for k in range(size // 2)),
        "v[i] = a + b",
    ]
    return _kernel("v = ti.Vector.field(3, ti.f32, shape=8)", ["for i in v:", *_indented(body)])


def struct_members(size: int) -> str:
    """A struct of many members, each read and written."""
    members = ", ".join(f"m{k}=ti.f32" for k in range(size))
    body = [f"s[i].m{k} = s[i].m{(k + 1) % size} + 1.0" for k in range(size)]
    return _kernel(f"S = ti.types.struct({members})\ns = S.field(shape=8)", ["for i in s:", *_indented(body)])


def atomics(size: int) -> str:
    """Atomic additions to elements of a field."""
    body = [f"x[(i + {k}) % 64] += y[i] * {k}.5" for k in range(size)]
    return _kernel("x = ti.field(ti.f32, shape=64)\ny = ti.field(ti.f32, shape=64)", ["for i in y:", *_indented(body)])


def sum_of_terms(size: int) -> str:
    """One expression: a sum of many terms."""
    terms = " + ".join(f"x[i + {k}]" for k in range(size))
    return _kernel(f"x = ti.field(ti.f32, shape={size + 64})", ["for i in range(64):", f"    x[i] = {terms}"])


def nested_choices(size: int) -> str:
    """One expression that nests to the right."""
    text = "".join(f"{k % 9}.5 if x[i] < {k}.0 else " for k in range(size // 4))
    return _kernel("x = ti.field(ti.f32, shape=64)", ["for i in x:", f"    x[i] = {text}x[i]"])


def prints_and_checks(size: int) -> str:
    """Assertions and messages."""
    body = [f"assert x[i] < {k}.5, 'too large'" if k % 2 else f"print(i, x[i], {k})" for k in range(size)]
    return _kernel("x = ti.field(ti.f32, shape=64)", ["for i in x:", *_indented(body)])


def barriers(size: int) -> str:
    """Parts between barriers, with values that cross them."""
    body = ["tile = ti.simt.block.SharedArray((64,), ti.f32)", "a = x[i]"]
    for k in range(size // 3):
        body += [f"tile[i % 64] = a + {k}", "ti.simt.block.sync()", f"a += tile[(i + {k}) % 64]"]
    loop = ["ti.loop_config(block_dim=64)", "for i in x:"]
    return _kernel("x = ti.field(ti.f32, shape=128)", [*loop, *_indented([*body, "x[i] = a"])])


FAMILIES: dict[str, Callable[[int], str]] = {
    function.__name__: function
    for function in (
        locals_in_one_task,
        assignments_to_few_locals,
        elements,
        distinct_elements,
        ndarray_elements,
        independent_loads,
        branches,
        chain,
        serial_loops,
        fields,
        ndarrays,
        parallel_loops,
        unrolled,
        calls,
        returning_calls,
        real_calls,
        matrices,
        vectors,
        struct_members,
        atomics,
        sum_of_terms,
        nested_choices,
        prints_and_checks,
        barriers,
    )
}
"""By name: from a size, about the number of statements, to a program."""


def load(source: str, folder: Path) -> ModuleType:
    """Write a program into a folder and run it in the current session."""
    name = f"growing_{next(_NUMBERS)}"
    path = folder / f"{name}.py"
    path.write_text(source)
    specification = importlib.util.spec_from_file_location(name, path)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def _kernel(prologue: str, body: list[str], parameters: str = "", arguments: str = "()") -> str:
    lines = "\n".join(_indented(body))
    return f"{HEAD}{prologue}\n\narguments = {arguments}\n\n\n@ti.kernel\ndef kernel({parameters}):\n{lines}\n"


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]
