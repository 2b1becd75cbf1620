"""`shadesmith build`: compiles a file's kernels for targets without their devices, into an archive or a folder."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...transpiler.errors import TaichiCompilationError, TaichiRuntimeError
from ...transpiler.lang.annotations import is_template
from ..aot.export import EXPORTED
from ..aot.module import SUFFIX, Module
from ..aot.targets import find_target, takes_capabilities, target_names
from ..aot.translations import LANGUAGES
from ..launch.kernel import Kernel
from .programs import Call, find_calls, kernels_in, parse_spec
from .running import file_of
from .screen import CommandError, Screen


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument(
        "program",
        metavar="FILE[:KERNEL]",
        help="a Python file; without a kernel all that are `ti.aot.export`ed, or all",
    )
    parser.add_argument(
        "--target",
        action="append",
        metavar="TARGET",
        help=f"{', '.join(target_names())}; may be given several times; without it that of the program's `ti.init`",
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="PATH", help=f"FILE{SUFFIX}, or a folder; without it FILE{SUFFIX} here"
    )
    parser.add_argument("--caps", metavar="CAPS", help="`portable`, or ti.DeviceCapability's names with commas between")
    parser.add_argument("--also", action="append", choices=list(LANGUAGES), default=[], help="translate shaders too")
    parser.add_argument("--args", metavar="EXPR", help="arguments of the kernel, in the names of the file: '8, x'")
    parser.add_argument("--call", type=int, metavar="N", help="take the arguments of the kernel's launch number N")


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Write a module for each target and print its content."""
    options.arch = None
    spec = parse_spec(options.program)
    calls = find_calls(options)
    targets = options.target or [None]
    written = []
    for target in targets:
        module, problems = _module(target, options, spec.path, calls, spec.kernel is not None)
        path = _path(options.output or Path(f"{spec.path.stem}{SUFFIX}"), target, len(targets) > 1)
        write = module.archive if path.name.endswith(SUFFIX) else module.save
        write(path, also=options.also)
        names = sorted(module.kernels)
        written.append({"path": str(path), "target": module.target.name, "kernels": names, "problems": problems})
        screen.show(f"{path}: {module.target.name}, {', '.join(names)}")
        for name, reason in problems.items():
            screen.note(f"not built: {name}: {reason}")
    screen.show_data({"modules": written})
    return 0


def _module(
    target: str | None, options: argparse.Namespace, path: Path, calls: list[Call], is_one: bool
) -> tuple[Module, dict[str, str]]:
    """Return the module for a target, and why kernels are missing. Raises: CommandError if there are none."""
    module = Module(target, _caps(target, options, calls))
    problems: dict[str, str] = {}
    for name, kernel, arguments in _wanted(path, calls, is_one):
        try:
            module.add_call(kernel, arguments, name)
        except (TaichiCompilationError, TaichiRuntimeError) as error:
            if is_one:
                raise
            problems[name] = str(error).strip()
    if not module.kernels:
        reasons = "\n".join(f"{name}: {reason}" for name, reason in problems.items())
        names = ", ".join(kernels_in(path)) or "none"
        hint = "" if reasons else f"name one, with arguments: {path.name}:KERNEL --args 'EXPR, EXPR' (kernels: {names})"
        raise CommandError(f"No kernel of {path.name} can be built\n{reasons}".strip(), hint)
    return module, problems


def _caps(target: str | None, options: argparse.Namespace, calls: list[Call]) -> Any:
    """Return the capabilities that the command line names, else the program's `REQUIRED_CAPS` for Vulkan, else None."""
    if options.caps is not None:
        return options.caps if options.caps == "portable" else options.caps.split(",")
    required = next((call.namespace["REQUIRED_CAPS"] for call in calls if "REQUIRED_CAPS" in call.namespace), None)
    return required if required and takes_capabilities(find_target(target)) else None


def _wanted(path: Path, calls: list[Call], is_one: bool) -> list[tuple[str, Kernel, tuple[Any, ...]]]:
    """Return the kernels to build under their names, with arguments: those exported, if there are some, else all."""
    own = {kernel: names for kernel, names in EXPORTED.items() if file_of(kernel) == str(path)}
    known = {call.kernel.definition.name: call for call in calls}
    found: dict[str, tuple[str, Kernel, tuple[Any, ...]]] = {}
    if own and not is_one:
        for kernel, names in own.items():  # the last run of the program wins
            for name, values in names.items():
                found[name] = name, kernel, _exported_arguments(kernel, values, known.get(kernel.definition.name))
        return list(found.values())
    for call in calls:
        name = call.kernel.definition.qualname.rpartition("<locals>.")[2]
        missing = call.kernel.definition.parameters[len(call.arguments) :]  # of these only the type matters
        found[name] = name, call.kernel, (*call.arguments, *(parameter.annotation for parameter in missing))
    return list(found.values())


def _exported_arguments(kernel: Kernel, values: Mapping[str, Any], call: Call | None) -> tuple[Any, ...]:
    """Return the arguments for an exported kernel: values of the export, else of a launch, else types.

    Raises: CommandError for a template parameter without a value.
    """
    launched = dict(zip((p.name for p in kernel.definition.parameters), call.arguments if call else ()))
    found = []
    for parameter in kernel.definition.parameters:
        name = parameter.name
        if name in values or name in launched:
            found.append(values[name] if name in values else launched[name])
        elif is_template(parameter.annotation):
            raise CommandError(
                f"`{name}` of exported kernel `{kernel.definition.name}` is a template without a value",
                f"`@ti.aot.export_as('name', template_types={{'{name}': ...}})`",
            )
        else:
            found.append(parameter.annotation)
    return tuple(found)


def _path(path: Path, target: str | None, is_one_of_many: bool) -> Path:
    """Return the path of the module of a target; with several targets each has its own."""
    if not is_one_of_many or target is None:
        return path
    name = target.replace(":", "_")
    return path.with_name(f"{path.name.removesuffix(SUFFIX)}.{name}{SUFFIX}") if path.suffix == SUFFIX else path / name
