"""From `file.py:kernel` on a command line to a kernel with arguments.

A kernel whose annotations determine its specialization needs none: its file is imported, not run as a program. Else
`--args` has them, as Python expressions over the names of the file; else the program is run as from a shell until it
launches the kernel, and the arguments of that launch are used. In every case the program stops at the first launch of
the kernel: a script without `if __name__ == "__main__"` would run to its end when it is imported.
"""

from __future__ import annotations

import argparse
import ast
import linecache
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...transpiler.errors import ShadesmithWarning, TaichiCompilationError, TaichiRuntimeError, TaichiSyntaxError
from ...transpiler.lang.arch import ARCHES, Arch, cpu
from ..close_names import close_names
from ..launch.kernel import Kernel
from ..session import session as sessions
from ..session.starting import init
from .running import Program, Reached, file_of, name_of
from .screen import CommandError

OVERRIDING_ARCH = "SHADESMITH_ARCH"
"""Environment variable that `ti.init` of the program obeys."""

PATIENCE = 1000
"""Launches without a new kernel after which a program is stopped, which may draw forever."""
DECIDING = frozenset(
    {
        "advanced_optimization", "cfg_optimization", "check_out_of_bound", "check_overflow", "debug", "default_fp",
        "default_gpu_block_dim", "default_ip", "default_up", "edits", "edits_dir", "fast_math",
        "inline", "max_block_dim", "short_circuit_operators", "trap_nan", "unroll_static_loops", "unrolling_limit",
    }
)  # fmt: skip
"""Options of `ti.init` that change a source or the folder of edits."""


@dataclass(frozen=True, slots=True)
class Call:
    """A kernel with arguments for inspecting or launching it.

    arguments: of `kernel`, which is never bound: a method's object comes first. Empty if the annotations suffice.
    origin: where they come from, for people. namespace: of the program, which keeps its fields alive.
    """

    kernel: Kernel
    arguments: tuple[Any, ...]
    origin: str
    namespace: dict[str, Any] = field(repr=False)

    @property
    def kernel_name(self) -> str:
        """The kernel's name with its class, without the functions that it is defined in."""
        name: str = self.kernel.definition.qualname
        return name.rpartition("<locals>.")[2]


@dataclass(frozen=True, slots=True)
class Spec:
    """The file and kernel of a command line. kernel: None for all kernels of the file."""

    path: Path
    kernel: str | None


def add_program_arguments(parser: argparse.ArgumentParser, needs_kernel: bool = True) -> None:
    """Add the arguments of all commands on kernels: `FILE:KERNEL`, `--arch`, `--args`, `--call`."""
    parser.add_argument(
        "program",
        metavar="FILE:KERNEL" if needs_kernel else "FILE[:KERNEL]",
        help="a Python file and a kernel in it: `julia.py:paint`, `mpm.py:Solver.step`"
        + ("; a file with one kernel need not name it" if needs_kernel else "; without a kernel all of them"),
    )
    parser.add_argument("--arch", help="cpu, cuda, vulkan or python; without it that of the program's `ti.init`")
    parser.add_argument("--args", metavar="EXPR", help="arguments of the kernel, in the names of the file: '8, x'")
    parser.add_argument(
        "--call", type=int, metavar="N", help="run the program and take the arguments of the kernel's launch number N"
    )


def add_process_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of commands that run edited sources: `--in-process`, `--time-limit`."""
    parser.add_argument(
        "--in-process", action="store_true", help="run edited sources in this process, which they may end or hang"
    )
    parser.add_argument(
        "--time-limit", type=float, metavar="SECONDS",
        help="for a run of an edit; without it 10, or 30 times what the generated source takes; in-process 30 or 100",
    )  # fmt: skip


def check_process_arguments(options: argparse.Namespace) -> None:
    """Check the arguments of `add_process_arguments`. Raises: CommandError."""
    if options.time_limit is not None and not options.time_limit > 0:
        raise CommandError(f"`--time-limit {options.time_limit:g}`: it takes a number of seconds above 0")


def arch_of(options: argparse.Namespace) -> Arch | None:
    """Return the architecture that `--arch` names. Raises: CommandError for an unknown one."""
    if options.arch is None:
        return None
    arch = ARCHES.get(options.arch)
    if arch is None or arch.target is None:
        names = [name for name, known in ARCHES.items() if known.target is not None]
        close = close_names(options.arch, names)
        hint = f"did you mean `{close[0]}`?" if close else f"there are {', '.join(names)}"
        raise CommandError(f"`--arch {options.arch}` is not a target of shadesmith", hint)
    return arch


def find_call(options: argparse.Namespace, launches: bool) -> Call:
    """Return the kernel that `options` names, and arguments.

    launches: the command launches the kernel, so there must be a session on the device of `--arch`, and real arguments
    unless the kernel takes none; else nothing is launched, annotations suffice, and `--arch` is not used.
    Raises: CommandError for what cannot be found, and with the errors of the program.
    """
    spec = parse_spec(options.program)
    name, derivative = _split_derivative(spec, spec.kernel or _only_kernel(spec.path))
    if options.call is not None and options.call < 1:
        raise CommandError(f"`--call {options.call}`: launches are counted from 1")
    with _arch_of_program(arch_of(options) if launches else None), _fallback_silenced(not launches):
        call = _find(spec, name, options, launches)
        if launches:
            _ensure_session(arch_of(options))
    return replace(call, kernel=getattr(call.kernel, derivative)) if derivative else call


def _split_derivative(spec: Spec, name: str) -> tuple[str, str]:
    """Return the kernel's name, and "grad" or "dual" if a derivative of it is meant: `solver.py:step.grad`."""
    base, _, member = name.rpartition(".")
    is_derivative = base and member in ("grad", "dual") and name not in kernels_in(spec.path)
    return (base, member) if is_derivative else (name, "")


def find_calls(options: argparse.Namespace) -> list[Call]:
    """Return the kernel that `options` names, or all kernels of its file in their order; nothing is launched.

    A kernel that needs arguments and that the program does not launch is left out, unless it was named.
    """
    spec = parse_spec(options.program)
    if spec.kernel is not None:
        return [find_call(options, launches=False)]
    names = kernels_in(spec.path)
    if not names:
        raise CommandError(f"There is no kernel in {spec.path}", "a kernel is a function below `@ti.kernel`")
    with _fallback_silenced(True):
        return _find_all(spec, names, options)


def _find_all(spec: Spec, names: list[str], options: argparse.Namespace) -> list[Call]:
    program = Program(spec.path, options.program_arguments)
    first: dict[str, Call] = {}
    launches = 0  # since the last one that was new

    def on_launch(kernel: Kernel, arguments: tuple[Any, ...]) -> None:
        nonlocal launches
        launches += 1
        if launches > PATIENCE:
            raise Reached
        name = name_of(kernel)
        if file_of(kernel) == str(spec.path) and name in names and name not in first:
            launches, first[name] = 0, Call(kernel, arguments, "launch 1 of the program", program.namespace)
            if len(first) == len(names):
                raise Reached

    imported = program.imported()
    waits = not sessions.is_initialized() and _decides_later(spec.path)
    if waits or not all(_is_ready(imported.get(name)) for name in names):
        try:
            program.run("__main__", on_launch)
        except (CommandError, TaichiCompilationError, TaichiRuntimeError):
            if not first and not any(_is_ready(kernel) for kernel in imported.values()):
                raise
    calls = [first.get(name) or _of_annotations(program, name) for name in names]
    return [call for call in calls if call is not None]


def parse_spec(text: str) -> Spec:
    """Parse `file.py:kernel`. Raises: CommandError for a missing file."""
    name, colon, kernel = text.rpartition(":")
    if not colon or not all(part.isidentifier() for part in kernel.split(".")):
        name, kernel = text, ""
    path = Path(name).expanduser().resolve()
    if not path.is_file():
        hint = "write `file.py:kernel`" if path.suffix != ".py" else ""
        raise CommandError(f"There is no file {name}", hint)
    return Spec(path, kernel or None)


def kernels_in(path: Path) -> list[str]:
    """Return the names of the kernels that a file defines, `Class.method` for methods, in their order.

    Raises: CommandError for a file that is not Python.
    """
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    except (SyntaxError, ValueError) as error:
        raise CommandError(f"{path} is not Python: {error}") from None
    return list(_kernels_below(tree, ""))


def _kernels_below(node: ast.AST, prefix: str) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield from _kernels_below(child, f"{child.name}.")
        elif isinstance(child, ast.FunctionDef):
            if any(_is_kernel_decorator(decorator) for decorator in child.decorator_list):
                yield f"{prefix}{child.name}"
            else:
                yield from _kernels_below(child, "")
        else:
            yield from _kernels_below(child, prefix)


def _is_kernel_decorator(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        node = node.func
    return (node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")) == "kernel"


# --- arguments


def _find(spec: Spec, name: str, options: argparse.Namespace, launches: bool) -> Call:
    program = Program(spec.path, options.program_arguments)
    if options.args is not None:
        if options.call is not None:
            raise CommandError("`--args` and `--call` exclude each other")
        kernel = _named(program, name)
        return Call(kernel, _evaluate(program, kernel, options), "--args", program.namespace)
    if options.call is None and not launches:
        program.stop_at(program.name, _is_named(program, name))
        if program.reached is not None:
            return Call(*program.reached, "launch 1 of the program", program.namespace)
        found = _lookup(program.kernels(), name)
        if _is_ready(found) and (sessions.is_initialized() or not _decides_later(spec.path)):
            return Call(found, (), "annotations", program.namespace)
    else:
        found = None
    number = options.call or 1
    program.stop_at("__main__", _is_named(program, name), number)
    if program.reached is not None:
        return Call(*program.reached, f"launch {number} of the program", program.namespace)
    found = found or _lookup(program.kernels(), name)
    if found is not None and options.call is None and (_suffices(found) if not launches else _takes_none(found)):
        return Call(found, (), "annotations", program.namespace)  # the user should see its errors
    if found is None and _lookup(dict.fromkeys(kernels_in(spec.path), True), name) is None:
        raise _no_kernel(spec.path, name, list(program.kernels()))
    times = "was not launched" if number == 1 else f"was not launched {number} times"
    raise CommandError(
        f"Kernel `{name}` {times} by {spec.path.name}, and its arguments do not follow from its annotations",
        "add --args 'EXPR, EXPR'; arguments of the program itself follow `--`",
    )


def _is_named(program: Program, name: str) -> Callable[[Kernel], bool]:
    def is_named(kernel: Kernel) -> bool:
        if file_of(kernel) != str(program.path):
            return program.namespace.get(name) is kernel
        own = name_of(kernel)
        return name in (own, own.rpartition(".")[2])

    return is_named


def _lookup(found: dict[str, Any], name: str) -> Any:
    """Return the entry of that name, or the only method of that name, or None. Raises: CommandError for several."""
    if name in found:
        return found[name]
    methods = [full for full in found if full.rpartition(".")[2] == name]
    if len(methods) > 1:
        raise CommandError(f"There are several kernels `{name}`", f"name one: {', '.join(methods)}")
    return found[methods[0]] if methods else None


def _named(program: Program, name: str) -> Kernel:
    """Import the program and return a kernel. Raises: CommandError if there is none of that name."""
    program.stop_at(program.name, _is_named(program, name))
    if program.reached is not None:
        return program.reached[0]
    kernel = _lookup(program.kernels(), name)
    if kernel is None:
        raise _no_kernel(program.path, name, list(program.kernels()))
    assert isinstance(kernel, Kernel)
    return kernel


def _only_kernel(path: Path) -> str:
    """Return the kernel of a file with one. Raises: CommandError for any other."""
    known = kernels_in(path)
    if len(known) != 1:
        raise CommandError(
            f"{path.name} defines {len(known) or 'no'} kernels", f"name one: {path.name}:{known[0]}" if known else ""
        )
    return known[0]


def _no_kernel(path: Path, name: str, known: list[str]) -> CommandError:
    known = list(dict.fromkeys([*known, *kernels_in(path)]))
    close = close_names(name, known)
    hint = f"did you mean `{close[0]}`?" if close else _kernels_hint(path)
    return CommandError(f"There is no kernel `{name}` in {path.name}", hint)


def _kernels_hint(path: Path) -> str:
    known = kernels_in(path)
    return f"its kernels are {', '.join(known)}" if known else "it defines no kernel"


def _suffices(kernel: Kernel | None) -> bool:
    """Return whether the annotations of a kernel determine its specialization."""
    if kernel is None:
        return False
    try:
        kernel.specialize(())
    except (TaichiSyntaxError, TaichiRuntimeError):
        return False
    return True


def _takes_none(kernel: Kernel) -> bool:
    return not kernel.definition.parameters


def _is_ready(kernel: Kernel | None) -> bool:
    """Return whether a kernel can be compiled from its annotations and the globals after an import."""
    if kernel is None or not _suffices(kernel):
        return False
    try:
        kernel.source()
    except (TaichiCompilationError, TaichiRuntimeError):
        return False
    return True


def _decides_later(path: Path) -> bool:
    """Return whether a program calls `ti.init` with options that change sources or the folder of edits.

    Such a program is run, not only imported, or a source would be shown that never runs.
    """
    for node in ast.walk(ast.parse(path.read_bytes(), str(path))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "init":
            if len(node.args) > 1 or any(key.arg is None or key.arg in DECIDING for key in node.keywords):
                return True
    return False


def _of_annotations(program: Program, name: str) -> Call | None:
    kernel = program.kernels().get(name)
    return Call(kernel, (), "annotations", program.namespace) if kernel is not None and _is_ready(kernel) else None


def _evaluate(program: Program, kernel: Kernel, options: argparse.Namespace) -> tuple[Any, ...]:
    """Return the values of `--args`, evaluated in the program's namespace; arrays among them need a session."""
    if not sessions.is_initialized() and _decides_later(program.path):
        message = f"an import of {program.path.name} does not run its `ti.init`, so its options have no effect"
        print(f"shadesmith: {message}", file=sys.stderr)
    _ensure_session(None)
    expression = options.args.strip().rstrip(",")
    name = "--args"
    linecache.cache[name] = (len(expression), None, [expression], name)
    try:
        values: tuple[Any, ...] = eval(
            compile(f"({expression},)" if expression else "()", name, "eval"), program.namespace
        )
    except Exception as error:
        raise CommandError(f"--args '{options.args}': {type(error).__name__}: {error}") from None
    return kernel.arguments.bind(values) if len(values) == len(kernel.definition.parameters) else values


# --- the session


@contextmanager
def _arch_of_program(arch: Arch | None) -> Iterator[None]:
    """Make `ti.init` of the program use an architecture, instead of its own."""
    before = os.environ.get(OVERRIDING_ARCH)
    if arch is not None:
        os.environ[OVERRIDING_ARCH] = arch.name
    try:
        yield
    finally:
        if arch is not None:
            os.environ.pop(OVERRIDING_ARCH)
            if before is not None:
                os.environ[OVERRIDING_ARCH] = before


@contextmanager
def _fallback_silenced(is_silent: bool) -> Iterator[None]:
    """Suppress warnings about a missing device if nothing is launched."""
    with warnings.catch_warnings():
        if is_silent:
            warnings.filterwarnings("ignore", "(?s).*falling back", ShadesmithWarning)
        yield


def _ensure_session(arch: Arch | None) -> None:
    """Start a session if the program did not. Raises: CommandError if it is not on the device of `--arch`."""
    if not sessions.is_initialized():
        init(arch or cpu, enable_fallback=arch is None, log_level="warn")
    if arch is not None and sessions.current().device.name != arch.target:
        raise CommandError(f"`--arch {arch.name}`: this device is not available", "`shadesmith diagnose` says why")


__all__ = ["Call", "Spec", "add_process_arguments", "add_program_arguments", "arch_of",
           "check_process_arguments", "find_call", "find_calls", "kernels_in", "parse_spec"]  # fmt: skip
