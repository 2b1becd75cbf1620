"""Works round what lavapipe runs wrongly, in the SPIR-V that it gets: sources, archives and edits are alike everywhere.

In: the SPIR-V of a compute shader. Out: SPIR-V that lavapipe runs right, or that reports that it did not.

1. It ends all loops of 8 threads after 65,535 iterations together, without a word (Mesa: LP_MAX_TGSI_LOOP_ITERATIONS,
   up to 26.2 at least). Afterwards none of their loops runs twice. So the entry point calls the shader and then loops
   itself, as often as a buffer says: twice. If it gets no further than once, it writes a number to the buffer.
2. It goes on with a loop while one of 8 lanes stays in it, also one that is no thread, since a block does not fill its
   last subgroup (a serial task has one thread). Memory is zero to such a lane: a loop whose end depends on memory goes
   on to the limit, and all later loops end at once (22.3.6). So the entry point calls the shader in real threads only.
3. It compares a sign-extended number with a constant as if it were not negative (22.3.6: `int64_t(x) < 0l` is always
   false for an `int x`). A shift left and right after each such conversion hides it from that rule.
4. It takes an integer that is converted to a float and back for the integer itself (22.3.6; 16777217 by f32 should be
   16777216). `NoContraction` on the first conversion prevents that.
5. It gives threads that leave an endless loop in its middle the values of an earlier place of the loop (22.3.6:
   `while (true) { a *= 1.5; if (a > 4.0) break; a += 1.0; }`). So such a loop gets a condition, which always holds.
6. It decides whether a loop is left at once by the number before the first iteration, although the loop has changed it
   (22.3.6: `int w = 0; while (w < 3) { w += 1; if (w == 0) break; }` ends in its first iteration). So a condition under
   which a loop is left in its middle, by `break` or `return`, is compared with one that it does not know.
7. In a loop it takes one element of a large local array for another one, which the iteration before has stored or
   loaded (22.3.6: `p[k] = 3.0 * p[k] + p[k + 1]`, p of 33 numbers or more), and loses stores (`A[c, j] /= d` in a loop
   over j from c, of a matrix of 5 x 5). So a number that it does not know, 0, is added to computed indices there.

Source: SPIR-V Specification 1.6, sections 2.4 (logical layout) and 3 (binary form).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import field

from .....transpiler.lazy_dataclasses import dataclass
from ..spirv import HEADER_WORDS, MAGIC
from ..spirv_words import MODES, Decoration, Op

LIMIT_SET = 1
"""Number of the descriptor set with the buffer; textures have set 0."""
STORAGE_BUFFER = 12
INTERFACE_HAS_ALL = 0x00010400
"""From SPIR-V 1.4 on an entry point lists all variables that it uses."""
VOLATILE = 1
INPUT = 1
GROUP_NON_UNIFORM = 61
SUBGROUP_SIZE, SUBGROUP_ID, LANE = 36, 40, 41
"""Built-in inputs, of one number each. Of a lane that is no thread, the number of the thread is that of another."""
MOST_SELECTED = 16
"""Numbers of a local array up to which Mesa selects one by comparisons of its indices."""
UNROLL = 1
"""Control of a loop that is unrolled."""
MOST_LANES = 16
"""Lanes of a subgroup: 4, 8 or 16, by the processor."""
_BRANCH = 2 << 16 | Op.BRANCH
TYPES = range(Op.TYPE_VOID, Op.TYPE_FORWARD_POINTER + 1)


@dataclass(slots=True)
class _Module:
    """A module in parts: instructions up to the annotations, declarations, and functions."""

    header: list[int]
    start: list[list[int]] = field(default_factory=list)
    declarations: list[list[int]] = field(default_factory=list)
    functions: list[list[int]] = field(default_factory=list)

    def new_id(self) -> int:
        """Return an unused id."""
        self.header[3] += 1
        return self.header[3] - 1

    def declared(self, opcode: int, *operands: int) -> int:
        """Return the id of a type, declared if it is not: types other than structs must be unique."""
        for word, *rest in self.declarations:
            if word & 0xFFFF == opcode and tuple(rest[1:]) == operands:
                return rest[0]
        found = self.new_id()
        self.declarations.append(_words(opcode, found, *operands))
        return found

    def declare(self, opcode: int, type: int, *operands: int) -> int:
        """Return the id of a new constant or variable of a type."""
        found = self.new_id()
        self.declarations.append(_words(opcode, type, found, *operands))
        return found

    def annotate(self, opcode: int, *operands: int) -> None:
        """Add a decoration."""
        self.start.append(_words(opcode, *operands))

    def bytes(self) -> bytes:
        """Return the module as it is passed to a driver."""
        words = array("I", self.header)
        for part in (self.start, self.declarations, self.functions):
            for instruction in part:
                words.extend(instruction)
        return words.tobytes()


def for_lavapipe(code: bytes, number: int) -> bytes:
    """Return a module for lavapipe. number: what it writes to the buffer if loops were ended, not 0.

    Shaders without loops get only changes 3 and 4. The buffer is binding 0 of set `LIMIT_SET`: two words, 2 and 0.
    """
    words = array("I", code)
    if len(words) < HEADER_WORDS or words[0] != MAGIC:
        return code
    module = _parts(words)
    _hide_sign_extensions(module)
    _round_conversions(module)
    if any(instruction[0] & 0xFFFF == Op.LOOP_MERGE for instruction in module.functions):
        _report_ended_loops(module, number)
    return module.bytes()


def _words(opcode: int, *operands: int) -> list[int]:
    return [(len(operands) + 1) << 16 | opcode, *operands]


def _instructions(words: Sequence[int]) -> Iterator[list[int]]:
    position = HEADER_WORDS
    while position < len(words):
        count = max(words[position] >> 16, 1)
        yield list(words[position : position + count])
        position += count


def _parts(words: Sequence[int]) -> _Module:
    module = _Module(list(words[:HEADER_WORDS]))
    part = module.start
    for instruction in _instructions(words):
        opcode = instruction[0] & 0xFFFF
        if part is module.start and opcode in TYPES:
            part = module.declarations
        if opcode == Op.FUNCTION:
            part = module.functions
        part.append(instruction)
    return module


def _hide_sign_extensions(module: _Module) -> None:
    """Replace `x = i2i64(y)` by `x = i2i64(y) << 1 >> 1`, which is the same number."""
    sizes = {i[1]: i[2] for i in module.declarations if i[0] & 0xFFFF == Op.TYPE_INT}
    vectors = {i[1]: (i[2], i[3]) for i in module.declarations if i[0] & 0xFFFF == Op.TYPE_VECTOR}
    ones: dict[int, int] = {}
    functions: list[list[int]] = []
    for instruction in module.functions:
        functions.append(instruction)
        if instruction[0] & 0xFFFF != Op.S_CONVERT:
            continue
        type = instruction[1]
        scalar, count = vectors.get(type, (type, 1))
        if sizes.get(scalar) != 64:
            continue
        if type not in ones:
            one = module.declare(Op.CONSTANT, scalar, 1, 0)
            ones[type] = one if type == scalar else module.declare(Op.CONSTANT_COMPOSITE, type, *[one] * count)
        result, wide, shifted = instruction[2], module.new_id(), module.new_id()
        instruction[2] = wide
        functions.append(_words(Op.SHIFT_LEFT_LOGICAL, type, shifted, wide, ones[type]))
        functions.append(_words(Op.SHIFT_RIGHT_ARITHMETIC, type, result, shifted, ones[type]))
    module.functions = functions


def _round_conversions(module: _Module) -> None:
    """Let integers be rounded when they become floats."""
    marked = {i[1] for i in module.start if i[0] & 0xFFFF == Op.DECORATE and i[2] == Decoration.NO_CONTRACTION}
    for instruction in module.functions:
        if instruction[0] & 0xFFFF in (Op.CONVERT_S_TO_F, Op.CONVERT_U_TO_F) and instruction[2] not in marked:
            module.annotate(Op.DECORATE, instruction[2], Decoration.NO_CONTRACTION)


def _report_ended_loops(module: _Module, number: int) -> None:
    """Add the entry point that calls the former one and then tries to loop twice."""
    entry = next(i for i in module.start if i[0] & 0xFFFF == Op.ENTRY_POINT)
    shader, new = entry[2], module.new_id()
    kind = next(i[4] for i in module.functions if i[0] & 0xFFFF == Op.FUNCTION and i[2] == shader)
    width = _width(module, shader)
    limits, lanes = _limits(module), _lanes(module, entry) if width % MOST_LANES else ()
    _end_endless_loops(module, limits)
    _hide_breaks(module, limits)
    _hide_elements(module, limits)
    entry[2] = new
    if module.header[1] >= INTERFACE_HAS_ALL:
        _append(entry, limits)
    for instruction in module.start:
        if instruction[0] & 0xFFFF in (Op.EXECUTION_MODE, Op.EXECUTION_MODE_ID) and instruction[1] == shader:
            instruction[1] = new
    module.functions += _entry(module, _Entry(new, kind, shader, limits, lanes, width, number))


def _end_endless_loops(module: _Module, limits: int) -> None:
    """Let each loop without a condition go on while the first word of the buffer is not 0, which it never is."""
    blocks = _blocks(module.functions)
    constants = {i[2] for i in module.declarations if i[0] & 0xFFFF == Op.CONSTANT_TRUE}
    heads = {label for label, block in blocks.items() if _is_endless(label, blocks, constants)}
    if not heads:
        return
    functions: list[list[int]] = []
    for label, block in blocks.items():
        if label in heads:
            place = _place(block, Op.LOOP_MERGE)
            merge, (_, body) = block[place : place + 2]
            goes_on, comparison = _compared_with_zero(module, limits, Op.I_NOT_EQUAL)
            block[place : place + 2] = [
                *comparison,
                merge,
                _words(Op.BRANCH_CONDITIONAL, goes_on, body, merge[1]),
            ]
            _add_undefined(module, blocks[merge[1]], label)
    for block in blocks.values():
        functions += block
    module.functions = functions


def _hide_breaks(module: _Module, limits: int) -> None:
    """Compare each condition of a way out of a loop with whether the first word of the buffer is 0: it never is."""
    blocks = _blocks(module.functions)
    loops = [i for i in module.functions if i[0] & 0xFFFF == Op.LOOP_MERGE]
    merges, again = {i[1] for i in loops}, {i[2] for i in loops}
    inside: list[int] = []
    for label, block in blocks.items():
        inside = inside[: inside.index(label)] if label in inside else inside
        inside += [i[1] for i in block if i[0] & 0xFFFF == Op.LOOP_MERGE]
        place = _place(block, Op.SELECTION_MERGE)
        branch = block[place + 1] if inside and place >= 0 else [0]
        if branch[0] & 0xFFFF != Op.BRANCH_CONDITIONAL:
            continue
        if not any(_leaves(target, block[place][1], blocks, merges, again) for target in branch[2:4]):
            continue
        never, comparison = _compared_with_zero(module, limits, Op.I_EQUAL)
        hidden = module.new_id()
        different = _words(Op.LOGICAL_NOT_EQUAL, module.declared(Op.TYPE_BOOL), hidden, branch[1], never)
        block[place:place] = [*comparison, different]
        branch[1] = hidden
    module.functions = [instruction for block in blocks.values() for instruction in block]


def _hide_elements(module: _Module, limits: int) -> None:
    """Add 0, which no compiler knows, to computed indices of large local arrays in loops that are not unrolled."""
    sizes = _sizes(module)
    integers = {i[1] for i in module.declarations if i[0] & 0xFFFF == Op.TYPE_INT}
    types = {i[2]: i[1] for i in module.functions if len(i) > 2 and i[1] in integers}
    variables = (i for i in module.functions if i[0] & 0xFFFF == Op.VARIABLE)
    large = {i[2] for i in variables if sizes.get(i[1], 0) > MOST_SELECTED}
    if not large:
        return
    functions: list[list[int]] = []
    inside: list[tuple[int, bool]] = []
    for instruction in module.functions:
        opcode = instruction[0] & 0xFFFF
        if opcode == Op.LABEL:
            ended = next((n for n, (merge, _) in enumerate(inside) if merge == instruction[1]), len(inside))
            inside = inside[:ended]
        elif opcode == Op.LOOP_MERGE:
            inside.append((instruction[1], bool(instruction[3] & UNROLL)))
        elif opcode == Op.ACCESS_CHAIN and instruction[3] in large and inside and not inside[-1][1]:
            for place in range(4, len(instruction)):
                if instruction[place] in types:
                    instruction[place], added = _with_hidden_zero(module, limits, instruction[place], types)
                    functions += added
        functions.append(instruction)
    module.functions = functions


def _sizes(module: _Module) -> dict[int, int]:
    """Return how many numbers an array or struct has, by the types of pointers to it too."""
    numbers = {i[2]: i[3] for i in module.declarations if i[0] & 0xFFFF == Op.CONSTANT}
    sizes: dict[int, int] = {}
    for instruction in module.declarations:
        opcode, rest = instruction[0] & 0xFFFF, instruction[1:]
        if opcode == Op.TYPE_ARRAY:
            sizes[rest[0]] = sizes.get(rest[1], 1) * numbers.get(rest[2], 0)
        elif opcode == Op.TYPE_STRUCT:
            sizes[rest[0]] = sum(sizes.get(member, 0) for member in rest[1:])
        elif opcode == Op.TYPE_POINTER:
            sizes[rest[0]] = sizes.get(rest[2], 0)
    return sizes


def _with_hidden_zero(module: _Module, limits: int, index: int, types: dict[int, int]) -> tuple[int, list[list[int]]]:
    """Return the sum of an integer and 0, and its instructions."""
    type = types[index]
    never, comparison = _compared_with_zero(module, limits, Op.I_EQUAL)
    zero, one = (module.declare(Op.CONSTANT, type, number) for number in (0, 1))
    hidden, result = module.new_id(), module.new_id()
    return result, [
        *comparison,
        _words(Op.SELECT, type, hidden, never, one, zero),
        _words(Op.I_ADD, type, result, index, hidden),
    ]


def _leaves(label: int, end: int, blocks: dict[int, list[list[int]]], merges: set[int], again: set[int]) -> bool:
    """Return whether a branch of a selection ends with `break` or `return`.

    label: of its first block. end: of the block where the selection ends. merges, again: of those where loops end, and
    where they go on.
    """
    while label != end and label not in again:
        if label in merges:
            return True
        block = blocks[label]
        while inner := next((i[1] for i in block if i[0] & 0xFFFF in (Op.LOOP_MERGE, Op.SELECTION_MERGE)), None):
            block = blocks[inner]
        if any(i[0] & 0xFFFF in (Op.RETURN, Op.RETURN_VALUE) for i in block):
            return True
        label = next((i[1] for i in block if i[0] == _BRANCH), end)
    return False


def _compared_with_zero(module: _Module, limits: int, relation: int) -> tuple[int, list[list[int]]]:
    """Return a comparison of the first word of the buffer with 0, which no compiler knows, and its instructions."""
    word, boolean = module.declared(Op.TYPE_INT, 32, 0), module.declared(Op.TYPE_BOOL)
    pointer = module.declared(Op.TYPE_POINTER, STORAGE_BUFFER, word)
    zero = module.declare(Op.CONSTANT, word, 0)
    address, count, result = (module.new_id() for _ in range(3))
    return result, [
        _words(Op.ACCESS_CHAIN, pointer, address, limits, zero),
        _words(Op.LOAD, word, count, address, VOLATILE),
        _words(relation, boolean, result, count, zero),
    ]


def _blocks(functions: Sequence[list[int]]) -> dict[int, list[list[int]]]:
    """Return the blocks of all functions by their labels. What is between functions is at the end of a block."""
    blocks: dict[int, list[list[int]]] = {0: []}
    block = blocks[0]
    for instruction in functions:
        if instruction[0] & 0xFFFF == Op.LABEL:
            block = blocks[instruction[1]] = []
        block.append(instruction)
    return blocks


def _is_endless(label: int, blocks: dict[int, list[list[int]]], constants: set[int]) -> bool:
    """Return whether a block is the head of a loop that only `break` and `return` leave. constants: ids of `true`."""
    block = blocks[label]
    place = _place(block, Op.LOOP_MERGE)
    if place < 0 or block[place + 1][0] & 0xFFFF != Op.BRANCH:
        return False
    merge, again = block[place][1:3]
    for other in (block[place + 1][1], again):
        end = blocks[other][_place(blocks[other], Op.BRANCH_CONDITIONAL)]
        if end[0] & 0xFFFF == Op.BRANCH_CONDITIONAL and end[1] not in constants and merge in end[2:4]:
            return False
    return True


def _place(block: list[list[int]], opcode: int) -> int:
    """Return the index of the instruction of a block that has this opcode, -1 if there is none."""
    return next((n for n, instruction in enumerate(block) if instruction[0] & 0xFFFF == opcode), -1)


def _add_undefined(module: _Module, block: list[list[int]], label: int) -> None:
    """Give the phis of a block a value for a predecessor from which it is never entered."""
    for instruction in block:
        if instruction[0] & 0xFFFF == Op.PHI:
            _append(instruction, module.declare(Op.UNDEF, instruction[1]))
            _append(instruction, label)


def _append(instruction: list[int], word: int) -> None:
    instruction.append(word)
    instruction[0] += 1 << 16


def _width(module: _Module, shader: int) -> int:
    """Return the threads of a block; 0 if blocks have more than one row, whose lanes are numbered otherwise."""
    for instruction in module.start:
        if instruction[0] & 0xFFFF == Op.EXECUTION_MODE and instruction[1:3] == [shader, MODES["LocalSize"]]:
            return instruction[3] if instruction[4:6] == [1, 1] else 0
    return 0


def _lanes(module: _Module, entry: list[int]) -> tuple[int, ...]:
    """Return the ids of the inputs that number lanes; those that the shader has not are declared."""
    needed = _words(Op.CAPABILITY, GROUP_NON_UNIFORM)
    if needed not in module.start:
        module.start.insert(0, needed)
    pointer = module.declared(Op.TYPE_POINTER, INPUT, module.declared(Op.TYPE_INT, 32, 0))
    found = []
    for which in (SUBGROUP_ID, SUBGROUP_SIZE, LANE):
        known = [i[1] for i in module.start if i[0] & 0xFFFF == Op.DECORATE and i[2:] == [Decoration.BUILT_IN, which]]
        if not known:
            known = [module.declare(Op.VARIABLE, pointer, INPUT)]
            module.annotate(Op.DECORATE, known[0], Decoration.BUILT_IN, which)
            _append(entry, known[0])
        found += known
    return tuple(found)


def _limits(module: _Module) -> int:
    """Declare the buffer: `buffer Limits { uint iterations; uint ended; }`; return its id."""
    word = module.declared(Op.TYPE_INT, 32, 0)
    block = module.new_id()
    module.declarations.append(_words(Op.TYPE_STRUCT, block, word, word))
    for member in range(2):
        module.annotate(Op.MEMBER_DECORATE, block, member, Decoration.OFFSET, 4 * member)
    limits = module.declare(Op.VARIABLE, module.declared(Op.TYPE_POINTER, STORAGE_BUFFER, block), STORAGE_BUFFER)
    module.annotate(Op.DECORATE, block, Decoration.BLOCK)
    module.annotate(Op.DECORATE, limits, Decoration.DESCRIPTOR_SET, LIMIT_SET)
    module.annotate(Op.DECORATE, limits, Decoration.BINDING, 0)
    return limits


@dataclass(frozen=True, slots=True)
class _Entry:
    """Ids of the new entry point, its type, the shader that it calls, the buffer, and the inputs that number lanes.

    lanes: none if all lanes are threads. width: threads of a block.
    """

    new: int
    kind: int
    shader: int
    limits: int
    lanes: tuple[int, ...]
    width: int
    number: int


def _entry(module: _Module, entry: _Entry) -> list[list[int]]:
    """Return the function.

    if (lane < width) shader(); for (k = 0; k < iterations; k++); if (k < iterations) ended = number;
    """
    void, boolean = module.declared(Op.TYPE_VOID), module.declared(Op.TYPE_BOOL)
    word = module.declared(Op.TYPE_INT, 32, 0)
    pointer = module.declared(Op.TYPE_POINTER, STORAGE_BUFFER, word)
    zero, one, mark = (module.declare(Op.CONSTANT, word, value) for value in (0, 1, entry.number))
    start, head, test, body, again, merge, report, end = (module.new_id() for _ in range(8))
    address, count, k, following, less, anew, ended, other = (module.new_id() for _ in range(8))
    return [
        _words(Op.FUNCTION, void, entry.new, 0, entry.kind),
        _words(Op.LABEL, module.new_id()),
        *_call(module, entry, void),
        _words(Op.BRANCH, start),
        _words(Op.LABEL, start),
        _words(Op.ACCESS_CHAIN, pointer, address, entry.limits, zero),
        _words(Op.LOAD, word, count, address, VOLATILE),
        _words(Op.BRANCH, head),
        _words(Op.LABEL, head),
        _words(Op.PHI, word, k, zero, start, following, again),
        _words(Op.LOOP_MERGE, merge, again, 0),
        _words(Op.BRANCH, test),
        _words(Op.LABEL, test),
        _words(Op.U_LESS_THAN, boolean, less, k, count),
        _words(Op.BRANCH_CONDITIONAL, less, body, merge),
        _words(Op.LABEL, body),
        _words(Op.BRANCH, again),
        _words(Op.LABEL, again),
        _words(Op.I_ADD, word, following, k, one),
        _words(Op.BRANCH, head),
        _words(Op.LABEL, merge),
        # Read once more: a compiler that knows why loops end knows that k < count is false here.
        _words(Op.LOAD, word, anew, address, VOLATILE),
        _words(Op.U_LESS_THAN, boolean, ended, k, anew),
        _words(Op.SELECTION_MERGE, end, 0),
        _words(Op.BRANCH_CONDITIONAL, ended, report, end),
        _words(Op.LABEL, report),
        _words(Op.ACCESS_CHAIN, pointer, other, entry.limits, one),
        _words(Op.STORE, other, mark),
        _words(Op.BRANCH, end),
        _words(Op.LABEL, end),
        _words(Op.RETURN),
        _words(Op.FUNCTION_END),
    ]


def _call(module: _Module, entry: _Entry, void: int) -> list[list[int]]:
    """Return the call of the shader, in lanes that are threads."""
    call = _words(Op.FUNCTION_CALL, void, module.new_id(), entry.shader)
    if not entry.lanes:
        return [call]
    boolean, word = module.declared(Op.TYPE_BOOL), module.declared(Op.TYPE_INT, 32, 0)
    threads = module.declare(Op.CONSTANT, word, entry.width)
    group, size, lane, before, number, is_thread, inside, behind = (module.new_id() for _ in range(8))
    return [
        *(_words(Op.LOAD, word, id, of) for id, of in zip((group, size, lane), entry.lanes, strict=True)),
        _words(Op.I_MUL, word, before, group, size),
        _words(Op.I_ADD, word, number, before, lane),
        _words(Op.U_LESS_THAN, boolean, is_thread, number, threads),
        _words(Op.SELECTION_MERGE, behind, 0),
        _words(Op.BRANCH_CONDITIONAL, is_thread, inside, behind),
        _words(Op.LABEL, inside),
        call,
        _words(Op.BRANCH, behind),
        _words(Op.LABEL, behind),
    ]
