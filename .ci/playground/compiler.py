"""What the playground runs in the browser: a program's kernels as a report page.

In: Python. Out: HTML, or what is wrong. Nothing is launched: a call of a kernel only shows the types of its arguments.
`SOURCE` is the file of the program.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import io
import json
import linecache
import os
import sys
import traceback
import types
import warnings
from typing import Any

for absent in ("fcntl", "grp", "pwd", "resource", "termios", "_multiprocessing"):
    if importlib.util.find_spec(absent) is None:  # browsers lack them; compiling needs none
        sys.modules[absent] = types.ModuleType(absent)


def no_library(name: object = None, *_: object, **__: object) -> None:
    """Take the place of `ctypes.CDLL`: Pyodide would return an object for any name."""
    raise OSError(f"{name}: a browser loads no libraries")


ctypes.CDLL = no_library  # type: ignore[assignment, misc]

import shadesmith as ti  # noqa: E402
from shadesmith.runtime.launch.kernel import Kernel  # noqa: E402
from shadesmith.runtime.workbench.inspect.report import Page, render  # noqa: E402
from shadesmith.runtime.workbench.inspect.report_content import describe_kernel, targets_in_words  # noqa: E402

SOURCE = "/work/program.py"
CALL = ". A call of the kernel in the program says what its arguments are; nothing is launched"
CALLS: dict[Kernel, tuple[Any, ...]] = {}


def note_call(kernel: Kernel, *args: Any, **kwargs: Any) -> int:
    """Take the place of a launch: remember the first arguments."""
    CALLS.setdefault(kernel, args if not kwargs else kernel.definition.bind(args, kwargs))
    return 0


def init(arch: Any = None, **options: Any) -> None:
    """Take the place of `ti.init`: the interpreter's session holds fields, whatever the program asks for."""
    known = {name: value for name, value in options.items() if name not in ("offline_cache", "dump_dir", "log_level")}
    REAL_INIT(arch=ti.python, offline_cache=False, log_level="error", **known)


ti.as_taichi(children=False)  # programs of Taichi are pasted as they are
REAL_INIT = ti.init
ti.init = init
type.__setattr__(Kernel, "__call__", note_call)
os.makedirs(os.path.dirname(SOURCE), exist_ok=True)


def compiled(program: str) -> str:
    """Return JSON: `page`, the HTML, or "" if no kernel could be shown; `said`, prints, warnings and errors; `line`."""
    CALLS.clear()
    with open(SOURCE, "w", encoding="utf-8") as file:
        file.write(program)
    linecache.checkcache(SOURCE)
    init()
    printed, line = io.StringIO(), 0
    namespace: dict[str, Any] = {"__name__": "__main__", "__file__": SOURCE}
    kernels, problems = [], []
    with contextlib.redirect_stdout(printed), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec(compile(program, SOURCE, "exec"), namespace)
        except BaseException as error:
            line = _line(error)
            print(_said(error))
        for kernel in [value for value in namespace.values() if isinstance(value, Kernel)]:
            try:
                kernels.append(describe_kernel(kernel, CALLS.get(kernel, ()), kernel.definition.qualname))
            except BaseException as error:
                line = line or _line(error)
                problems.append((kernel.definition.qualname, _said(error)))
                print(_said(error) + (CALL if "Missing argument" in str(error) else ""))
    for warning in caught:
        print(str(warning.message), file=printed)
    page = ""
    if kernels:
        page = render(Page("Kernels", targets_in_words(kernels), tuple(kernels), tuple(problems)))
    return json.dumps({"page": page, "said": printed.getvalue().strip(), "line": line})


def _said(error: BaseException) -> str:
    if isinstance(error, (ti.TaichiCompilationError, ti.TaichiRuntimeError)):
        return f"{type(error).__name__}: {str(error).strip()}"
    return "".join(traceback.format_exception_only(type(error), error)).strip()


def _line(error: BaseException) -> int:
    """Return the line of the program that is at fault, 0 if none is known."""
    location = getattr(error, "location", None)
    if location is not None and location.file == SOURCE:
        return int(location.line)
    if isinstance(error, SyntaxError):
        return error.lineno or 0
    frames = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == SOURCE]
    return frames[-1] or 0 if frames else 0


if __name__ == "__main__":
    sys.stdout.write(compiled(sys.stdin.read()))
