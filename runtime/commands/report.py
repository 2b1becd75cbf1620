"""`shadesmith report`: all about a file's kernels as one HTML page that needs no network."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ...transpiler.errors import TaichiCompilationError, TaichiRuntimeError
from ..launch.derivatives import has_gradients
from ..workbench.inspect.report import KernelReport, Page, render
from ..workbench.inspect.report_content import describe_kernel, targets_in_words
from .inspect import gpu_of
from .programs import Call, add_program_arguments, arch_of, find_call, find_calls, kernels_in, parse_spec
from .screen import CommandError, Screen

LEFT_OUT = (
    "Its arguments do not follow from its annotations, and the program does not launch it.\n"
    "Hint: shadesmith report {file}:{kernel} --args 'EXPR, EXPR'"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    add_program_arguments(parser, needs_kernel=False)
    parser.add_argument("--gpu", metavar="SM", help="the GPU of PTX and SASS: sm_90, sm_120, ...")
    parser.add_argument("--bench", action="store_true", help="time kernels and edits, on the device of --arch")
    parser.add_argument("-o", "--output", type=Path, metavar="PAGE", help="the page to write; else FILE.html here")


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Write the page and print where it is."""
    path, arch = parse_spec(options.program).path, arch_of(options)
    is_one = parse_spec(options.program).kernel is not None
    gpu = gpu_of(options.gpu) if options.gpu is not None else None
    names = kernels_in(path)
    kernels: list[KernelReport] = []
    problems: dict[str, str] = {}
    with screen.progress("kernels", total=1 if is_one else len(names)) as step:
        for call in _with_gradients(_calls(options, names, problems)):
            step(call.kernel_name)
            try:
                kernels.append(describe_kernel(call.kernel, call.arguments, call.kernel_name, arch, gpu, options.bench))
            except (TaichiCompilationError, TaichiRuntimeError) as error:
                if is_one:
                    raise
                problems[call.kernel_name] = str(error).strip()
    shown = {kernel.name for kernel in kernels}
    for name in names if not is_one else ():
        if name not in shown:
            problems.setdefault(name, LEFT_OUT.format(file=path.name, kernel=name))
    if not kernels:
        raise CommandError("No kernel can be shown\n" + "\n".join(f"{name}: {problems[name]}" for name in problems))
    page = Page(path.name, targets_in_words(kernels), tuple(kernels), tuple(problems.items()))
    return _write(page, options.output or Path(f"{path.stem}.html"), screen)


def _calls(options: argparse.Namespace, names: Sequence[str], problems: dict[str, str]) -> Iterator[Call]:
    """Yield the kernels with arguments. With `--bench`, the program runs once for each kernel."""
    spec = parse_spec(options.program)
    if not options.bench:
        yield from find_calls(options)
    elif spec.kernel is not None:
        yield find_call(options, launches=True)
    else:
        for name in names:
            one = argparse.Namespace(**{**vars(options), "program": f"{spec.path}:{name}"})
            try:
                yield find_call(one, launches=True)
            except CommandError as error:
                problems[name] = str(error)


def _with_gradients(calls: Iterable[Call]) -> Iterator[Call]:
    """Yield each kernel, and after it its gradient, if an array that it uses has one."""
    for call in calls:
        yield call
        with suppress(TaichiCompilationError, TaichiRuntimeError):
            if _may_have_gradients(call) and has_gradients(call.kernel.grad, call.arguments):
                yield replace(call, kernel=call.kernel.grad)


def _may_have_gradients(call: Call) -> bool:
    """Return whether a gradient of the call makes sense: of an ndarray with one, or of fields alone."""
    if call.kernel.definition.derivative:
        return False
    if any(getattr(argument, "grad", None) is not None for argument in call.arguments):
        return True
    return not call.kernel.definition.parameters


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
