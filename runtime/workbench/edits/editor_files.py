"""Files by which editors understand edited sources: `compile_commands.json` for clangd, tasks and settings for VS Code.

In: a folder with edits. Out: files in it. clangd takes C as it is, and CUDA C as C++ after `templates/editors/cuda.h`,
which declares what CUDA C has without a header. A source declares its own interface, so its names are completed too;
GLSL needs nothing else, and servers of GLSL read it as it is.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ...store.atomic_files import write_text

COMMANDS = "compile_commands.json"
HEADERS = Path(__file__).resolve().parents[3] / "templates" / "editors"
CUDA_HEADER, MACROS = HEADERS / "cuda.h", HEADERS / "macros.h"
WARNINGS = ("-Wall", "-Wno-unused-function", "-Wno-unused-const-variable", "-Wno-unknown-pragmas", "-Wno-main",
            "-Wno-undefined-internal", "-Wno-undefined-inline", "-Wno-return-type-c-linkage")  # fmt: skip
ARGUMENTS = {
    ".c": (
        "clang",
        "-x",
        "c",
        "-std=gnu11",
        "-fwrapv",
        "-fno-strict-aliasing",
        "-fopenmp",
        "-include",
        str(MACROS),
        *WARNINGS,
    ),
    ".cu": (
        "clang++",
        "-x",
        "c++",
        "-std=c++17",
        "-nostdinc",
        "-include",
        str(CUDA_HEADER),
        "-include",
        str(MACROS),
        *WARNINGS,
    ),
}
"""By suffix of a source, the command with which clangd reads it."""
FILES = {"*.comp": "glsl", "*.cu": "cuda-cpp", "*.ssa": "plaintext"}
"""VS Code's language of each kind of source."""
TASKS = {
    "status": ["status"],
    "diff": ["diff", "${relativeFile}"],
    "check": ["status", "${input:program}"],
    "compare": ["compare", "${input:kernel}"],
    "bench": ["bench", "${input:kernel}"],
    "adopt (dry run)": ["adopt", "${input:kernel}", "--dry-run"],
    "report": ["report", "${input:program}"],
}
"""Tasks of VS Code: the commands that they run."""
INPUTS = {"program": ("a program", "main.py"), "kernel": ("a kernel: FILE:KERNEL", "main.py:step")}
PROBLEM = {
    "owner": "shadesmith",
    "fileLocation": ["autoDetect", "${workspaceFolder}"],
    "pattern": {
        "regexp": r"^(?:shadesmith: )?(?:\w+: )?(\S+?\.(?:comp|cu|c|py|ssa)):(\d+): (.*)$",
        "file": 1,
        "line": 2,
        "message": 3,
    },
}
"""How VS Code finds the line of a message."""


def write_compile_commands(folder: Path, sources: Iterable[Path]) -> tuple[Path, int]:
    """Write how clangd reads the sources below a folder; return the file and the number of its entries."""
    entries = [
        {"directory": str(folder), "file": str(path), "arguments": [*ARGUMENTS[path.suffix], str(path)]}
        for path in sources
        if path.suffix in ARGUMENTS
    ]
    path = folder / COMMANDS
    write_text(path, json.dumps(entries, indent=1) + "\n")
    return path, len(entries)


def write_vscode(folder: Path, edits: Path) -> list[Path]:
    """Write tasks and settings for VS Code into a project's folder; settings of the user stay. Raises: ValueError."""
    target = folder / ".vscode"
    written = []
    for name, changes in (("tasks.json", _tasks()), ("settings.json", _settings(folder, edits))):
        path = target / name
        before = _read(path)
        write_text(path, json.dumps(_merged(before, changes), indent=2) + "\n")
        written.append(path)
    return written


def _tasks() -> dict[str, Any]:
    tasks = [
        {"label": f"shadesmith: {name}", "type": "process", "command": sys.executable,
         "args": ["-m", "shadesmith", *words], "problemMatcher": PROBLEM, "presentation": {"clear": True}}
        for name, words in TASKS.items()
    ]  # fmt: skip
    inputs = [
        {"id": name, "type": "promptString", "description": words, "default": default}
        for name, (words, default) in INPUTS.items()
    ]
    return {"version": "2.0.0", "tasks": tasks, "inputs": inputs}


def _settings(folder: Path, edits: Path) -> dict[str, Any]:
    below = edits.relative_to(folder).as_posix() if edits.is_relative_to(folder) else str(edits)
    commands = f"${{workspaceFolder}}/{below}" if edits.is_relative_to(folder) else below
    return {"files.associations": FILES, "clangd.arguments": [f"--compile-commands-dir={commands}"]}


def _read(path: Path) -> dict[str, Any]:
    """Return the object in a file, {} if there is none. Raises: ValueError if it has comments, or is no object."""
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is left as it is, since it is no plain JSON: {error}") from None
    if not isinstance(found, dict):
        raise ValueError(f"{path} is left as it is, since it has no JSON object")
    return found


def _merged(before: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return an object with changes: entries of lists replace those of the same label or id, others stay."""
    result = dict(before)
    for name, value in changes.items():
        old = before.get(name)
        if isinstance(value, dict) and isinstance(old, dict):
            result[name] = {**old, **value}
        elif isinstance(value, list) and isinstance(old, list) and value and isinstance(value[0], dict):
            labels = {entry.get("label", entry.get("id")) for entry in value}
            others = [entry for entry in old if not isinstance(entry, dict) or _name(entry) not in labels]
            result[name] = [*others, *value]
        elif name == "clangd.arguments" and isinstance(old, list):
            result[name] = [*(word for word in old if "--compile-commands-dir" not in str(word)), *value]
        else:
            result[name] = value
    return result


def _name(entry: dict[str, Any]) -> Any:
    return entry.get("label", entry.get("id"))
