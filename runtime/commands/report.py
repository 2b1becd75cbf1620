"""`shadesmith report`: all about a file's kernels as one HTML page that needs no network."""

from __future__ import annotations

import argparse
from pathlib import Path

from ...transpiler.errors import TaichiCompilationError, TaichiRuntimeError
from ..workbench.report import KernelReport, Page, render
from ..workbench.report_content import describe_kernel, targets_in_words
from .programs import Call, add_program_arguments, arch_of, find_calls, kernels_in, parse_spec
from .screen import CommandError, Screen

LEFT_OUT = (
    "Its arguments do not follow from its annotations, and the program does not launch it.\n"
    "Hint: shadesmith report {file}:{kernel} --args 'EXPR, EXPR'"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what this command takes."""
    add_program_arguments(parser, needs_kernel=False)
    parser.add_argument("--gpu", metavar="SM", help="what PTX and SASS are made for: sm_90, sm_120, ...")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="PAGE", help="where to write the page; else FILE.html here"
    )


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Write the page and say where it is."""
    spec, arch = parse_spec(options.program), arch_of(options)
    calls = find_calls(options)
    kernels: list[KernelReport] = []
    problems: list[tuple[str, str]] = []
    with screen.progress("kernels", total=len(calls)) as step:
        for call in calls:
            name = _name(call)
            try:
                kernels.append(describe_kernel(call.kernel, call.arguments, name, arch, options.gpu))
            except (TaichiCompilationError, TaichiRuntimeError) as error:
                if spec.kernel is not None:
                    raise
                problems.append((name, str(error).strip()))
            step(name)
    if spec.kernel is None:
        described = {_name(call) for call in calls}
        left_out = [name for name in kernels_in(spec.path) if name not in described]
        problems += [(name, LEFT_OUT.format(file=spec.path.name, kernel=name)) for name in left_out]
    if not kernels:
        raise CommandError("No kernel can be shown\n" + "\n".join(f"{name}: {reason}" for name, reason in problems))
    page = Page(spec.path.name, targets_in_words(kernels), tuple(kernels), tuple(problems))
    return _write(page, options.output or Path(f"{spec.path.stem}.html"), screen)


def _name(call: Call) -> str:
    name: str = call.kernel.definition.function.__qualname__
    return name.rpartition("<locals>.")[2]


def _write(page: Page, output: Path, screen: Screen) -> int:
    data = render(page).encode()
    if output.is_dir():
        raise CommandError(f"{output} is a folder", "name a file: -o page.html")
    output.write_bytes(data)
    names = [kernel.name for kernel in page.kernels]
    problems = dict(page.problems)
    screen.show_data({"page": str(output), "bytes": len(data), "kernels": names, "problems": problems})
    screen.show(f"{output}: {', '.join(names)} ({len(data) / 1e3:.0f} kB)")
    for name, reason in page.problems:
        screen.note(f"not shown: {name}: {reason}")
    return 0
