"""`%%source`, which runs a cell and shows what its kernels become, and `%%kernel`, whose cell is the body of a kernel.

%%source cuda                          %%kernel saxpy(x: ti.types.ndarray(ti.f32, 1), a: ti.f32)
@ti.kernel                             for i in x:
def fill(x: ti.types.ndarray(ti.f32, 1)):      x[i] *= a
    for i in x:
        x[i] = 1.0
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable
from typing import Any

from ...transpiler.errors import ReportedError
from ..launch.kernel import Kernel
from ..launch.kernel import kernel as decorator
from .html import html_of

Magic = Callable[[str, str], Any]


def source_magic(shell: Any) -> Magic:
    """Return the magic `%%source [arch]`."""

    def source(line: str, cell: str) -> None:
        """Run the cell, then show the emitted source of each kernel that it defines. line: the target, "cuda"."""
        if not shell.run_cell(cell).success:
            return
        names = [node.name for node in ast.parse(shell.transform_cell(cell)).body if isinstance(node, ast.FunctionDef)]
        for name in names:
            kernel = shell.user_ns.get(name)
            if isinstance(kernel, Kernel):
                code = kernel.source(arch=line.strip() or None)
                shell.display_pub.publish({"text/plain": str(code), "text/html": html_of(code)})

    return source


def kernel_magic(shell: Any) -> Magic:
    """Return the magic `%%kernel name(parameters)`."""

    def kernel(line: str, cell: str) -> None:
        """Define a kernel whose body is the cell. line: its name, parameters and result, `f(x: ti.f32) -> ti.f32`."""
        package = next((k for k, v in shell.user_ns.items() if getattr(v, "kernel", None) is decorator), "")
        if not package:
            raise ReportedError("no name of this notebook is shadesmith", "`import shadesmith as ti`")
        shell.run_cell(f"@{package}.kernel\ndef {line.strip()}:\n{textwrap.indent(cell, '    ')}")

    return kernel


MAGICS: dict[str, Callable[[Any], Magic]] = {"source": source_magic, "kernel": kernel_magic}
"""Cell magics by name; each is made for a shell."""
