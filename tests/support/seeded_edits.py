"""Golden kernels with something changed by hand, and what the check says to it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from golden_kernels import compiled

from shadesmith.runtime.devices.capabilities import portable
from shadesmith.runtime.workbench.check.check_edit import check_edit
from shadesmith.runtime.workbench.check.edit_error import EditError
from shadesmith.runtime.workbench.edits.edited_module import edited_module
from shadesmith.transpiler.options import Capabilities


@dataclass(frozen=True)
class Seed:
    """One mistake. changes: pairs (regular expression, replacement), each done once. at: what the blamed line holds.

    says: a regular expression that the message matches. file: of the module.
    """

    name: str
    kernel: str
    changes: tuple[tuple[str, str], ...]
    at: str
    says: str
    file: int = 0


def changed(text: str, changes: tuple[tuple[str, str], ...]) -> str:
    for pattern, replacement in changes:
        text, count = re.subn(pattern, replacement, text, count=1, flags=re.MULTILINE | re.DOTALL)
        assert count == 1, f"`{pattern}` is not in the text"
    return text


def diagnostics_of(target: str, texts: dict[int, str], kernel: str, capabilities: Capabilities | None = None) -> str:
    """Return what the check says to other texts of a golden kernel, "" where it lets them pass."""
    module = compiled(kernel, target)
    names = {module.files[number].name: text for number, text in texts.items()}
    paths = {name: Path("edits", name) for name in names}
    try:
        check_edit(module, edited_module(module, names), capabilities or portable(target), paths)
    except EditError as error:
        return str(error)
    return ""


def expect_refusal(target: str, seed: Seed, capabilities: Capabilities | None = None) -> str:
    """Assert that a seeded mistake is refused at its line with its own message; return the message."""
    file = compiled(seed.kernel, target).files[seed.file]
    text = changed(file.text, seed.changes)
    message = diagnostics_of(target, {seed.file: text}, seed.kernel, capabilities)
    assert message, "the edit was let pass"
    first = message.split("\n")
    head = re.match(rf"edits/{re.escape(file.name)}:(\d+): (.*)", first[0])
    assert head is not None, message
    line = text.split("\n")[int(head[1]) - 1]
    assert seed.at in line, f"blamed is `{line}`\n{message}"
    assert re.search(seed.says, head[2]), message
    assert (
        len(first) > 2
        and first[1].endswith(f"| {line.rstrip().expandtabs(1)}")
        and re.fullmatch(r" +\| +\^+", first[2])
    ), message
    caret = first[2].index("^") - first[1].index("| ") - 2
    assert caret < len(line.rstrip()), message
    return message
