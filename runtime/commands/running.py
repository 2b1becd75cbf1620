"""A Python file that is imported or run as a program here, and watched for launches of kernels.

In: a path and the program's own arguments. Out: its names, and the launch at which it stopped. Its output goes to
standard error, since the result of a command is on standard output.
"""

from __future__ import annotations

import ast
import contextlib
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from ...transpiler.errors import TaichiCompilationError, TaichiRuntimeError
from ..events import CALL_OBSERVERS
from ..launch.kernel import Kernel
from ..session.module_source import GENERATED
from .screen import CommandError


class Reached(BaseException):
    """Ends a program at the wanted launch; no `except Exception` of the program catches it."""


def name_of(kernel: Kernel) -> str:
    """Return `Class.method`, or the name of a function wherever it is defined."""
    name: str = kernel.definition.qualname
    return name.rpartition("<locals>.")[2]


def file_of(kernel: Kernel) -> str:
    """Return the file that defines a kernel."""
    return kernel.definition.function.__code__.co_filename


class Program:
    """A Python file that is imported or run here.

    name: of its module. namespace: of its last run. reached: the launch at which it stopped.
    """

    def __init__(self, path: Path, arguments: list[str]) -> None:
        self.path = path
        self.name = path.stem if path.stem not in sys.modules else f"{path.stem}_program"
        self.arguments = arguments
        self.namespace: dict[str, Any] = {}
        self.reached: tuple[Kernel, tuple[Any, ...]] | None = None
        self._imported = False

    def imported(self) -> dict[str, Any]:
        """Return the kernels of the file by name, after one import, which ends at a launch of one of them."""
        if not self._imported:
            self._imported = True
            self.stop_at(self.name, lambda kernel: file_of(kernel) == str(self.path))
        return self.kernels()

    def kernels(self) -> dict[str, Kernel]:
        """Return the kernels in the namespace by name, methods as `Class.method`."""
        found: dict[str, Kernel] = {}
        for name, value in list(self.namespace.items()):
            if isinstance(value, Kernel):
                found[name] = value
            elif isinstance(value, type) and value.__module__ == self.namespace.get("__name__"):
                members = ((member, kernel) for member, kernel in vars(value).items() if isinstance(kernel, Kernel))
                found.update((f"{name}.{member}", kernel) for member, kernel in members)
        return found

    def stop_at(self, name: str, wanted: Callable[[Kernel], bool], number: int = 1) -> None:
        """Run under a name until launch `number` of a wanted kernel, which is then `reached` and does not happen.

        The launches before run its generated source: an edit that crashes or hangs is not to end the command.
        """
        count = 0
        chosen: dict[Kernel, str | None] = {}

        def on_launch(kernel: Kernel, arguments: tuple[Any, ...]) -> None:
            nonlocal count
            if wanted(kernel):
                count += 1
                if count == number:
                    self.reached = (kernel, arguments)
                    raise Reached
                if kernel not in chosen:
                    chosen[kernel] = kernel.wanted
                    kernel.use(GENERATED)

        try:
            self.run(name, on_launch)
        finally:
            for kernel, variant in chosen.items():
                kernel.use(variant)

    def run(self, name: str, on_launch: Callable[[Kernel, tuple[Any, ...]], None]) -> None:
        """Run under a name to its end, or until `on_launch` raises `Reached`; its output goes to standard error.

        Raises: CommandError with the traceback for an exception of the program.
        """
        module = ModuleType(name)
        module.__file__ = str(self.path)
        self.namespace, self.reached = module.__dict__, None
        package, folder = _package_of(self.path)
        module.__package__ = package or None
        outer = (sys.modules.get(name), sys.argv, sys.path[:])
        sys.modules[name], sys.argv = module, [str(self.path), *self.arguments]
        sys.path.insert(0, str(folder))
        try:
            with watching(on_launch), contextlib.redirect_stdout(sys.stderr):
                code = compile(self.path.read_bytes(), str(self.path), "exec", dont_inherit=True)
                exec(code, module.__dict__)
        except (Reached, SystemExit, KeyboardInterrupt) as end:
            if isinstance(end, KeyboardInterrupt):
                raise
        except (TaichiCompilationError, TaichiRuntimeError):
            raise
        except BaseException as error:
            raise CommandError(f"{self.path.name} failed:\n{_shown(error, self.path)}", _failure_hint(error)) from None
        finally:
            sys.argv, sys.path[:] = outer[1], outer[2]
            if (
                name == "__main__" and outer[0] is not None
            ):  # otherwise it stays: classes are looked up by their modules
                sys.modules[name] = outer[0]


@contextmanager
def watching(on_launch: Callable[[Kernel, tuple[Any, ...]], None]) -> Iterator[None]:
    """Call `on_launch` before every launch of any kernel."""

    def observe(kernel: Kernel, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        on_launch(kernel, kernel.arguments.bind(args, kwargs))

    CALL_OBSERVERS.append(observe)
    try:
        yield
    finally:
        CALL_OBSERVERS.remove(observe)


def _package_of(path: Path) -> tuple[str, Path]:
    """Return the package of a file and the folder to import it from, as `python -m` does.

    A file without relative imports runs as a script: no package, and the folder that it is in.
    """
    tree = ast.parse(path.read_bytes(), str(path))
    names: list[str] = []
    folder = path.parent
    if any(isinstance(node, ast.ImportFrom) and node.level for node in ast.walk(tree)):
        while (folder / "__init__.py").is_file():
            names.insert(0, folder.name)
            folder = folder.parent
    return ".".join(names), folder


def _shown(error: BaseException, path: Path) -> str:
    """Return the traceback, starting at the program's first frame."""
    frames = traceback.extract_tb(error.__traceback__)
    first = next((k for k, frame in enumerate(frames) if frame.filename == str(path)), len(frames))
    lines = traceback.format_list(frames[first:]) + traceback.format_exception_only(type(error), error)
    return "".join(lines).rstrip()


def _failure_hint(error: BaseException) -> str:
    if isinstance(error, ImportError) and "relative import" in str(error):
        return "a file that imports by `from .` is part of a package: its folder needs a file `__init__.py`"
    return ""
