"""Follow the pointers of a compute shader: which of its arguments does it write through, and in which line.

In: a SPIR-V module, best compiled with lines (`glslangValidator -g`). Out: one `Store` for each instruction that writes
to memory found through the push constants. A place is a path from there: numbers of members, `THROUGH` where a pointer
is followed, `SOME` for an index that only the device knows. What is put into local variables, given to functions,
computed with as a number or chosen by a condition is followed, without regard to order: so a path is one that may be
taken.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ...devices.vulkan.spirv import Instruction, Reflection, instructions, reflect
from ...devices.vulkan.spirv_words import Op

THROUGH = -1
SOME = -2
MAX_PATH = 8
MAX_PLACES = 32
"""Places an id may hold; beyond, what is known is enough."""
MAX_ROUNDS = 12
"""Of following everything once more; each round carries a place over one more loop or call."""

Path = tuple[int, ...]

ATOMICS = frozenset(range(Op.ATOMIC_EXCHANGE, Op.ATOMIC_XOR + 1)) | {
    Op.ATOMIC_F_MIN,
    Op.ATOMIC_F_MAX,
    Op.ATOMIC_F_ADD,
}
"""Those that give back the old value; the pointer comes behind type and id."""
WRITES = frozenset({Op.STORE, Op.COPY_MEMORY, Op.COPY_MEMORY_SIZED, Op.ATOMIC_STORE})
CHAINS = frozenset({Op.ACCESS_CHAIN, Op.IN_BOUNDS_ACCESS_CHAIN})
POINTER_CHAINS = frozenset({Op.PTR_ACCESS_CHAIN, Op.IN_BOUNDS_PTR_ACCESS_CHAIN})
PASSED_ON = frozenset(
    {
        Op.COPY_OBJECT, Op.COPY_LOGICAL, Op.CONVERT_PTR_TO_U, Op.CONVERT_U_TO_PTR, Op.BITCAST, Op.U_CONVERT,
        Op.S_CONVERT, Op.I_ADD, Op.I_SUB, Op.BITWISE_OR, Op.BITWISE_AND, Op.SELECT, Op.PHI, Op.VECTOR_SHUFFLE,
    }
)  # fmt: skip
"""Their result may be what an operand is, or a neighbouring address."""


@dataclass(frozen=True, slots=True)
class Store:
    """One instruction that writes. path: where; line: of the source text, 0 where that is not known."""

    path: Path
    line: int
    is_atomic: bool


@dataclass(frozen=True, slots=True)
class _Place:
    """What an id may be. variable: the local variable, or the composite value, that contains it; 0 for memory.

    path: where in that, or in memory. is_address: it points there; otherwise it is the content.
    """

    variable: int = 0
    path: Path = ()
    is_address: bool = False

    def inside(self, indices: Iterable[int]) -> _Place:
        """Return a part of it."""
        return _Place(self.variable, (*self.path, *indices)[:MAX_PATH], self.is_address)


@dataclass(slots=True)
class _State:
    """What is known after some rounds. places: by id. contents: what was put into local variables, with its path."""

    constants: dict[int, int]
    places: dict[int, set[_Place]] = field(default_factory=dict)
    contents: dict[int, set[tuple[Path, _Place]]] = field(default_factory=dict)
    changed: bool = False

    def add(self, id: int, places: Iterable[_Place]) -> None:
        """Remember more places for an id."""
        own = self.places.setdefault(id, set())
        for place in places:
            if place not in own and len(own) < MAX_PLACES:
                own.add(place)
                self.changed = True

    def put(self, variable: int, path: Path, places: Iterable[_Place]) -> None:
        """Remember that something was put into a local variable."""
        own = self.contents.setdefault(variable, set())
        for place in places:
            if (path, place) not in own and len(own) < MAX_PLACES * MAX_PATH:
                own.add((path, place))
                self.changed = True

    def of(self, id: int) -> list[_Place]:
        """Return what an id may be."""
        return list(self.places.get(id, ()))


def stores(module: bytes) -> list[Store]:
    """Return all writes to memory that is found through the push constants. Raises: SpirvError."""
    found = reflect(module)
    body = [i for i in instructions(module) if i.opcode in _FOLLOWED]
    state = _State(found.constants)
    _begin(state, found)
    functions = _functions(body)
    for _ in range(MAX_ROUNDS):
        state.changed = False
        for instruction in body:
            _follow(state, instruction, functions)
        if not state.changed:
            break
    return [store for instruction in body for store in _written(state, instruction)]


def _begin(state: _State, found: Reflection) -> None:
    for variable in found.variables:
        if variable.storage == "PushConstant":
            state.places[variable.id] = {_Place(is_address=True)}
        elif variable.storage in ("Private", "Workgroup"):
            state.places[variable.id] = {_Place(variable.id, is_address=True)}


@dataclass(slots=True)
class _Function:
    parameters: list[int] = field(default_factory=list)
    results: list[int] = field(default_factory=list)


def _functions(body: list[Instruction]) -> dict[int, _Function]:
    """Return parameters and results of each function, by id."""
    functions: dict[int, _Function] = {}
    current = _Function()
    for instruction in body:
        operands = instruction.operands
        if instruction.opcode == Op.FUNCTION and len(operands) > 1:
            current = functions[operands[1]] = _Function()
        elif instruction.opcode == Op.FUNCTION_PARAMETER and len(operands) > 1:
            current.parameters.append(operands[1])
        elif instruction.opcode == Op.RETURN_VALUE and operands:
            current.results.append(operands[0])
    return functions


def _follow(state: _State, instruction: Instruction, functions: dict[int, _Function]) -> None:
    """Draw the conclusions of one instruction."""
    opcode, operands = instruction.opcode, instruction.operands
    if opcode in (Op.STORE, Op.COPY_MEMORY) and len(operands) > 1:
        values = state.of(operands[1]) if opcode == Op.STORE else _loaded(state, operands[1])
        for place in _locations(state, operands[0]):
            if place.variable:
                state.put(place.variable, place.path, values)
        return
    if len(operands) < 2:
        return
    result, rest = operands[1], operands[2:]
    if opcode == Op.VARIABLE:
        state.add(result, [_Place(result, is_address=True)])
    elif opcode in CHAINS or opcode in POINTER_CHAINS:
        state.add(result, _chained(state, rest, opcode in POINTER_CHAINS))
    elif opcode == Op.LOAD and rest:
        state.add(result, _loaded(state, rest[0]))
    elif opcode == Op.COMPOSITE_EXTRACT and rest:
        state.add(result, _parts(state, state.of(rest[0]), rest[1:]))
    elif opcode == Op.COMPOSITE_CONSTRUCT:
        for number, part in enumerate(rest):
            state.put(result, (number,), state.of(part))
        state.add(result, [_Place(result)])
    elif opcode == Op.COMPOSITE_INSERT and len(rest) > 1:
        state.put(result, rest[2:][:MAX_PATH], state.of(rest[0]))
        state.put(result, (), state.of(rest[1]))
        state.add(result, [_Place(result)])
    elif opcode == Op.FUNCTION_CALL and rest and rest[0] in functions:
        function = functions[rest[0]]
        for parameter, given in zip(function.parameters, rest[1:]):
            state.add(parameter, state.of(given))
        for returned in function.results:
            state.add(result, state.of(returned))
    elif opcode in PASSED_ON:
        for operand in rest:
            state.add(result, state.of(operand))


def _locations(state: _State, id: int) -> list[_Place]:
    """Return where an id points when it is used as an address."""
    return [
        place if place.is_address else replace(place.inside((THROUGH,)), is_address=True)
        for value in state.of(id)
        for place in ([value] if value.is_address else _values(state, value))
        if place.is_address or not place.variable
    ]


def _values(state: _State, value: _Place) -> list[_Place]:
    """Return what a value made of parts may be as a whole: a pointer may be taken apart and put together again."""
    found: list[_Place] = []
    seen: set[_Place] = set()
    waiting = [value]
    while waiting and len(seen) < MAX_PLACES:
        place = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        if place.variable and not place.is_address:
            waiting += _content(state, place, place.path)
        else:
            found.append(place)
    return found


def _loaded(state: _State, id: int) -> list[_Place]:
    """Return the possible contents at the address of an id."""
    return [place for location in _locations(state, id) for place in _content(state, location, location.path)]


def _content(state: _State, location: _Place, path: Path) -> list[_Place]:
    """Return the contents at a path in memory, or those stored there in a variable."""
    if not location.variable:
        return [_Place(path=path)]
    found = []
    for put_at, place in state.contents.get(location.variable, ()):
        if _may_overlap(put_at, path):
            found.append(place.inside(path[len(put_at) :]) if not place.is_address else place)
    return found


def _parts(state: _State, values: Iterable[_Place], indices: Path) -> list[_Place]:
    """Return what parts of values may be."""
    found: list[_Place] = []
    for value in values:
        part = value.inside(indices)
        found += [part] if not part.variable else _content(state, part, part.path) if not part.is_address else [part]
    return found


def _may_overlap(one: Path, other: Path) -> bool:
    """Return whether two paths may lead to the same element, or one to a part of the other."""
    return all(a == b or SOME in (a, b) for a, b in zip(one, other))


def _chained(state: _State, operands: tuple[int, ...], is_element: bool) -> list[_Place]:
    """Return the parts that indices lead to from a base. is_element: the first one counts from the base itself."""
    indices = [state.constants.get(index, SOME) for index in operands[2 if is_element else 1 :]]
    return [place.inside(indices) for place in _locations(state, operands[0] if operands else 0)]


def _written(state: _State, instruction: Instruction) -> list[Store]:
    """Return the writes of one instruction."""
    opcode, operands = instruction.opcode, instruction.operands
    is_atomic = opcode in ATOMICS
    position = 2 if is_atomic else 0
    if not (is_atomic or opcode in WRITES) or len(operands) <= position:
        return []
    places = _locations(state, operands[position])
    return sorted(
        {Store(p.path, instruction.line, is_atomic) for p in places if not p.variable}, key=lambda store: store.path
    )


_FOLLOWED = (
    ATOMICS
    | WRITES
    | CHAINS
    | POINTER_CHAINS
    | PASSED_ON
    | {
        Op.FUNCTION, Op.FUNCTION_PARAMETER, Op.FUNCTION_CALL, Op.RETURN_VALUE, Op.VARIABLE, Op.LOAD,
        Op.COMPOSITE_EXTRACT, Op.COMPOSITE_CONSTRUCT, Op.COMPOSITE_INSERT,
    }
)  # fmt: skip
