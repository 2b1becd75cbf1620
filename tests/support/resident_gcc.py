"""A gcc whose compiler proper, cc1, stays in memory during a test run: a small kernel takes 30 ms instead of 55.

`resident/gcc_server.c` says how cc1 is made to stay; there is one for each set of options that kernels are compiled with.
What it stays for is all that cc1 does before it reads a source, and code is the same, byte for byte. Other commands, and
sources that are refused, go to the installed gcc. SHADESMITH_PLAIN_TOOLS=1 leaves all of them to it.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import resident

from shadesmith.runtime.devices.host import compiler

NAME = "gcc"
TABLE = "SHADESMITH_TESTS_GCC"
OUTPUT, OBJECT = "{output}", "{object}"
"""Words of the table that stand for files, as `resident/gcc_client.c` knows them."""

SETS = ((True, True, ()), (False, True, ()), (True, True, compiler.SUMS_OF_GCC))
"""fast_math, OpenMP and further flags of nearly all kernels of the tests."""


def with_low_effort(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return arguments of a command with less optimization: see `hasty.lower_effort_of_gcc`."""
    return tuple("-O1" if argument == "-O3" else argument for argument in arguments)


def start(cache: Path, run: Path) -> resident.Stop | None:
    """Start the compilers and put their client first on the PATH; return what stops them, None where gcc stays as it is.

    cache: a folder that outlives the run, where the programs are built once. run: a folder of this run.
    """
    tool = shutil.which(NAME)
    if sys.platform != "linux" or tool is None or resident.are_plain() or TABLE in os.environ:
        return None
    if "CC" in os.environ or len(str(run)) > resident.MOST_CHARACTERS - 8:
        return None
    try:
        folder = resident.programs("gcc", Path(tool), NAME, cache)
        lines, stop = _start_all(tool, folder, run)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    table = run / "gcc.table"
    table.write_text("".join(lines))
    os.environ[TABLE] = str(table)
    resident.put_first_on_the_path(folder)
    return stop


def _start_all(tool: str, folder: Path, run: Path) -> tuple[list[str], resident.Stop]:
    """Start a compiler for each set of options; return the lines of the table, and what stops them."""
    source = run / "kernel.c"
    warm_up = run / "warm_up.c"
    warm_up.write_text(f'#include "{source}"\n')
    stopped, stop_fd = os.pipe()
    variables = {"RESIDENT_SOURCE": str(source), "RESIDENT_STOP": str(stopped)}
    all_started = []
    usual = [compiler_arguments(*options) for options in SETS]
    for number, arguments in enumerate((*usual, *(list(with_low_effort(one)) for one in usual[:2]))):
        proper, assembler, linker = _commands(tool, arguments)
        socket = run / f"gcc{number}"
        with warm_up.open("rb") as text:
            process = resident.started(proper, folder, socket, text.fileno(), variables, [stopped])
        table: list[str] = []
        for left_out in ((), (compiler.MATH_LIBRARY,)):  # cc1 does not see libraries
            words = [[word for word in line if word not in left_out] for line in (arguments, assembler, linker)]
            table += map(_line, (words[0], [str(socket)], *words[1:]))
        all_started.append((process, socket, "".join(table)))
    os.close(stopped)
    lines = [line for process, socket, line in all_started if resident.wait(process, socket)]

    def stop() -> None:
        os.close(stop_fd)
        for process, _, _ in all_started:
            process.wait(resident.SECONDS)

    return lines, stop


def _line(arguments: list[str]) -> str:
    assert not any("\t" in argument or "\n" in argument for argument in arguments)
    return "".join(f"{argument}\t" for argument in arguments)[: None if len(arguments) > 1 else -1] + "\n"


def compiler_arguments(fast_math: bool, openmp: bool, more: tuple[str, ...]) -> list[str]:
    """Return the arguments of a command that compiles a kernel, without definitions and output."""
    host = compiler.HostCompiler((NAME,), True)
    return [*host._flags(fast_math, openmp, compiler.NATIVE), *more, "-x", "c", "-", *host._libraries(openmp)]


def _commands(tool: str, arguments: list[str]) -> tuple[list[str], list[str], list[str]]:
    """Return the commands that gcc starts: of cc1, the assembler and the linker. Raises: ValueError if they are others."""
    command = [tool, *arguments, "-o", OUTPUT, "-###"]
    environment = {**os.environ, "LC_ALL": "C"}
    log = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment,
        check=True,
        text=True,
        timeout=resident.SECONDS,
    ).stderr
    proper, assembler, linker = (
        [word for word in shlex.split(line) if word != "|"] for line in log.splitlines() if line.startswith(" ")
    )
    made = assembler[assembler.index("-o") + 1]
    programs = []
    for name, words in (("as", assembler), ("ld", linker)):
        path = subprocess.run(
            [tool, f"-print-prog-name={name}"], capture_output=True, check=True, text=True
        ).stdout.strip()
        found = shutil.which(path)
        if found is None:
            raise ValueError(path)
        programs.append([found, *(OBJECT if word == made else word for word in words[1:])])
    return proper, programs[0], programs[1]
