"""Python constructs that kernels cannot hold: for each node of the syntax tree one plain sentence and what to write."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str | None]] = {
    "AsyncFor": ("kernels have no `async for`", "write a plain `for`"),
    "AsyncFunctionDef": ("kernels cannot define functions", "define it outside and decorate it with `@ti.func`"),
    "AsyncWith": ("kernels have no `async with`", "leave it out"),
    "Await": ("kernels cannot wait", "launch kernels one after the other from Python"),
    "ClassDef": ("kernels cannot define classes", "define the class outside the kernel"),
    "Delete": ("variables cannot be deleted in a kernel", "leave out `del`; a variable ends with its block"),
    "DictComp": ("a dict comprehension is no value of a kernel", "build the dict outside the kernel"),
    "FunctionDef": ("kernels cannot define functions", "define it outside and decorate it with `@ti.func`"),
    "GeneratorExp": ("kernels have no generators", "write a list comprehension: `[... for ... in ti.static(...)]`"),
    "Global": ("globals are constants in kernels", "keep the value in a field: `x = ti.field(ti.i32, shape=())`"),
    "Import": ("kernels cannot import", "import at the top of the file"),
    "ImportFrom": ("kernels cannot import", "import at the top of the file"),
    "Lambda": ("kernels have no lambdas", "define a function outside and decorate it with `@ti.func`"),
    "Nonlocal": ("variables outside are constants in kernels", "keep the value in a field"),
    "Raise": ("kernels cannot raise", "use `assert`, which is checked with `ti.init(debug=True)`"),
    "Set": ("a set is no value of a kernel", "use a tuple"),
    "SetComp": ("a set is no value of a kernel", "use a list comprehension"),
    "Starred": ("`*` stands only in calls and list displays here", "name each value"),
    "Try": ("kernels have no exceptions", "test the condition with `if` beforehand"),
    "TryStar": ("kernels have no exceptions", "test the condition with `if` beforehand"),
    "With": ("kernels have no context managers", "leave out `with`"),
    "Yield": ("kernels are no generators", "write results to an array"),
    "YieldFrom": ("kernels are no generators", "write results to an array"),
}
"""By the name of the node class: the sentence, and the remedy where there is one."""
