"""Renders values as expressions: operations with the parentheses they need, lvalues, short-circuit choices.

In: statements and the layout. Out: `Rendered`, an expression with its precedence. A value that is printed inside its
user is remembered until then; a value with a variable is rendered as the name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...errors import InternalError
from ...ir.constants import is_constant_array
from ...ir.functions import Call, CallResult, Function, Reference
from ...ir.nodes import Block, Statement
from ...ir.ops import WRAPPING
from ...ir.origins import BLOCK_SIZE, CAST, NAMED
from ...ir.snodes import pool_above
from ...ir.sparse import address_operands
from ...ir.statements import (
    Alloca,
    ArgLoad,
    Array,
    ArrayShape,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalTemporary,
    IfExp,
    IsAligned,
    ListInit,
    ListItem,
    LocalLoad,
    LoopIndex,
    MatrixElement,
    MatrixInit,
    MatrixPtr,
    Operation,
    Parameter,
    StructElement,
    StructInit,
    StructPtr,
    Temporary,
    base_pointer,
    is_const,
)
from ...ir.types import Scalar, Struct, Tensor, Type, i64, scalars_of
from ..languages.common.symbols import Symbols
from ..languages.common.syntax import (
    cast_syntax,
    constant_syntax,
    constructor_operands,
    declared_name,
    element_syntax,
    extended,
    init_syntax,
    load_syntax,
    operation_syntax,
    printed_operands,
    splat_syntax,
    store_syntax,
    stored_type,
    swizzle,
    unconverted,
)
from ..languages.common.syntax_forms import EQUAL, INFIX, OR, PRIMARY, TERNARY, UNARY, Rendered, Syntax
from ..languages.common.target import Target
from ..languages.common.tensors import is_native, is_short_vector, literal_of, narrows, zero_of
from ..layout.accessors import UsedMemory, passed_accessor
from ..layout.args_members import WIDENED
from ..layout.layout import Layout
from ..layout.signatures import Signature
from . import conversions, wrapping
from .local_memory import element_by_pointer, element_of_parameter
from .repetition import is_same

WRAPPED = frozenset(WRAPPING.values())
LOGICAL = frozenset({"{0} && {1}", "{0} || {1}"})
"""Operations whose order of evaluation is the same however they are grouped."""


class Expressions:
    """The rendered values of one function. loop_names: of loop indices. step_names: of steps that a launch chooses."""

    def __init__(self, target: Target, layout: Layout) -> None:
        self.target, self.language, self.layout = target, target.language, layout
        self.rendered: dict[Statement, Rendered] = {}
        self.helpers: dict[str, None] = {}
        self.names_of_types: dict[Type, str] = {}
        self.loop_names: dict[tuple[Statement, int], str] = {}
        self.step_names: dict[tuple[Statement, int], str] = {}
        self.indices_used: set[tuple[Statement, int]] = set()
        self.used = UsedMemory()
        self.structs_used: dict[Struct, None] = {}
        self.uses_args = False
        self.signatures: Mapping[Function, Signature] = {}
        self.passed: dict[Array, str] = {}
        """Arrays that are parameters of the function that is printed, and their names."""
        self.symbols = Symbols()
        self.variables_used: set[str] = set()
        """Names of variables and parameters that the source reads or writes."""
        self.parameters: dict[Parameter, str] = {}
        """Names of the parameters of a real function; those of a kernel are members of `args`."""
        self.index, self.failed = "0u", "failed"
        self.random = "&rng" if target.language.reference_is_pointer else "rng"
        """Arguments of calls: the number of the iteration, whether a check failed, the stream of random numbers."""
        self.variables: set[Parameter] = set()
        """Parameters passed by reference that are variables here: the accumulators of an entry."""
        self.block: Any = None
        self.lanes: Any = None
        self.block_size = ""
        """The name of the number of threads in a block."""
        self.variable_names: dict[Statement, str] = {}
        self.innermost: dict[Statement, bool] = {}
        self.local_arrays: frozenset[Statement] = frozenset()
        self.element_pointers: Mapping[Statement, Array] = {}
        self.own_arrays: frozenset[Array] = frozenset()
        """Arrays of which a thread may have a copy of its own, to which it adds without atomic operations."""

    def of(self, value: Statement) -> Rendered:
        """Return a value: its name, its remembered expression, or an argument, a number, an index."""
        rendered = self.rendered.get(value)
        if rendered is None:
            rendered = self.rendered[value] = self.compute(value)
        return rendered

    def operand(self, value: Statement, needed: int, template: str = "") -> str:
        """Return the source of a value, in parentheses if its precedence is below `needed`."""
        rendered = self.of(value)
        is_tight = rendered.precedence >= needed or (template and rendered.template == template)
        return rendered.source if is_tight else f"({rendered.source})"

    def compute(self, value: Statement) -> Rendered:
        """Render a value from its operands."""
        try:
            write = WRITERS[type(value)]
        except KeyError:
            raise InternalError(f"emit: a {type(value).__name__} cannot be printed as a value") from None
        return write(self, value)

    def formatted(self, syntax: Syntax, *operands: Statement) -> Rendered:
        """Return a syntax filled with operands."""
        self.use(syntax)
        template, known, texts = syntax.template, self.rendered, []
        chains, is_first = template in LOGICAL, syntax.chain
        for operand, needed in zip(operands, syntax.operand_precedence):
            rendered = known.get(operand) or self.of(operand)
            is_tight = rendered.precedence >= needed or ((chains or is_first) and rendered.template == template)
            texts.append(rendered.source if is_tight else f"({rendered.source})")
            is_first = False
        inverse = texts[0] if template == "!{0}" else ""
        bare = syntax.bare and syntax.bare.format(*texts)
        return Rendered(template.format(*texts), syntax.precedence, template, inverse, bare)

    def use(self, syntax: Syntax) -> None:
        """Record the helpers and names of a syntax."""
        if syntax.helpers:
            self.need(*syntax.helpers)
        if syntax.template not in self.symbols.templates:
            self.symbols.use(syntax)

    def need(self, *helpers: str) -> None:
        """Record helpers that the file must contain."""
        for helper in helpers:
            self.helpers[helper] = None

    def name_of_type(self, type: Type) -> str:
        """Return the name of a type in registers, and record what declares it."""
        if type not in self.names_of_types:
            self.names_of_types[type] = self._new_name_of_type(type)
        return self.names_of_types[type]

    def _new_name_of_type(self, type: Type) -> str:
        if isinstance(type, Struct):
            self.symbols.name_types(self.language, [scalar.name for scalar in scalars_of(type)])
            self.structs_used[type] = None
            self.need(*self.layout.structs.helpers(type, False))
            return self.layout.structs.name_of_type(type, False)
        name, helpers, named = declared_name(self.language, type)
        self.symbols.named.update(named)
        self.need(*helpers)
        return name

    # --- lvalues

    def lvalue(self, pointer: Statement) -> str:
        """Return the lvalue of memory or of a local variable."""
        match pointer:
            case GlobalPtr():
                return self._element_of_array(pointer)
            case Alloca():
                name = self.rendered[pointer].source
                self.variables_used.add(name)
                return name
            case GlobalTemporary(temporary=temporary):
                return self.temporary(temporary)
            case Reference():
                return f"*{self.parameter_of(pointer)}" if self.is_pointer(pointer) else self.parameter_of(pointer)
            case MatrixPtr(origin=Reference() as origin, indices=indices) if self.is_pointer(origin):
                return element_of_parameter(self, self.parameter_of(origin), origin.type, indices)
            case MatrixPtr(origin=Alloca() as origin, indices=indices) if origin in self.local_arrays:
                return f"{self.lvalue(origin)}{''.join(f'[{self.of(i).source}]' for i in indices)}"
            case MatrixPtr(origin=origin, indices=indices):
                return self.element(self.lvalue(origin), origin.type, indices, True).source
            case StructPtr(origin=origin, member=member):
                name = self.member_name(origin.type, member)
                if self.is_pointer(origin):
                    return f"{self.parameter_of(origin)}->{name}"
                return f"{self.lvalue(origin)}.{name}"
        raise InternalError(f"emit: a {type(pointer).__name__} is no lvalue")

    def _element_of_array(self, pointer: GlobalPtr) -> str:
        """Return the lvalue of an element of an array."""
        array, used = pointer.array, self.used
        if array.is_shared:
            used.arrays[array] = None
            return f"{self.layout.accessors.names[array]}{''.join(f'[{self.of(i).source}]' for i in pointer.indices)}"
        if self.element_pointers and (text := element_by_pointer(self, pointer)):
            return text
        if pointer.cell is not None:
            used.inside[array] = None
            self.uses_args = True
            name, _ = self.layout.accessors.inside[array]
            return f"{name}({', '.join(self.of(operand).source for operand in address_operands(pointer))})"
        if array in self.passed:
            name = self.passed[array]
            used.passed[passed_accessor(array, name, self.layout.memory)] = None
            extents = (self.layout.constants.extent(array, axis) for axis in range(1, array.ndim) if array.shape)
            used.constants |= dict.fromkeys(extents)
        else:
            name = self.layout.accessors.name_of(pointer)
            used.add(pointer)
            self.uses_args = True
            if array.place is not None and (pool := pool_above(array.place)) is not None:
                used.cells["number", pool] = None
        sources = wrapping.wide_sums(self.language, pointer.indices, self.of, self.parameters, self.innermost)
        return f"{name}({', '.join(sources)})"

    def temporary(self, temporary: Temporary) -> str:
        """Return the lvalue of a value that crosses tasks."""
        self.uses_args = True
        self.used.temporaries[temporary] = None
        return self.layout.temporaries.expressions[temporary]

    def is_pointer(self, pointer: Statement) -> bool:
        """Return whether an lvalue is accessed through a parameter that is a pointer."""
        is_reference = isinstance(pointer, Reference) and pointer.parameter not in self.variables
        return is_reference and self.language.reference_is_pointer

    def parameter_of(self, pointer: Statement) -> str:
        """Return the name of the parameter through which an lvalue is accessed."""
        assert isinstance(pointer, Reference)
        name = self.parameters[pointer.parameter]
        self.variables_used.add(name)
        return name

    def element(self, owner: str, tensor: Type | None, indices: Sequence[Statement], is_lvalue: bool) -> Rendered:
        """Render an element of the tensor `owner`."""
        assert isinstance(tensor, Tensor)
        numbers = [int(i.value) if isinstance(i, Const) else None for i in indices]  # printed without their names
        syntax = element_syntax(self.language, tensor, numbers, is_lvalue)
        self.use(syntax)
        computed = ("" if number is not None else self.of(i).source for i, number in zip(indices, numbers))
        return Rendered(syntax.format(owner, *computed), syntax.precedence)

    def member_name(self, struct: Type | None, member: str) -> str:
        """Return the name of a struct's member in the source."""
        assert isinstance(struct, Struct)
        return self.layout.structs.members[struct][member]

    def is_in_memory(self, pointer: Statement) -> bool:
        """Return whether the value at `pointer` has its memory form, as members of stored structs have.

        Shared memory of a block has values in their register form.
        """
        base = pointer
        if base.__class__ is GlobalPtr:
            return not base.array.is_shared
        if isinstance(base, MatrixPtr):
            base = base.origin
        if isinstance(base, StructPtr):
            return base.origin.type in self.layout.structs.stored
        return not isinstance(base, (Alloca, Reference)) and not is_shared(base)

    def loaded(self, lvalue: str, kind: Type | None) -> Rendered:
        """Render the value that is read from an lvalue in memory."""
        assert kind is not None
        if isinstance(kind, Struct) or stored_type(self.language, kind) is kind:
            return Rendered(lvalue)
        syntax = load_syntax(self.language, kind)
        self.use(syntax)
        return Rendered(syntax.format(lvalue), syntax.precedence)

    def as_argument(self, argument: Statement, by_reference: bool) -> str:
        """Return an argument of a call: a value, or an lvalue for a pointer, a C++ reference or `inout`."""
        if not by_reference:
            return self.of(argument).source
        if isinstance(argument, Reference):
            return self.parameter_of(argument)
        return f"{'&' if self.language.reference_is_pointer else ''}{self.lvalue(argument)}"

    def data_of(self, array: Array) -> str:
        """Return the pointer by which the source reaches an array."""
        if array in self.passed:
            return self.passed[array]
        self.uses_args = True
        return self.layout.data[array]

    def passed_to(self, array: Array) -> str:
        """Return an array as an argument of a call."""
        if array in self.passed or not self.layout.copies_members:
            return self.data_of(array)
        return f"{self.layout.declared[array]}({self.data_of(array)})"

    def extent(self, array: Array, axis: int) -> str:
        """Return an extent of a field, by its name if it has one."""
        name = self.layout.constants.extent(array, axis)
        if not name.isdecimal():
            self.used.constants[name] = None
        return name

    def zero(self, kind: Type) -> Rendered:
        """Return the zero of a type."""
        if isinstance(kind, Struct):
            return _zero_struct(self, kind)
        if isinstance(kind, Scalar):
            return _const(self, Const(zero_of(kind), type=kind))
        return _init(self, MatrixInit([Const(zero_of(kind.element), type=kind.element)] * kind.size, type=kind))

    def to_memory(self, value: Statement) -> str:
        """Return the source of a value in its memory form, where u1 is a byte."""
        assert value.type is not None
        if isinstance(value.type, Struct):
            return self.of(value).source
        if stored_type(self.language, value.type) is value.type:
            return self.assigned(value)
        return self.formatted(store_syntax(self.language, value.type), value).source

    def assigned(self, value: Statement) -> str:
        """Return the source behind `name =` or `return`; in C++ a literal needs no type there."""
        rendered = conversions.assigned(self.language, value, self.of(value), self.of)
        return rendered.bare if rendered.bare and self.language.has_operators else rendered.assigned

    def template_of(self, value: Statement) -> str:
        """Return the template by which a value is printed, "" for a name."""
        return self.of(value).template

    def second_operand(self, operation: Operation) -> str:
        """Return what is behind the operator of `target op= value`."""
        value = unconverted(self.language, operation.operands[1], self.template_of)
        operand = self.wrapping_operand(value if isinstance(operation.type, Scalar) else operation.operands[1])
        if operation.op not in WRAPPED or not isinstance(operation.type, Scalar):
            return operand.source
        return wrapping.as_unsigned(self.language, operand, operation.type, self.name_of_type)

    def wrapping_operand(self, value: Statement) -> wrapping.Operand:
        """Return a value as an operand of a sum that may wrap."""
        rendered = conversions.assigned(self.language, value, self.of(value), self.of)
        return wrapping.Operand(value, rendered.source, rendered.precedence, rendered.unsigned)

    def negated(self, condition: Statement) -> str:
        """Return the source of `not condition`."""
        return self.of(condition).inverse or f"!{self.operand(condition, UNARY)}"

    def choice(self, value: IfExp) -> Rendered:
        """Render an IfExp whose branches need no lines."""
        then, otherwise = result_of(value.then), result_of(value.otherwise)
        if is_const(otherwise, False) and value.type == otherwise.type and value.type == value.condition.type:
            return self._logical("&&", value.condition, then)
        if is_const(then, True) and value.type == then.type and value.type == value.condition.type:
            return self._logical("||", value.condition, otherwise)
        texts = self.operand(value.condition, OR), self.operand(then, OR), self.operand(otherwise, TERNARY)
        return Rendered("{} ? {} : {}".format(*texts), TERNARY)

    def _logical(self, symbol: str, left: Statement, right: Statement) -> Rendered:
        precedence, need_left, need_right, _ = INFIX[symbol]
        template = f"{{0}} {symbol} {{1}}"
        texts = self.operand(left, need_left, template), self.operand(right, need_right, template)
        return Rendered(template.format(*texts), precedence, template)


def is_shared(pointer: Statement) -> bool:
    """Return whether `pointer` is in shared memory of a block of threads."""
    base = base_pointer(pointer)
    return isinstance(base, GlobalPtr) and base.array.is_shared


def result_of(block: Block) -> Statement:
    """Return the result of a block that has one."""
    assert block.result is not None
    return block.result


def _const(e: Expressions, value: Const) -> Rendered:
    """Render a number, or the expression of named numbers that it was made of."""
    origin, kind = value.origin, value.type
    if origin is not None and origin.op == NAMED and origin.key in e.layout.constants.names:
        assert kind is not None
        name = e.layout.constants.name(origin)
        e.used.constants[name] = None
        e.name_of_type(kind)
        return Rendered(name)
    if origin is not None and origin.op == BLOCK_SIZE and e.block_size:
        return Rendered(e.block_size)
    if origin is not None and origin.operands:
        assert isinstance(kind, Scalar)
        extension = e.language.type_extensions.get(kind.name)
        e.need(*([f"extension {extension}"] if extension else []))  # no statement may have this type
        parts: list[Statement] = [Const(o.number, o, o.notation, type=o.type) for o in origin.operands]
        if origin.op == CAST:
            return e.formatted(cast_syntax(e.language, Cast(parts[0], type=kind)), parts[0])
        operation = Operation(origin.op, parts, type=kind)
        operands = printed_operands(e.language, operation, e.template_of)
        return e.formatted(operation_syntax(e.language, operation), *operands)
    syntax = constant_syntax(e.language, value)
    e.use(syntax)
    return Rendered(syntax.template, syntax.precedence)


def _argument(e: Expressions, value: ArgLoad) -> Rendered:
    if value.parameter in e.parameters:
        name = e.parameters[value.parameter]
        e.variables_used.add(name)
        return Rendered(name)
    e.uses_args = True
    text = e.layout.parameters[value.parameter]
    if isinstance(value.type, Scalar) and value.type.name in WIDENED:
        return Rendered(*e.language.converted(e.name_of_type(value.type), text, PRIMARY))
    return e.loaded(text, value.type)


def _shape(e: Expressions, value: ArrayShape) -> Rendered:
    e.uses_args = True
    return Rendered(e.layout.shapes[value.array, value.axis])


def _is_aligned(e: Expressions, value: IsAligned) -> Rendered:
    e.need(*e.language.alignment_helpers)
    return Rendered(e.language.is_aligned.format(data=e.data_of(value.array), bytes=value.bytes), EQUAL)


def _index(e: Expressions, value: LoopIndex) -> Rendered:
    e.indices_used.add(key := (value.loop, value.axis))
    return Rendered(e.loop_names[key])


def _call(e: Expressions, value: Call) -> Rendered:
    """Render a call: first the context that the function takes, then the arguments."""
    signature = e.signatures[value.function]
    e.uses_args |= signature.takes_args
    texts = [
        *(["args"] if signature.takes_args else []),
        *([e.index] if signature.takes_index else []),
        *([e.random] if signature.takes_random else []),
        *([e.failed] if signature.may_fail else []),
        *(e.passed_to(array) for array in signature.arrays),
        *(e.as_argument(a, p.by_reference) for a, p in zip(value.arguments, value.function.parameters, strict=True)),
    ]
    return Rendered(f"{signature.name}{signature.type_argument}({', '.join(texts)})")


def _call_result(e: Expressions, value: CallResult) -> Rendered:
    assert isinstance(value.call, Call)
    return Rendered(f"{e.of(value.call).source}.{e.signatures[value.call.function].members[value.position]}")


def _load(e: Expressions, value: LocalLoad | GlobalLoad) -> Rendered:
    lvalue = e.layout.memory.loaded(value, e.lvalue(value.pointer))
    if e.is_in_memory(value.pointer):
        return e.loaded(lvalue, value.type)
    return Rendered(lvalue, UNARY if e.is_pointer(value.pointer) else PRIMARY)


def _operation(e: Expressions, value: Operation) -> Rendered:
    if value.op in WRAPPED and isinstance(value.type, Scalar):
        return _wrapping(e, value, value.type)
    e.uses_args |= value.by_launch
    syntax = e.layout.division(value) if value.by_launch else operation_syntax(e.language, value, e.target.exact)
    if value.op in ("add", "sub", "mul") and value.type == i64 and e.language.has_pointers:
        return e.formatted(syntax, *wrapping.widened_by_other(e.language, value, e.of))
    return e.formatted(syntax, *printed_operands(e.language, value, e.template_of))


def _wrapping(e: Expressions, value: Operation, kind: Scalar) -> Rendered:
    syntax = operation_syntax(e.language, value)
    operands = [e.wrapping_operand(operand) for operand in value.operands]
    total = wrapping.unsigned_sum(e.language, syntax, kind, operands, e.name_of_type)
    return Rendered(*wrapping.signed(kind, total, e.name_of_type), unsigned=total if kind.bits >= 32 else None)


def _cast(e: Expressions, value: Cast) -> Rendered:
    return wrapping.unsigned_cast(value, e.of(value.value)) or e.formatted(cast_syntax(e.language, value), value.value)


def _init(e: Expressions, value: MatrixInit) -> Rendered:
    assert isinstance(value.type, Tensor)
    first, kind, language = value.elements[0], value.type, e.language
    if len(value.elements) > 1 and all(is_same(first, other) for other in value.elements):
        if isinstance(first, Const) and repr(first.value) in ("0", "0.0", "False") and not is_short_vector(kind):
            name = e.name_of_type(kind)
            if language.zero_values is not None:
                return _literal(e, name, language.zero_values)
            if is_native(language, kind):  # a GLSL matrix of one number has that on its diagonal
                return Rendered(f"{name}({e.of(first).source})")
        is_short = is_short_vector(kind) and (isinstance(first, Const) or e.of(first).source.isidentifier())
        if not (language.has_pointers and is_short):
            return e.formatted(splat_syntax(language, kind), first)
    if narrows(language, kind.element):
        e.name_of_type(kind)
        texts = [conversions.in_braces(language, element, e.of, e.name_of_type) for element in value.elements]
        literal, bare = literal_of(language, kind, texts)
        return Rendered(literal, bare=bare)
    rendered = e.formatted(init_syntax(language, kind), *constructor_operands(language, value, e.template_of))
    if not is_native(language, kind):
        return rendered

    def source(element: Statement) -> str:
        return e.of(element).source

    return swizzle(value, source) or extended(value, e.name_of_type(kind), source) or rendered


def _matrix_element(e: Expressions, value: MatrixElement) -> Rendered:
    return e.element(e.operand(value.value, PRIMARY), value.value.type, value.indices, False)


def _list_init(e: Expressions, value: ListInit) -> Rendered:
    assert value.type is not None
    is_nested = e.language.has_braces and is_constant_array(value)
    texts = [e.of(item).initializer if is_nested else e.of(item).source for item in value.items]
    name = e.name_of_type(value.type)
    if narrows(e.language, value.type):
        texts = [conversions.in_braces(e.language, item, e.of, e.name_of_type) for item in value.items]
    values = ", ".join(texts)
    return Rendered(f"{{{values}}}" if e.language.has_braces else f"{name}[{len(texts)}]({values})")


def _list_item(e: Expressions, value: ListItem) -> Rendered:
    return Rendered(f"{e.of(value.origin).source}[{e.of(value.index).source}]")


def _struct_init(e: Expressions, value: StructInit) -> Rendered:
    assert isinstance(value.type, Struct)
    structs = e.layout.structs
    e.name_of_type(value.type)
    texts = []
    for member, (_, kind) in zip(value.values, value.type.members, strict=True):
        if structs.as_bytes(value.type, kind):
            texts.append(e.to_memory(member))
        else:
            texts.append(conversions.in_braces(e.language, member, e.of, e.name_of_type))
    return _literal(e, *structs.init(value.type, texts))


def _literal(e: Expressions, name: str, values: str) -> Rendered:
    text, bare = e.language.literal(name, values)
    return Rendered(text, bare=bare)


def _zero_struct(e: Expressions, kind: Struct) -> Rendered:
    """Render the struct of zeros: an empty initializer in C, all members in GLSL."""
    structs = e.layout.structs
    name = e.name_of_type(kind)
    if e.language.zero_values is not None:
        return _literal(e, name, e.language.zero_values)
    zeros = [e.zero(stored_type(e.language, t) if structs.as_bytes(kind, t) else t).source for _, t in kind.members]
    return _literal(e, *structs.init(kind, zeros))


def _struct_element(e: Expressions, value: StructElement) -> Rendered:
    struct = value.value.type
    assert isinstance(struct, Struct) and value.type is not None
    text = f"{e.operand(value.value, PRIMARY)}.{e.member_name(struct, value.member)}"
    return e.loaded(text, value.type) if struct in e.layout.structs.stored else Rendered(text)


WRITERS: dict[type, Callable[..., Rendered]] = {
    Const: _const,
    ArgLoad: _argument,
    ArrayShape: _shape,
    IsAligned: _is_aligned,
    LoopIndex: _index,
    LocalLoad: _load,
    GlobalLoad: _load,
    Call: _call,
    CallResult: _call_result,
    Operation: _operation,
    Cast: _cast,
    MatrixInit: _init,
    MatrixElement: _matrix_element,
    ListInit: _list_init,
    ListItem: _list_item,
    StructInit: _struct_init,
    StructElement: _struct_element,
    IfExp: Expressions.choice,
}
"""How each kind of value is printed."""
