"""Read the properties of the kernels in a cubin: parameters, registers, shared and local memory, block limits.

In: the bytes from NVRTC (an ELF file), or the log of ptxas. Out: plain data. A damaged file raises `CubinError`, never
another exception: every offset is checked before use.
Source: ELF-64 object file format; the sections `.nv.info`, `.text`, `.nv.shared` and their attributes as `cuobjdump
--dump-elf` of CUDA 12 and 13 shows them (NVIDIA documents none of it, so tests compare with ptxas).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

ELF_MAGIC = b"\x7fELF"
CLASS_64, LITTLE_ENDIAN = 2, 1
MACHINE_CUDA = 190
HEADER_BYTES, SECTION_BYTES, SYMBOL_BYTES = 64, 64, 24
SECTION_SYMBOLS, SECTION_NO_BITS = 2, 8
ABI_WITH_ARCH_IN_SECOND_BYTE = 8
"""ABI version of files by CUDA 13, whose flags have the architecture in their second byte; before, in the first."""

RESERVED_SHARED_BYTES = 1024
ARCH_WITH_RESERVED_SHARED = 90
"""From this architecture on, the section of a kernel's shared memory starts with a part that CUDA reserves."""

MAX_SECTIONS = 1 << 16

VALUE_IN_PLACE = (1, 2, 3)
"""Attribute formats with a value of two bytes after the code; format 4 has a length there, and then the value."""
VALUE_BEHIND = 4

MAX_THREADS = 0x05
REQUIRED_THREADS = 0x10
FRAME_SIZE = 0x11
PARAMETER = 0x17
PARAMETER_BYTES = 0x19
REGISTERS = 0x2F

GLOBAL_FUNCTION = 0x12
"""Symbol information: a global function."""
ENTRY_MARK = 0x10
"""In the byte `st_other` of a symbol: the function is a kernel."""

_FUNCTION = re.compile(r"(?:Compiling entry function|Function properties for) '?([\w$.]+)'?")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers(.*)")
_SHARED = re.compile(r"(\d+)(?:\+\d+)? bytes smem")


class CubinError(ValueError):
    """The bytes are no complete cubin."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a kernel, in the block of its parameters."""

    number: int
    offset_bytes: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class CubinKernel:
    """One kernel as compiled.

    registers: per thread.
    shared_bytes: per block, as declared in the source.
    frame_bytes: of a thread's stack in local memory, including spilled registers.
    code_bytes: of its machine code.
    max_threads: per block (`__launch_bounds__`), None if there is no limit.
    required_threads: `__block_size__`, None if it is not set.
    """

    name: str
    registers: int = 0
    shared_bytes: int = 0
    frame_bytes: int = 0
    code_bytes: int = 0
    parameters: tuple[Parameter, ...] = ()
    parameter_bytes: int = 0
    max_threads: tuple[int, int, int] | None = None
    required_threads: tuple[int, int, int] | None = None


@dataclass(frozen=True, slots=True)
class Cubin:
    """arch: NVRTC's name, "sm_90". kernels: by name, those that can be launched. functions: all global ones."""

    arch: str
    kernels: dict[str, CubinKernel] = field(default_factory=dict)
    functions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Output of ptxas for one kernel (`--ptxas-options=-v`), the only source for spills."""

    registers: int = 0
    frame_bytes: int = 0
    spill_store_bytes: int = 0
    spill_load_bytes: int = 0
    shared_bytes: int = 0


@dataclass(frozen=True, slots=True)
class _Section:
    name: str
    kind: int
    offset: int
    size_bytes: int
    link: int
    info: int


@dataclass(frozen=True, slots=True)
class _Symbol:
    name: str
    info: int
    other: int
    section: int
    size_bytes: int


def read_cubin(data: bytes) -> Cubin:
    """Return the kernels of a file. Raises: CubinError if it is damaged or no cubin."""
    machine, abi, flags = _header(data)
    if machine != MACHINE_CUDA:
        raise CubinError(f"an ELF file for machine {machine}, not for NVIDIA's GPUs ({MACHINE_CUDA})")
    arch = flags >> 8 & 0xFF if abi >= ABI_WITH_ARCH_IN_SECOND_BYTE else flags & 0xFF
    reserved = RESERVED_SHARED_BYTES if arch >= ARCH_WITH_RESERVED_SHARED else 0
    sections = _sections(data)
    symbols = _symbols(data, sections)
    functions = [symbol for symbol in symbols if symbol.info == GLOBAL_FUNCTION and symbol.name]
    kernels = {s.name: _describe(data, s, sections, symbols, reserved) for s in functions if s.other & ENTRY_MARK}
    return Cubin(f"sm_{arch}", kernels, tuple(symbol.name for symbol in functions))


def global_functions(data: bytes) -> frozenset[str]:
    """Return the names of the functions that an ELF object of any machine exports.

    Raises: CubinError if the file is damaged or no 64-bit ELF file.
    """
    _header(data)
    symbols = _symbols(data, _sections(data))
    return frozenset(s.name for s in symbols if s.info & 0xF == 2 and s.info >> 4 in (1, 2) and s.section)


def undefined_names(data: bytes) -> frozenset[str]:
    """Return the undefined names of an ELF object. Raises: CubinError as `global_functions` does."""
    _header(data)
    return frozenset(s.name for s in _symbols(data, _sections(data)) if s.name and s.section == 0)


def machine_code(data: bytes) -> dict[str, bytes]:
    """Return the instructions of each function, by name. Raises: CubinError if the file is damaged or no cubin."""
    _header(data)
    return {
        section.name.removeprefix(".text."): _content(data, section)
        for section in _sections(data)
        if section.name.startswith(".text.")
    }


def read_usage(log: str) -> dict[str, Usage]:
    """Return the output of ptxas for each kernel and function, by name; {} if there is none."""
    found: dict[str, Usage] = {}
    name = ""
    for line in log.splitlines():
        if match := _FUNCTION.search(line):
            name = match[1]
            found.setdefault(name, Usage())
        elif name and (match := _FRAME.search(line)):
            frame, stores, loads = map(int, match.groups())
            found[name] = replace(found[name], frame_bytes=frame, spill_store_bytes=stores, spill_load_bytes=loads)
        elif name and (match := _USED.search(line)):
            shared = _SHARED.search(match[2])
            found[name] = replace(found[name], registers=int(match[1]), shared_bytes=int(shared[1]) if shared else 0)
    return found


def _header(data: bytes) -> tuple[int, int, int]:
    """Return machine, ABI version and flags."""
    if len(data) < HEADER_BYTES or data[:4] != ELF_MAGIC:
        raise CubinError("no ELF file")
    if data[4] != CLASS_64 or data[5] != LITTLE_ENDIAN:
        raise CubinError("an ELF file of another kind than 64 bit, little endian")
    return _number(data, 18, 2), data[8], _number(data, 48, 4)


def _sections(data: bytes) -> list[_Section]:
    offset, count, names = _number(data, 40, 8), _number(data, 60, 2), _number(data, 62, 2)
    if count > MAX_SECTIONS or offset + count * SECTION_BYTES > len(data):
        raise CubinError("the table of sections is outside the file")
    if names >= count:
        raise CubinError("no section with the names of sections")
    rows = [struct.unpack_from("<IIQQQQIIQQ", data, offset + k * SECTION_BYTES) for k in range(count)]
    for row in rows:
        if row[1] != SECTION_NO_BITS and row[4] + row[5] > len(data):
            raise CubinError("a section is outside the file")
    table = data[rows[names][4] : rows[names][4] + rows[names][5]]
    return [_Section(_text(table, row[0]), row[1], row[4], row[5], row[6], row[7]) for row in rows]


def _symbols(data: bytes, sections: list[_Section]) -> list[_Symbol]:
    for section in sections:
        if section.kind != SECTION_SYMBOLS:
            continue
        if section.link >= len(sections):
            raise CubinError("no section with the names of symbols")
        names = _content(data, sections[section.link])
        content = _content(data, section)
        count = len(content) // SYMBOL_BYTES
        rows = [struct.unpack_from("<IBBHQQ", content, k * SYMBOL_BYTES) for k in range(count)]
        return [_Symbol(_text(names, row[0]), row[1], row[2], row[3], row[5]) for row in rows]
    return []


def _describe(
    data: bytes, symbol: _Symbol, sections: list[_Section], symbols: list[_Symbol], reserved: int
) -> CubinKernel:
    name = symbol.name
    parts = {section.name: section for section in sections}
    kernel = CubinKernel(name, code_bytes=symbol.size_bytes)
    if (shared := parts.get(f".nv.shared.{name}")) is not None:
        kernel = replace(kernel, shared_bytes=max(0, shared.size_bytes - reserved))
    if (common := parts.get(".nv.info")) is not None:
        kernel = _with_common(kernel, _content(data, common), symbols)
    if (own := parts.get(f".nv.info.{name}")) is not None:
        kernel = _with_own(kernel, _content(data, own))
    return kernel


def _with_common(kernel: CubinKernel, content: bytes, symbols: list[_Symbol]) -> CubinKernel:
    """Add the attributes in the section of all functions, each by the number of its symbol."""
    for code, value in _attributes(content):
        if code not in (REGISTERS, FRAME_SIZE):
            continue
        number, amount = _number(value, 0, 4), _number(value, 4, 4)
        if number >= len(symbols):
            raise CubinError("an attribute refers to a missing function")
        if symbols[number].name == kernel.name:
            kernel = replace(kernel, registers=amount) if code == REGISTERS else replace(kernel, frame_bytes=amount)
    return kernel


def _with_own(kernel: CubinKernel, content: bytes) -> CubinKernel:
    parameters: list[Parameter] = []
    for code, value in _attributes(content):
        if code == PARAMETER:
            number, offset, packed = _number(value, 4, 2), _number(value, 6, 2), _number(value, 8, 4)
            parameters.append(Parameter(number, offset, packed >> 18))
        elif code == PARAMETER_BYTES:
            kernel = replace(kernel, parameter_bytes=_number(value, 0, 2))
        elif code == MAX_THREADS:
            kernel = replace(kernel, max_threads=_three(value))
        elif code == REQUIRED_THREADS:
            kernel = replace(kernel, required_threads=_three(value))
    return replace(kernel, parameters=tuple(sorted(parameters, key=lambda parameter: parameter.number)))


def _attributes(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield code and value of each attribute."""
    position = 0
    while position + 4 <= len(content):
        form, code = content[position], content[position + 1]
        value = content[position + 2 : position + 4]
        position += 4
        if form == VALUE_BEHIND:
            size = _number(value, 0, 2)
            if position + size > len(content):
                raise CubinError("an attribute ends outside its section")
            value = content[position : position + size]
            position += size
        elif form not in VALUE_IN_PLACE:
            raise CubinError(f"an attribute of unknown form {form}")
        yield code, value


def _three(value: bytes) -> tuple[int, int, int]:
    return _number(value, 0, 4), _number(value, 4, 4), _number(value, 8, 4)


def _number(data: bytes, offset: int, size: int) -> int:
    if offset + size > len(data):
        raise CubinError("a number is outside its section")
    return int.from_bytes(data[offset : offset + size], "little")


def _content(data: bytes, section: _Section) -> bytes:
    return b"" if section.kind == SECTION_NO_BITS else data[section.offset : section.offset + section.size_bytes]


def _text(table: bytes, offset: int) -> str:
    end = table.find(b"\0", offset)
    if offset >= len(table) or end < 0:
        raise CubinError("a name is outside its table")
    return table[offset:end].decode(errors="replace")
