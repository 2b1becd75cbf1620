"""Read the interface of a compute shader from its SPIR-V: what the host and the shader must agree on.

In: the words of a module. Out: dataclasses: entry points with their local size, push constants and descriptors with
their types down to the last member, shared memory, capabilities and extensions. Any damaged module raises `SpirvError`,
never another exception, and each word is read once.
Source: SPIR-V Specification 1.6, sections 2.3 (physical layout) and 3 (binary form).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import field, replace

from ....transpiler.lazy_dataclasses import dataclass
from .spirv_words import BUILT_IN_WORKGROUP_SIZE, CAPABILITIES, IMAGE_FORMATS, MODES, STORAGE, Decoration, Op

MAGIC = 0x07230203
HEADER_WORDS = 5
MAX_BOUND = 1 << 22
"""Ids of a module; the specification promises no more."""
MAX_DEPTH = 64
MAX_PARTS = 1 << 20
"""Limits of nested types, and of scalars in one type; more is damage, and would take too long to read."""
POINTER_BYTES = 8

QUALIFIERS = {
    Decoration.NON_WRITABLE: "readonly",
    Decoration.NON_READABLE: "writeonly",
    Decoration.COHERENT: "coherent",
    Decoration.VOLATILE: "volatile",
    Decoration.RESTRICT: "restrict",
}


class SpirvError(ValueError):
    """The words are no complete SPIR-V module."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """kind: "bool", "int", "uint" or "float"."""

    kind: str
    bits: int


@dataclass(frozen=True, slots=True)
class Vector:
    """count: of components."""

    component: Scalar
    count: int


@dataclass(frozen=True, slots=True)
class Matrix:
    """count: of columns."""

    column: Vector
    count: int


@dataclass(frozen=True, slots=True)
class Array:
    """count: of elements, None if only the host knows. stride_bytes: None in memory that the host cannot access."""

    element: Type
    count: int | None
    stride_bytes: int | None


@dataclass(frozen=True, slots=True)
class Pointer:
    """storage: "PhysicalStorageBuffer" for a buffer reference. target: key of `Reflection.pointees`."""

    storage: str
    target: int


@dataclass(frozen=True, slots=True)
class Image:
    """An image or texture. dimension: as in SPIR-V (1: 2D). use: 1 sampled, 2 storage. format: GLSL's name, or ""."""

    sampled: Scalar | None
    dimension: int
    arrayed: bool
    multisampled: bool
    use: int
    format: str


@dataclass(frozen=True, slots=True)
class Opaque:
    """A type of another kind, by SPIR-V's name."""

    name: str


@dataclass(frozen=True, slots=True)
class Member:
    """offset_bytes: None in memory that the host cannot access. matrix_stride: [bytes], 0 if it is no matrix."""

    name: str
    type: Type
    offset_bytes: int | None = None
    matrix_stride: int = 0
    is_row_major: bool = False
    qualifiers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct or the contents of a block."""

    name: str
    members: tuple[Member, ...]


Type = Scalar | Vector | Matrix | Array | Struct | Pointer | Image | Opaque


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry point. model: SPIR-V's number, 5 for compute. modes: of arithmetic, "DenormPreserve 32"."""

    name: str
    model: int
    local_size: tuple[int, int, int] | None = None
    modes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable outside functions. set, binding: of a descriptor, else None."""

    id: int
    name: str
    storage: str
    type: Type
    set: int | None = None
    binding: int | None = None


@dataclass(frozen=True, slots=True)
class Instruction:
    """line: in the source by `OpLine`, 0 if unknown."""

    opcode: int
    operands: tuple[int, ...]
    line: int = 0


@dataclass(slots=True)
class Reflection:
    """The interface of a module. pointees: target types of pointers. constants: integers by id."""

    version: tuple[int, int] = (0, 0)
    entries: list[Entry] = field(default_factory=list)
    capabilities: list[str] = field(default_factory=list)
    extensions: list[str] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)
    pointees: dict[int, Type] = field(default_factory=dict)
    constants: dict[int, int] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)

    @property
    def push_constants(self) -> Variable | None:
        """The block of push constants, None if there is none."""
        return next((v for v in self.variables if v.storage == "PushConstant"), None)

    @property
    def resources(self) -> list[Variable]:
        """All variables that need a descriptor."""
        return [v for v in self.variables if v.storage in ("Uniform", "UniformConstant", "StorageBuffer")]

    @property
    def shared(self) -> list[tuple[str, int]]:
        """Name and size [bytes] of each variable in shared memory."""
        return [(v.name, size_bytes(v.type)) for v in self.variables if v.storage == "Workgroup"]


def reflect(module: bytes) -> Reflection:
    """Return the interface of a module. Raises: SpirvError if it is damaged."""
    reader = _Reader(module)
    for instruction in instructions(module):
        if instruction.opcode == Op.FUNCTION:
            break
        reader.read(instruction)
    return reader.finish()


def instructions(module: bytes) -> Iterator[Instruction]:
    """Yield the instructions in order, with the source line of each. Raises: SpirvError."""
    words = _words(module)
    position, line = HEADER_WORDS, 0
    while position < len(words):
        count, opcode = words[position] >> 16, words[position] & 0xFFFF
        if count == 0 or position + count > len(words):
            raise SpirvError(f"the instruction at word {position} ends outside the module")
        operands = words[position + 1 : position + count]
        if opcode == Op.LINE and len(operands) >= 2:
            line = operands[1]
        elif opcode in (Op.NO_LINE, Op.FUNCTION_END):
            line = 0
        yield Instruction(opcode, operands, line)
        position += count


def size_bytes(type: Type, depth: int = 0) -> int:
    """Return the minimum size of a value [bytes], with no padding except that of explicit offsets."""
    if depth > MAX_DEPTH:
        raise SpirvError("types are nested too deeply")
    match type:
        case Scalar(_, bits):
            return max(1, bits // 8)
        case Vector(component, count):
            return count * size_bytes(component)
        case Matrix(column, count):
            return count * size_bytes(column)
        case Array(element, count, stride):
            return (count or 0) * (stride or size_bytes(element, depth + 1))
        case Struct(_, members):
            end = 0
            for member in members:
                start = end if member.offset_bytes is None else member.offset_bytes
                end = max(end, start + size_bytes(member.type, depth + 1))
            return end
    return POINTER_BYTES


def _words(module: bytes) -> tuple[int, ...]:
    if len(module) % 4 or len(module) < 4 * HEADER_WORDS:
        raise SpirvError(f"{len(module)} bytes are no SPIR-V module")
    words = struct.unpack(f"<{len(module) // 4}I", module)
    if words[0] != MAGIC:
        raise SpirvError(f"a module starts with {MAGIC:#x}, found {words[0]:#x}")
    if words[3] > MAX_BOUND:
        raise SpirvError(f"a module has at most {MAX_BOUND} ids, found {words[3]}")
    return words


class _Reader:
    """Collects the declarations before the functions; a type follows its component types, except for pointers."""

    def __init__(self, module: bytes) -> None:
        words = _words(module)
        self.found = Reflection(version=(words[1] >> 16 & 0xFF, words[1] >> 8 & 0xFF))
        self.types: dict[int, Type | None] = {}
        self.depths: dict[int, int] = {}
        self.parts: dict[int, int] = {}
        self.pointers: dict[int, tuple[str, int]] = {}
        self.member_names: dict[tuple[int, int], str] = {}
        self.decorations: dict[int, dict[int, tuple[int, ...]]] = {}
        self.member_decorations: dict[tuple[int, int], dict[int, tuple[int, ...]]] = {}
        self.entry_names: dict[int, tuple[str, int]] = {}
        self.sizes: dict[int, tuple[int, int, int]] = {}
        self.modes: dict[int, set[str]] = {}
        self.composites: dict[int, tuple[int, ...]] = {}
        self.computed: set[int] = set()
        self.pending: list[tuple[int, int, int]] = []

    def read(self, instruction: Instruction) -> None:
        """Process one instruction; those without effect on the interface are skipped."""
        handler = _HANDLERS.get(instruction.opcode)
        if handler is not None:
            try:
                handler(self, instruction.operands)
            except IndexError:
                raise SpirvError(f"an instruction {instruction.opcode} lacks operands") from None

    def finish(self) -> Reflection:
        """Return the interface, when all ids have names and types."""
        found = self.found
        for pointer, (_, target) in self.pointers.items():
            found.pointees[pointer] = self.types.get(target) or Opaque("a type of another kind")
        for id, pointer, storage in self.pending:
            if pointer not in found.pointees:
                raise SpirvError(f"variable {id} is of no type")
            given = self.decorations.get(id, {})
            numbers = (_first(given, Decoration.DESCRIPTOR_SET), _first(given, Decoration.BINDING))
            name = found.names.get(id, "") or self._name_of_type(found.pointees[pointer])
            found.variables.append(
                Variable(id, name, STORAGE.get(storage, f"storage class {storage}"), found.pointees[pointer], *numbers)
            )
        required = self._workgroup_size()
        for id, (name, model) in self.entry_names.items():
            size = required or self.sizes.get(id)
            found.entries.append(Entry(name, model, size, frozenset(self.modes.get(id, ()))))
        return found

    def type(self, id: int, user: int | None = None) -> Type:
        """Return a declared type. user: the id of the type that uses it."""
        if id not in self.types and id in self.pointers:  # a forward declaration, as in a linked list
            return Pointer(self.pointers[id][0], id)
        type = self.types.get(id)
        if type is None:
            raise SpirvError(f"id {id} is no type that is known by now")
        if user is not None:
            self.depths[user] = max(self.depths.get(user, 0), self.depths.get(id, 0) + 1)
            self.parts[user] = self.parts.get(user, 1) + self.parts.get(id, 1)
            if self.depths[user] > MAX_DEPTH or self.parts[user] > MAX_PARTS:
                raise SpirvError("types are nested too deeply")
        return type

    def declare(self, id: int, type: Type | None) -> None:
        """Set the type of an id. None: void."""
        if id in self.types:
            raise SpirvError(f"id {id} has two types")
        self.types[id] = type

    def scalar(self, id: int) -> Scalar:
        """Return a declared scalar type."""
        type = self.type(id)
        if not isinstance(type, Scalar):
            raise SpirvError(f"id {id} is no scalar type")
        return type

    def capability(self, operands: tuple[int, ...]) -> None:
        """OpCapability."""
        self.found.capabilities.append(CAPABILITIES.get(operands[0], f"capability {operands[0]}"))

    def extension(self, operands: tuple[int, ...]) -> None:
        """OpExtension."""
        self.found.extensions.append(_string(operands)[0])

    def entry(self, operands: tuple[int, ...]) -> None:
        """OpEntryPoint."""
        self.entry_names[operands[1]] = (_string(operands[2:])[0], operands[0])

    def mode(self, operands: tuple[int, ...]) -> None:
        """OpExecutionMode."""
        if operands[1] == MODES["LocalSize"]:
            self.sizes[operands[0]] = (operands[2], operands[3], operands[4])
        for name, number in MODES.items():
            if number == operands[1] and name not in ("LocalSize", "LocalSizeId"):
                self.modes.setdefault(operands[0], set()).add(f"{name} {operands[2]}")

    def mode_by_id(self, operands: tuple[int, ...]) -> None:
        """OpExecutionModeId: a local size of constants that are declared later."""
        if operands[1] == MODES["LocalSizeId"]:
            self.composites[-1 - operands[0]] = (operands[2], operands[3], operands[4])

    def name(self, operands: tuple[int, ...]) -> None:
        """OpName."""
        self.found.names[operands[0]] = _string(operands[1:])[0]

    def member_name(self, operands: tuple[int, ...]) -> None:
        """OpMemberName."""
        self.member_names[operands[0], operands[1]] = _string(operands[2:])[0]

    def decorate(self, operands: tuple[int, ...]) -> None:
        """OpDecorate."""
        self.decorations.setdefault(operands[0], {})[operands[1]] = operands[2:]

    def decorate_member(self, operands: tuple[int, ...]) -> None:
        """OpMemberDecorate."""
        self.member_decorations.setdefault((operands[0], operands[1]), {})[operands[2]] = operands[3:]

    def constant(self, operands: tuple[int, ...]) -> None:
        """OpConstant, OpSpecConstant: only integers matter here."""
        type = self.types.get(operands[0])
        if isinstance(type, Scalar) and type.kind != "float":
            low, high = operands[2], operands[3] if type.bits > 32 else 0
            self.found.constants[operands[1]] = low | high << 32

    def composite(self, operands: tuple[int, ...]) -> None:
        """OpConstantComposite: a local size may be one."""
        self.composites[operands[1]] = operands[2:]

    def variable(self, operands: tuple[int, ...]) -> None:
        """OpVariable outside functions."""
        self.pending.append((operands[1], operands[0], operands[2]))

    def vector(self, operands: tuple[int, ...]) -> None:
        """OpTypeVector."""
        self.declare(operands[0], Vector(self.scalar(operands[1]), operands[2]))

    def matrix(self, operands: tuple[int, ...]) -> None:
        """OpTypeMatrix."""
        column = self.type(operands[1])
        if not isinstance(column, Vector):
            raise SpirvError(f"the columns of matrix {operands[0]} are no vectors")
        self.declare(operands[0], Matrix(column, operands[2]))

    def array(self, operands: tuple[int, ...]) -> None:
        """OpTypeArray."""
        if operands[2] not in self.found.constants and operands[2] not in self.computed:
            raise SpirvError(f"the length of array {operands[0]} is no number")
        self._declare_array(operands, self.found.constants.get(operands[2]))

    def runtime_array(self, operands: tuple[int, ...]) -> None:
        """OpTypeRuntimeArray."""
        self._declare_array(operands, None)

    def _declare_array(self, operands: tuple[int, ...], count: int | None) -> None:
        stride = _first(self.decorations.get(operands[0], {}), Decoration.ARRAY_STRIDE)
        self.declare(operands[0], Array(self.type(operands[1], operands[0]), count, stride))

    def struct(self, operands: tuple[int, ...]) -> None:
        """OpTypeStruct."""
        id = operands[0]
        members = tuple(self._member(id, number, type) for number, type in enumerate(operands[1:]))
        self.declare(id, Struct(self.found.names.get(id, ""), members))

    def _member(self, id: int, number: int, type: int) -> Member:
        given = self.member_decorations.get((id, number), {})
        return Member(
            self.member_names.get((id, number), ""),
            self.type(type, id),
            _first(given, Decoration.OFFSET),
            _first(given, Decoration.MATRIX_STRIDE) or 0,
            Decoration.ROW_MAJOR in given,
            frozenset(name for decoration, name in QUALIFIERS.items() if decoration in given),
        )

    def forward_pointer(self, operands: tuple[int, ...]) -> None:
        """OpTypeForwardPointer."""
        self.pointers[operands[0]] = (STORAGE.get(operands[1], f"storage class {operands[1]}"), 0)

    def pointer(self, operands: tuple[int, ...]) -> None:
        """OpTypePointer."""
        storage = STORAGE.get(operands[1], f"storage class {operands[1]}")
        self.pointers[operands[0]] = (storage, operands[2])
        self.declare(operands[0], Pointer(storage, operands[0]))

    def image(self, operands: tuple[int, ...]) -> None:
        """OpTypeImage."""
        sampled = self.types.get(operands[1])
        scalar = sampled if isinstance(sampled, Scalar) else None
        format = IMAGE_FORMATS.get(operands[7], f"format {operands[7]}")
        self.declare(operands[0], Image(scalar, operands[2], bool(operands[4]), bool(operands[5]), operands[6], format))

    def sampled_image(self, operands: tuple[int, ...]) -> None:
        """OpTypeSampledImage: an image with its sampler."""
        image = self.type(operands[1])
        self.declare(operands[0], replace(image, use=1) if isinstance(image, Image) else Opaque("sampled image"))

    def _name_of_type(self, type: Type) -> str:
        return type.name if isinstance(type, Struct) else ""

    def _workgroup_size(self) -> tuple[int, int, int] | None:
        """Return the constant that replaces every local size, if there is one."""
        for id, given in self.decorations.items():
            if given.get(Decoration.BUILT_IN) == (BUILT_IN_WORKGROUP_SIZE,) and id in self.composites:
                return self._three(self.composites[id])
        return next((self._three(parts) for id, parts in self.composites.items() if id < 0), None)

    def _three(self, parts: tuple[int, ...]) -> tuple[int, int, int]:
        numbers = [self.found.constants.get(part) for part in parts]
        if len(numbers) != 3 or None in numbers:
            raise SpirvError("the local size is not made of three numbers")
        x, y, z = (number or 0 for number in numbers)
        return x, y, z


def arguments_of(found: Reflection) -> Struct | None:
    """Return the arguments of a generated kernel: the push constants, or the struct that they point to."""
    push = found.push_constants
    if push is None or not isinstance(push.type, Struct):
        return None
    if len(push.type.members) == 1 and isinstance(pointer := push.type.members[0].type, Pointer):
        behind = found.pointees.get(pointer.target)
        if isinstance(behind, Struct) and behind.name == "Args":
            return behind
    return push.type


def _first(given: dict[int, tuple[int, ...]], decoration: int) -> int | None:
    operands = given.get(decoration)
    return operands[0] if operands else None


def _string(operands: tuple[int, ...]) -> tuple[str, int]:
    """Return a string and its number of words."""
    data = struct.pack(f"<{len(operands)}I", *operands)
    end = data.find(b"\0")
    if end < 0:
        raise SpirvError("an unterminated string")
    return data[:end].decode(errors="replace"), end // 4 + 1


_HANDLERS: dict[int, Callable[[_Reader, tuple[int, ...]], None]] = {
    Op.CAPABILITY: _Reader.capability,
    Op.EXTENSION: _Reader.extension,
    Op.ENTRY_POINT: _Reader.entry,
    Op.EXECUTION_MODE: _Reader.mode,
    Op.EXECUTION_MODE_ID: _Reader.mode_by_id,
    Op.NAME: _Reader.name,
    Op.MEMBER_NAME: _Reader.member_name,
    Op.DECORATE: _Reader.decorate,
    Op.MEMBER_DECORATE: _Reader.decorate_member,
    Op.CONSTANT: _Reader.constant,
    Op.SPEC_CONSTANT: _Reader.constant,
    Op.SPEC_CONSTANT_OP: lambda reader, operands: reader.computed.add(operands[1]),
    Op.CONSTANT_COMPOSITE: _Reader.composite,
    Op.SPEC_CONSTANT_COMPOSITE: _Reader.composite,
    Op.VARIABLE: _Reader.variable,
    Op.TYPE_VOID: lambda reader, operands: reader.declare(operands[0], None),
    Op.TYPE_BOOL: lambda reader, operands: reader.declare(operands[0], Scalar("bool", 32)),
    Op.TYPE_INT: lambda reader, operands: reader.declare(
        operands[0], Scalar("int" if operands[2] else "uint", operands[1])
    ),
    Op.TYPE_FLOAT: lambda reader, operands: reader.declare(operands[0], Scalar("float", operands[1])),
    Op.TYPE_VECTOR: _Reader.vector,
    Op.TYPE_MATRIX: _Reader.matrix,
    Op.TYPE_ARRAY: _Reader.array,
    Op.TYPE_RUNTIME_ARRAY: _Reader.runtime_array,
    Op.TYPE_STRUCT: _Reader.struct,
    Op.TYPE_FORWARD_POINTER: _Reader.forward_pointer,
    Op.TYPE_POINTER: _Reader.pointer,
    Op.TYPE_IMAGE: _Reader.image,
    Op.TYPE_SAMPLED_IMAGE: _Reader.sampled_image,
    Op.TYPE_SAMPLER: lambda reader, operands: reader.declare(operands[0], Opaque("sampler")),
    Op.TYPE_OPAQUE: lambda reader, operands: reader.declare(operands[0], Opaque("opaque")),
    Op.TYPE_ACCELERATION_STRUCTURE: lambda reader, operands: reader.declare(
        operands[0], Opaque("acceleration structure")
    ),
}
