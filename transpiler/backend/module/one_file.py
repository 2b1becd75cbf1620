"""A kernel of several tasks in one file, though a compiler takes one entry point at a time: `one_file=True`.

    #if TASK == 1              the compiler gets the file once for each task, in which the lines of the others are
    void task_1(int i) {       blank: `task_sources`. So all that runs, checks and lists sources has one task for each
    ...                        file, and lines keep their numbers.
    #endif  // TASK

In: a module. Out: the same with a file for each task.
"""

from __future__ import annotations

import re
from dataclasses import replace

from .interface import BackendModule

_SECTION = re.compile(r"^[ \t]*#[ \t]*if[ \t]+TASK[ \t]*==[ \t]*(\d+)[ \t]*(?://.*)?$", re.MULTILINE)
_CONDITION = re.compile(r"^[ \t]*#[ \t]*(if|endif)")
DEFAULT = "#define TASK 0"


def is_one_file(module: BackendModule) -> bool:
    """Return whether several tasks of a module share a file of which a compiler takes one at a time."""
    return len(module.tasks) > 1 == len(module.files) and _SECTION.search(module.files[0].text) is not None


def task_sources(module: BackendModule, numbered: bool = False) -> BackendModule:
    """Return a module in which each task has a file of its own; the module itself if that is so.

    numbered: the names of the files have the numbers of tasks; else each has the name of the one file.
    """
    if not is_one_file(module):
        return module
    (file,) = module.files
    stem, _, suffix = file.name.rpartition(".")
    files = tuple(
        replace(file, name=f"{stem}_{number}.{suffix}" if numbered else file.name, text=text_of(file.text, number))
        for number in range(len(module.tasks))
    )
    tasks = tuple(replace(task, file=number) for number, task in enumerate(module.tasks))
    return replace(module, files=files, tasks=tasks)


def text_of(text: str, number: int) -> str:
    """Return a source in which the sections of other tasks, and the directives around them, are blank lines."""
    lines: list[str] = []
    depth, section = 0, -1
    for line in text.split("\n"):
        found = _SECTION.match(line) if section < 0 else None
        if found is not None:
            section, depth = int(found[1]), 0
            line = ""
        elif section >= 0:
            condition = _CONDITION.match(line)
            if condition is not None and condition[1] == "endif" and depth == 0:
                line, section = "", -1
            else:
                depth += 0 if condition is None else 1 if condition[1] == "if" else -1
                line = line if section == number else ""
        elif line.startswith(DEFAULT):
            line = f"#define TASK {number}"
        lines.append(line)
    return "\n".join(lines)
