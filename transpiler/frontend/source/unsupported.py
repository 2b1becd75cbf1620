"""Python constructs that kernels do not support: the name of each, the reason, and what to write instead."""

from __future__ import annotations

OUTSIDE = "define a function outside the kernel and decorate it with `@ti.func`"
IN_FIELD = "keep the value in a field: `x = ti.field(ti.i32, shape=())`"

REASONS: dict[str, tuple[str, str, str]] = {
    "AsyncFor": ("`async for`", "a kernel cannot wait", "write a plain `for`"),
    "AsyncFunctionDef": ("`async def`", "kernels cannot define functions", OUTSIDE),
    "AsyncWith": ("`async with`", "kernels have no context managers", "leave it out"),
    "Await": ("`await`", "a kernel cannot wait", "launch kernels one after the other from Python"),
    "ClassDef": ("`class`", "kernels cannot define classes", "define the class outside the kernel"),
    "Delete": ("`del`", "variables cannot be deleted", "leave out `del`; a variable ends with its block"),
    "FunctionDef": ("`def`", "kernels cannot define functions", OUTSIDE),
    "GeneratorExp": ("A generator", "kernels have no generators", "write a list: `[... for ... in ti.static(...)]`"),
    "Global": ("`global`", "globals are constants of the compiled kernel", IN_FIELD),
    "Import": ("`import`", "kernels cannot import", "import at the top of the file"),
    "ImportFrom": ("`import`", "kernels cannot import", "import at the top of the file"),
    "Lambda": ("`lambda`", "kernels cannot define functions", OUTSIDE),
    "Nonlocal": ("`nonlocal`", "variables outside are constants of the compiled kernel", IN_FIELD),
    "Raise": ("`raise`", "kernels have no exceptions", "use `assert`, which is checked with `ti.init(debug=True)`"),
    "Set": ("A set", "kernels support numbers, vectors and matrices", "write a tuple: `(1, 2)`"),
    "SetComp": ("A set comprehension", "kernels support numbers, vectors and matrices", "write a list comprehension"),
    "Starred": ("`*` here", "it is allowed only in calls and list displays", "name each value"),
    "Try": ("`try`", "kernels have no exceptions", "test the condition with `if` beforehand"),
    "TryStar": ("`try`", "kernels have no exceptions", "test the condition with `if` beforehand"),
    "With": ("`with`", "kernels have no context managers", "leave out `with`, and open files outside the kernel"),
    "Yield": ("`yield`", "kernels cannot be generators", "write the results to an array"),
    "YieldFrom": ("`yield from`", "kernels cannot be generators", "write the results to an array"),
}  # fmt: skip
"""The construct, the reason and the remedy, by the name of the node class."""
