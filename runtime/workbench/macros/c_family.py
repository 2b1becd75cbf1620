"""Macros of edited sources as statements in C and CUDA C; `templates/macros` has the functions that they call."""

from __future__ import annotations

import re
from pathlib import Path

from .macro_tools import Statement
from .uses import ASSERT, PRINT

TEMPLATES = Path(__file__).resolve().parents[3] / "templates" / "macros"

TYPES = {
    "_Bool": 1, "bool": 1, "char": 2, "int8_t": 2, "uint8_t": 3, "int16_t": 4, "uint16_t": 5, "int": 6, "int32_t": 6,
    "uint32_t": 7, "unsigned": 7, "int64_t": 8, "uint64_t": 9, "_Float16": 10, "float": 11, "double": 12,
}  # fmt: skip
"""Numbers of types, as in `launch/macro_records.py`."""

_STRUCT = re.compile(r"\btypedef\s+struct\s*\w*\s*\{\s*([A-Za-z_]\w*)\s+([^;{}]+);\s*\}\s*(\w+)\s*;")
_ROWS = re.compile(r"\w+\s*\[\s*(\d+)\s*\]\s*\[\s*\d+\s*\]")


def place(code: str) -> int:
    """Return where the header goes: to the start, since it includes nothing."""
    return 0


def c_header(source: str, address: int) -> str:
    """Return the functions that statements in C call."""
    structs = []
    for type, members, name in _STRUCT.findall(source):
        rows = _ROWS.fullmatch(members.strip())
        if type in TYPES:
            structs.append(f"{name}: {TYPES[type]}u{f' | {rows[1]}u << 8' if rows else ''},")
    text = (TEMPLATES / "macros.h").read_text(encoding="utf-8")
    return text.replace("@ADDRESS@", hex(address)).replace("@STRUCTS@", " ".join(structs))


def cuda_header(source: str, address: int) -> str:
    """Return the functions that statements in CUDA C call."""
    return (TEMPLATES / "macros.cuh").read_text(encoding="utf-8").replace("@ADDRESS@", hex(address))


def c_statement(use: Statement) -> str:
    """Return the code of a macro in C."""
    indices = [name for name in use.before if name.isidentifier() and not name.startswith("__")]
    thread = f"(unsigned)({indices[0]})" if indices else "0u"
    return _statement(
        use, thread, "SM_PUT({})", "__typeof__(({0}))", "sm_is_nan((const void *)&{0}, SM_TYPE({0}), sizeof {0})"
    )


def cuda_statement(use: Statement) -> str:
    """Return the code of a macro in CUDA C."""
    thread = "blockIdx.x * blockDim.x + threadIdx.x"
    return _statement(use, thread, "sm_put(sm_at, {})", "const auto", "sm_has_nan({0})")


def _statement(use: Statement, thread: str, put: str, type: str, is_nan: str) -> str:
    if use.name in (PRINT, ASSERT):
        start = _start(use, thread, use.all_values)
        body = " ".join((start, *(f"{put.format(value)};" for value in use.all_values)))
        return (
            f"do {{ {body} }} while (0)"
            if use.name == PRINT
            else f"do {{ if (!({use.condition})) {{ {body} }} }} while (0)"
        )
    names = [f"sm_{number}" for number in range(len(use.values))]
    declared = " ".join(f"{type.format(value)} {name} = {value};" for name, value in zip(names, use.values))
    test = " || ".join(is_nan.format(name) for name in names)
    recorded = [*use.before, *names]
    body = " ".join((_start(use, thread, recorded), *(f"{put.format(value)};" for value in recorded)))
    return f"do {{ {declared} if ({test}) {{ {body} }} }} while (0)"


def _start(use: Statement, thread: str, values: list[str]) -> str:
    size = " + ".join(f"SM_SIZE({value})" for value in values) or "0u"
    function = "sm_start(0u, " if use.name == PRINT else "sm_fail("
    return f"unsigned *sm_at = {function}{use.site}u, {thread}, {size}); (void)sm_at;"
