"""The source of sparse nodes: macros for the position and activity of a cell, functions that change activity.

    #define block_number(i, j) args.block_numbers[(i) * 8 + (j)]
    #define block_is_active(i, j) (block_number(i, j) >= FIRST_CELL)

    static inline uint32_t activate_block(const struct Args args, int i, int j) {
        return activate_cell(args.block_numbers, (i) * 8 + (j), args.block_pool, args.block_capacity);
    }

In: what the statements of a kernel need of nodes. Out: members of `Args`, and the lines of each file, dependencies
first. The functions that they call are in `templates/*/lib/sparse.*`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from functools import partial

from ...ir.snodes import Node, axes_of, cell_components, chunks_of, path_in_part, pool_above, shape_of, sparse_above
from ...ir.sparse import CELL_MEMBERS, NodeUse, node_name, required_uses
from ...ir.sparse_storage import mask_words
from ...ir.tasks import Kernel
from ...lazy_dataclasses import dataclass
from ..languages.common.language import Language
from ..languages.common.naming import Names
from ..languages.common.syntax_forms import PRIMARY
from ..languages.common.target import Target
from .tree_structs import CELL, Atom, grouped, linear, linear_sum

INDENT = "    "
LETTERS = "ijklmnopqrst"
LONGEST = 110
"""Columns of a call beyond which its position argument gets a line and a name."""

WRITTEN = {
    **dict.fromkeys(("activate", "deactivate", "entry"), ("numbers", "lengths", "mask", "pool")),
    "reserve": ("numbers", "pool"),
    "append": ("lengths", "pool"),
}
"""Members that a function which changes activity writes."""
FUNCTIONS = ("activate", "reserve", "deactivate", "append")
REFERENCES = {"numbers": "CellNumbers", "mask": "Mask", "lengths": "Lengths", "pool": "Pool"}
"""Types of GLSL that the library declares."""
NOTES = {
    "numbers": "{node}: number of each {cell} in its pool, from 3 on; 0 if inactive",
    "mask": "{node}: a bit per cell, set if the cell is active",
    "lengths": "{node}: number of items of each list",
    "pool": "{node}: counters and free {cell}s of its pool",
    "capacity": "{node}: number of {cell}s of its pool",
}


@dataclass(slots=True)
class SparseSource:
    """The sparse nodes of one kernel in one language.

    names: of nodes in the source.
    expressions: of members of `Args`, by need.
    writes: members through which the kernel changes activity.
    """

    kernel: Kernel
    target: Target
    needs: dict[NodeUse, None]
    names: dict[Node, str] = field(default_factory=dict)
    expressions: dict[NodeUse, str] = field(default_factory=dict)
    writes: set[NodeUse] = field(default_factory=set)
    wraps: bool = False
    """Whether arguments have to be copied: GLSL does not pass members of a readonly block."""
    helpers: dict[str, None] = field(default_factory=dict)
    """Library functions that the current lines call."""

    @property
    def language(self) -> Language:
        """The language of the target."""
        return self.target.language

    @property
    def changes_cells(self) -> bool:
        """Whether the kernel may change which cells are active."""
        return any(what in WRITTEN for what, _ in self.needs)

    # --- names and members

    def name(self, node: Node) -> str:
        """Return the name of a node in the source."""
        return self.names[node]

    def choose_names(self, taken: frozenset[str]) -> None:
        """Choose the names of all nodes. taken: names that no macro may have."""
        names = Names(taken)
        for what, node in self.needs:
            if node not in self.names:
                whats = [other for other, of in self.needs if of is node and other not in CELL_MEMBERS]
                self.names[node] = names.declare(node_name(self.kernel, node), partial(_identifiers, whats))
            self.writes |= {(member, node) for member in WRITTEN.get(what, ())}

    def identifiers(self) -> list[str]:
        """Return the names of all macros and functions."""
        return [self.identifier(what, node) for what, node in self.needs if what not in CELL_MEMBERS]

    def identifier(self, what: str, node: Node) -> str:
        """Return the name of a member, macro or function of a node."""
        return _identifier(what, self.names[node])

    def members(self) -> list[tuple[NodeUse, str, str]]:
        """Return the members of `Args`: need, name, comment."""
        return [
            (need, self.identifier(*need), _note(need, self.name(need[1])))
            for need in self.needs
            if need[0] in CELL_MEMBERS
        ]

    def declared(self, need: NodeUse) -> str:
        """Return the type of a member, "" for a GLSL buffer of plain 32-bit words."""
        what = need[0]
        if what == "capacity":
            return "int"
        if self.language.has_pointers:
            return "Pool *" if what == "pool" else "uint32_t *" if need in self.writes else "const uint32_t *"
        return REFERENCES[what] if what == "pool" or need in self.writes else ""

    def type_helpers(self) -> list[str]:
        """Return the helpers that declare the types of members."""
        needs = [need for need, _, _ in self.members() if need[0] != "capacity"]
        if not self.language.has_pointers:
            return [name for need in needs if (name := self.declared(need))]
        return ["Pool" if what == "pool" else self.language.types["u32"] for what, _ in needs]

    # --- lines

    def lines(self, needs: Iterable[NodeUse]) -> tuple[list[str], list[str], list[str]]:
        """Return the macros and functions for `needs`, and the helpers that these call."""
        self.helpers = {}
        wanted: dict[NodeUse, None] = {}
        for need in needs:
            self._want(need, wanted)
        ordered = [need for need in self.needs if need in wanted]
        macros = [line for need in ordered if (line := self._macro(need))]
        functions = [self._function(*need) for need in ordered if need[0] in FUNCTIONS]
        return macros, functions, list(self.helpers)

    def _helper(self, name: str) -> str:
        """Return the name of a helper, and record that it is called."""
        self.helpers[name] = None
        return name

    def _want(self, need: NodeUse, wanted: dict[NodeUse, None]) -> None:
        if need not in wanted:
            for inner in required_uses(*need):
                self._want(inner, wanted)
            wanted[need] = None

    def _macro(self, need: NodeUse) -> str:
        what, node = need
        letters = list(LETTERS[: len(axes_of(node))])
        head = f"#define {self.identifier(what, node)}"
        indices = ", ".join(letters)
        if what == "position":
            return f"{head}({', '.join([CELL, *indices_inside(node, letters)])}) ({self._linear(node, letters, CELL)})"
        if what == "number":
            number = self.element("numbers", node, self._entry(node, letters))
            if ("numbers", node) in self.writes:
                # Other threads write it, and the cache of a multiprocessor may be stale.
                number = self.language.volatile_load.format(number)
            return f"{head}({indices}) {number}"
        if what == "is_active_in":
            return f"{head}({', '.join([CELL, *indices_inside(node, letters)])}) {self._bit(node, letters, CELL)}"
        if what == "is_active" and node.kind == "bitmasked":
            return f"{head}({indices}) {self._bit(node, letters)}"
        if what == "is_active":
            return f"{head}({indices}) ({self.identifier('number', node)}({indices}) >= {self._helper('FIRST_CELL')})"
        if what == "length":
            of_list = letters[: len(self._list_axes(node))]
            length = self.element("lengths", node, self._row(node, of_list))
            value, _ = self.language.converted("int", length, PRIMARY)
            return f"{head}({', '.join(of_list)}) {value}"
        return ""

    def _bit(self, node: Node, letters: Sequence[str], cell: str | None = None) -> str:
        """Return the test of the bit of a cell; other threads may change it if the kernel does."""
        is_fixed = self.language.has_pointers and ("mask", node) not in self.writes
        test = self._helper("fixed_bit_is_set" if is_fixed else "bit_is_set")
        return f"{test}({self.as_argument('mask', node)}, {self._entry(node, letters, cell)})"

    def of_pool(self, node: Node, what: str) -> str:
        """Return a counter of a pool, or its cells."""
        return f"{self.expressions['pool', node]}{self.language.arrow}{what}"

    def element(self, what: str, node: Node, index: str) -> str:
        """Return an element of an array of 32-bit words."""
        return f"{self.expressions[what, node]}{'' if self.language.has_pointers else '.v'}[{index}]"

    def as_argument(self, what: str, node: Node) -> str:
        """Return a member of `Args` as an argument of a function."""
        member = self.expressions[what, node]
        if self.language.has_pointers or what == "capacity":
            return member
        plain = what != "pool" and (what, node) not in self.writes
        return f"{self._helper(REFERENCES[what])}({member})" if self.wraps or plain else member

    # --- positions of entries

    def _entry(self, node: Node, letters: Sequence[str], cell: str | None = None) -> str:
        """Return the position of a cell among the numbers, or bits, of its node. cell: the pool's around it."""
        cell = self._cell_above(node, node, letters) if cell is None else cell
        if ("position", node) in self.needs:
            return f"{self.identifier('position', node)}({', '.join([cell, *indices_inside(node, letters)])})"
        return self._linear(node, letters, cell)

    def _linear(self, node: Node, letters: Sequence[str], cell: str) -> str:
        """Return the same as an expression."""
        path = path_in_part(node)
        if node.kind == "dynamic":
            row, is_sum = linear_sum(path[:-1], node, letters, self.target, cell)
            return _sum(_product(row, chunks_of(node), is_sum), self._chunk(node, letters))
        if node.kind == "bitmasked" and cell:
            own = linear(path, node, letters, self.target) if indices_inside(node, letters) else "0"
            return _sum(_product(cell, mask_words(node) * 32), grouped(own) if own in LETTERS else own)
        return linear(path, node, letters, self.target, cell)

    def _chunk(self, node: Node, letters: Sequence[str]) -> str:
        """Return which chunk of its list contains an item."""
        if chunks_of(node) == 1:
            return "0"
        item = as_unsigned(self.language, self._item(node, letters))
        return f"{item} / {node.chunk}" if node.chunk > 1 else item

    def _item(self, node: Node, letters: Sequence[str]) -> str:
        """Return the position of an item in its list."""
        (axis,) = node.axes
        letter = letters[axes_of(node).index(axis)]
        return f"{grouped(letter)} % {node.extents[0]}" if axis in self._list_axes(node) else letter

    def _row(self, node: Node, letters: Sequence[str], cell: str | None = None) -> str:
        """Return the number of a list. letters: indices of the node above."""
        if node.parent is None:
            return "0"
        cell = self._cell_above(node, node.parent, letters) if cell is None else cell
        (own,) = node.axes
        above = dict(zip(axes_of(node.parent), letters, strict=True))
        indices = [
            f"{grouped(above[axis])} * {node.extents[0]}" if axis == own and axis in above else above.get(axis, "0")
            for axis in axes_of(node)
        ]
        return linear(path_in_part(node)[:-1], node, indices, self.target, cell)

    def _list_axes(self, node: Node) -> list[int]:
        return [] if node.parent is None else axes_of(node.parent)

    def _cell_above(self, node: Node, counted: Node, letters: Sequence[str]) -> str:
        """Return the pool's cell that contains a cell of `node`, or "". letters: indices of `counted`."""
        pool = pool_above(node)
        return (
            ""
            if pool is None
            else f"{self.identifier('number', pool)}({', '.join(self.scaled(counted, pool, letters))})"
        )

    def scaled(self, node: Node, above: Node, letters: Sequence[str], unsigned: bool = True) -> list[str]:
        """Return the indices of the cell of `above` around a cell of `node`. unsigned: make dividends unsigned."""
        indices = []
        for axis, extent in zip(axes_of(above), shape_of(above), strict=True):
            dimension = axes_of(node).index(axis)
            ratio = shape_of(node)[dimension] // extent
            letter = letters[dimension]
            divided = as_unsigned(self.language, letter) if unsigned else letter
            indices.append(letter if ratio == 1 else f"{divided} / {ratio}")
        return indices

    # --- functions

    def _function(self, what: str, node: Node) -> str:
        """Return a function that changes activity."""
        of_list = what == "append" or (what == "deactivate" and node.kind == "dynamic")
        counted = node.parent if of_list else node
        letters: list[str] = [Atom(x) for x in LETTERS[: len(axes_of(counted))]] if counted is not None else []
        write = {"deactivate": self._deactivate, "append": self._append}.get(what)
        result, lines = self._activate(node, letters, what == "reserve") if write is None else write(node, letters)
        language = self.target.language
        parameters = ", ".join([*language.args_parameters, *(f"int {letter}" for letter in letters)])
        head = f"{language.helper_qualifier}{result} {self.identifier(what, node)}({parameters}) {{"
        return "\n".join([head, *(INDENT + line for line in lines), "}"])

    def _above(self, node: Node, counted: Node, letters: list[str], full: str) -> tuple[list[str], str]:
        """Return the lines that activate the cells around a cell, and the name of the pool's cell.

        full: the result if the pool has no cell left.
        """
        outer = sparse_above(node)[:-1]
        if not outer:
            return [], ""
        indices = self.scaled(counted, outer[-1], letters, unsigned=False)
        call = f"{self.identifier('activate', outer[-1])}({', '.join([*self.language.args, *indices])})"
        pool = pool_above(node)
        if pool is None:
            return [f"{call};"], ""
        name = self.name(pool)
        return [
            f"{self._u32} {name} = {call};",
            f"if ({name} == {self._helper('SPARE')}) {{",
            f"{INDENT}return {full};",
            "}",
        ], name

    @property
    def _u32(self) -> str:
        return self._helper(self.language.types["u32"])

    def _position(self, expression: str) -> str:
        """Return a position as an unsigned argument."""
        return self.language.unsigned_argument.format(expression)

    def _activate(self, node: Node, letters: list[str], is_appended: bool = False) -> tuple[str, list[str]]:
        lines, cell = self._above(node, node, letters, "SPARE")
        entry = self._position(self._entry(node, letters, cell))
        if node.kind == "bitmasked":
            lines.append(f"{self._helper('set_bit')}({self.as_argument('mask', node)}, {entry});")
            return (self._u32, [*lines, f"return {cell};"]) if cell else ("void", lines)
        if node.kind == "dynamic" and not is_appended:
            row = self._position(linear(path_in_part(node)[:-1], node, letters, self.target, cell))
            lines.append(
                f"{self._helper('lengthen')}({self.as_argument('lengths', node)}, {row}, {self._item(node, letters)});"
            )
        return self._u32, [*lines, *self._call("activate_cell", node, entry, "return ")]

    def _deactivate(self, node: Node, letters: list[str]) -> tuple[str, list[str]]:
        if node.kind == "bitmasked":
            entry = self._position(self._entry(node, letters))
            return "bool", [f"return {self._helper('clear_bit')}({self.as_argument('mask', node)}, {entry});"]
        if node.kind == "pointer":
            return "void", self._call("deactivate_cell", node, self._position(self._entry(node, letters)))
        row, chunks = self._row(node, letters), chunks_of(node)
        lines = [f"{self._u32} list = {self._position(row)};", f"{self.element('lengths', node, 'list')} = 0u;"]
        entry = _sum(_product("list", chunks), self._position("chunk"))
        if chunks == 1:
            return "void", [*lines, f"{self.deactivate_cell(node, 'list')};"]
        lines.append(f"for (int chunk = 0; chunk < {chunks}; chunk++) {{")
        return "void", [*lines, f"{INDENT}{self.deactivate_cell(node, entry)};", "}"]

    def _call(self, helper: str, node: Node, entry: str, before: str = "") -> list[str]:
        """Return the lines that call a function for the cell at a position of the numbers of a node."""
        pool, capacity = self.as_argument("pool", node), self.as_argument("capacity", node)
        numbers, function = self.as_argument("numbers", node), f"{before}{self._helper(helper)}"
        line = f"{function}({numbers}, {entry}, {pool}, {capacity});"
        if len(line) <= LONGEST:
            return [line]
        name = next(name for name in ("entry", "position", "index") if name not in self.names.values())
        return [f"{self._u32} {name} = {entry};", f"{function}({numbers}, {name}, {pool}, {capacity});"]

    def deactivate_cell(self, node: Node, entry: str) -> str:
        """Return the call that deactivates the cell at a position of the numbers of a node."""
        pool, capacity = self.as_argument("pool", node), self.as_argument("capacity", node)
        return f"{self._helper('deactivate_cell')}({self.as_argument('numbers', node)}, {entry}, {pool}, {capacity})"

    def _append(self, node: Node, letters: list[str]) -> tuple[str, list[str]]:
        lines, cell = self._above(node, node.parent or node, letters, "-1")
        row = self._position(self._row(node, letters, cell))
        lengths, pool = self.as_argument("lengths", node), self.as_argument("pool", node)
        return "int", [*lines, f"return {self._helper('append_item')}({lengths}, {row}, {node.extents[0]}, {pool});"]


def _identifier(what: str, name: str) -> str:
    """Return the name of a member, macro or function of a node of that name: GLSL allows no `__`."""
    stem = name.rstrip("_") or "v"
    return f"{what}_{stem.lstrip('_')}" if what in FUNCTIONS else f"{stem}_{what}"


def _identifiers(whats: Iterable[str], name: str) -> list[str]:
    return [_identifier(what, name) for what in whats]


def _note(need: NodeUse, name: str) -> str:
    """Return the comment at a member. name: of the node."""
    what, node = need
    if what == "pool" and not node.has_pool:
        return f"{name}: the length of the list of its active cells"
    cell, part = ("chunk", " part of a list") if node.kind == "dynamic" else ("cell", "")
    return NOTES[what].format(node=name, cell=cell, part=part)


def indices_inside(node: Node, letters: Sequence[str]) -> list[str]:
    """Return the indices that are needed if the cell of the pool above is known."""
    needed = {component.dimension for component in cell_components(node) if component.extent > 1}
    return [letters[dimension] for dimension in sorted(needed)]


def as_unsigned(language: Language, index: str) -> str:
    """Return an index as unsigned, so that its division is fast."""
    return language.as_unsigned(index, PRIMARY if isinstance(index, Atom) else 0)


def _product(number: str, factor: int, is_sum: bool = False) -> str:
    return number if factor == 1 or number == "0" else f"{_operand(number, is_sum)} * {factor}"


def _operand(number: str, is_sum: bool) -> str:
    """Return a number as a factor. Arguments of macros may be any expression."""
    if number in LETTERS:
        return grouped(number)
    return f"({number})" if is_sum or number == CELL else number


def _sum(first: str, second: str) -> str:
    terms = [term for term in (first, second) if term != "0"]
    return " + ".join(terms) or "0"
