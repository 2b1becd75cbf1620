"""`Language`: the properties of an emitted language that printers depend on, one frozen object for each language.

In: the tables and functions of a language's own folder. Out: `Language`; `registry.LANGUAGES` has all of them. No code
outside the folder of a language compares names of languages: what differs by value is a field, what differs in
structure is a function among the fields, and a caller tests the property that matters (`has_pointers`,
`converts_by_constructor`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from ....ir.threads import Barrier
from ....ir.types import Scalar, Tensor, Type
from ....lazy_dataclasses import dataclass
from .syntax_forms import PRIMARY, UNARY, Generated, Syntax


@dataclass(frozen=True, kw_only=True, slots=True)
class Literals:
    """The syntax of numeric literals.

    float_suffixes, integer_suffixes: by type, for 32 bits and more; f16 has one too.
    infinities, nans: by type of float.
    half: converts the decimal {0} to f16; None if a suffix does that, for a compiler that may round toward zero.
    converts_small: an integer of 8 or 16 bits takes the constructor of its type, since it has no literal.
    has_binary: there are literals in base 2.
    """

    float_suffixes: Mapping[str, str]
    integer_suffixes: Mapping[str, str]
    infinities: Mapping[str, Syntax]
    nans: Mapping[str, Syntax]
    half: Syntax | None = None
    converts_small: bool = False
    has_binary: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Warp:
    """Names of the warp collectives; all but `active` take the mask of participating lanes first.

    active: the expression for the currently active lanes. uniform: whether the predicate is the same in all lanes.
    """

    shuffle: str
    shuffle_xor: str
    shuffle_up: str
    shuffle_down: str
    all: str
    any: str
    uniform: str
    ballot: str
    match_any: str
    synchronize: str
    active: str


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Language:
    """One language. Objects are compared by identity, so that caches keyed by language are fast.

    Files
    name: for messages.
    target: the target whose devices run it; `BackendModule.target`.
    suffix: of source files.
    templates: folder of the skeletons below `templates/`, and their suffix.
    libraries: folder of the helper libraries below `templates/`, and their suffix.
    own_library: chunks that replace or extend those of the libraries.
    built_in: names that chunks of the libraries define and that are built into this language.
    file_per_task: each file has one entry point.
    includes: headers that every source includes.
    headers: other headers, by the names that they declare; a source includes those that it needs.

    Names
    reserved: names that no declaration may have.
    functions: names that a local variable may have if its function does not call them.
    reserved_members, reserved_types: further names that no member, no type may have.

    Scalars
    types: names of scalar types, by IR type.
    declared_types: IR types whose name a helper library declares.
    operation, cast, bit_cast: return the syntax of operations on scalars and of conversions.
    lane_cast: returns the syntax of a conversion from or to f16 of which the compiler makes vectors, as it does not of
        `cast`; the operand is an element of an array, or a value that is stored there.
    coarse: whether an operation is less exact than fast_math=False requires; `operation` then takes `EXACT + op`.
    converts_by_constructor: `int(x)`, else `(int)x`.
    converts_to_parameter: an argument is converted implicitly to the type of its parameter.
    converts_explicitly: an unsigned number is no initial value of an int.
    unsigned: the unsigned type of 32 bits in a conversion.
    unsigned_argument: {} is an int that is passed to a helper as unsigned.
    undefined_overflow: compilers take for granted that signed sums do not wrap, so those that may are unsigned.
    reports_overflow: whoever runs the source reports signed sums that wrap, also where that makes no difference.
    computes_small_as_int: arithmetic on integers of 8 and 16 bits, and on f16, has wider results.

    constant: a template with {type} and {values} (`a = 1, b = 2`) for named numbers; integer_constant: for those of
        i32, if they have another. constant_types: names of types there, if the usual ones are declared later.

    Vectors, matrices and structs
    has_vectors: vectors of 2 to 4 and float matrices up to 4x4 are built-in types with operators. All other tensors are
        generated structs.
    has_operators: functions on tensors are overloaded operators and functions: `a + b`, `dot(a, b)`; else
        `vec3_add(a, b)`.
    tensor_operation, tensor_cast: return the syntax of a built-in operation, None if a function is generated.
    vectors: built-in structs of the members x, y, z, w, by element and size, which vectors are names of.
    struct_declaration: a template with {body} and {name}.
    aligned: a template with {name} and {bytes}, the name of a struct that is aligned more than its members are.
    struct_literal: a template with {type} and {values}; with `has_braces` braces nest without types, else constructors
        nest.
    zero_values: the values of a literal whose members are all 0; None if each member must be listed.
    braces_refuse_narrowing: C++ accepts no int for a member of 8 or 16 bits.
    size_check: the keyword that asserts the size of a struct at compile time; "" without one.
    struct_tag: before the names of `Args`, `Temporaries` and `Result`.
    pads_structs: scalar block layout omits the padding at the end of a struct, so a member is added for it.
    bool_in_memory: memory can hold bool; else u1 is stored as a byte.

    Memory
    has_pointers: arrays are typed pointers, else buffer references.
    offset: a template with {offset}, before a member of `Args` that is not directly after the one before it.
    restrict: what is behind the star of a pointer whose memory no other pointer of the kernel reaches.
    arrow: accesses a member through a pointer to a struct.
    read_only_load: a load of {} that nothing writes while the kernel runs.
    field_start: the pointer {} with the hint that it is a multiple of 16; "" without need of one.
    wide_access: several neighbours in memory as one vector; in: its {type}, {data} and {number} of the first, {lanes}.
    word_access: a number of a struct, a vector or a matrix in memory; in: its {type}, {data} and its {number} there.
    is_aligned: whether the address {data} is a multiple of {bytes}; `alignment_helpers`: keys of what this needs.
    volatile_load: a load of {} that other threads write, past a cache that may be stale.
    forwards_by_copy: members of `Args` in a readonly block must be copied before they are passed to a function.
    precise: qualifier of float variables for which each operation is rounded separately.
    texture_handles: type of a member of `Args` for a sampled texture, and for a storage texture.
    texture_helpers: helpers that declare these types.
    samples_by_object: a texture is sampled through one object and its texels are fetched through another; the number of
        channels is an argument.

    Functions
    helper_qualifier: before helper functions. function_qualifier: before functions of the user.
    args_parameter: the declaration of `Args` as a parameter; "" if arguments are global.
    reference: a template with {type} and {name} for a parameter passed by reference; `reference_is_pointer`: a pointer.
    no_parameters: the parameter list of a function without parameters.
    warns_of_unused: compilers warn about unused parameters.
    has_overloads: functions of one name may differ in the types of their parameters.
    template: before the head of a function of several types, with the {name} that stands for them; "" if there is none.

    Threads
    unroll: before the head of a loop that the compiler shall unroll; {count} is its trip count.
    unroll_some: the same of one of which it shall unroll {count} iterations; "" if there is no way to say so.
    unroll_helpers: keys of what these need.
    unrolled: iterations up to which the compiler unrolls loops before it looks for vectors; 0 without such a limit.
    nested_loops: a parallel loop is emitted as loops that count in int; else as one thread per iteration, unsigned.
    shared_qualifier, shared_start: before and after the declaration of an array shared by a block.
    shared_alignment: before the type of such an array whose place is a multiple of so many bytes; "" without a way.
    thread_numbers: by kind of `ThreadIndex`; {0} is the number of the thread in the loop.
    block_size: the threads of a block, if the launch chooses them.
    linear_index, folded_index: the number of a thread of a grid with one axis, with two; {block} threads a block.
    block_index, only_index: the number of its block, and its own in the block; "" if sources use the first alone.
    entry: the head of a task's entry, with {name} and {block}; serial_entry: of a serial one.
    warp: functions of subgroup collectives that take the participating lanes; None if collectives take no lanes.
    barrier: returns the calls of a barrier; in: the barrier, whether it orders buffers, lanes.
    collective: returns the syntax of a collective; in: operation, type of the value, lanes.
    collective_helper, atomic, atomic_helper, texel_helper: see `collectives`, `atomics`, `texture_functions`.
    block_reduction: see `collectives`; None if threads are iterations of loops.
    """

    name: str
    target: str
    suffix: str
    templates: tuple[str, str]
    libraries: tuple[str, str]
    own_library: str = ""
    built_in: frozenset[str] = frozenset()
    file_per_task: bool = False
    includes: tuple[str, ...] = ()
    headers: Mapping[str, frozenset[str]] = field(default_factory=dict)

    reserved: frozenset[str]
    functions: frozenset[str]
    reserved_members: frozenset[str] = frozenset()
    reserved_types: frozenset[str] = frozenset()

    types: Mapping[str, str]
    declared_types: frozenset[str] = frozenset()
    literals: Literals
    operation: Callable[[str, Scalar], Syntax]
    cast: Callable[[Scalar, Scalar], Syntax]
    bit_cast: Callable[[Scalar, Scalar], Syntax]
    lane_cast: Callable[[Scalar, Scalar], Syntax] | None = None
    coarse: Callable[[str, Scalar], bool]
    converts_by_constructor: bool = True
    converts_to_parameter: bool = False
    converts_explicitly: bool = False
    unsigned: str
    unsigned_argument: str = "{}"
    undefined_overflow: bool = False
    reports_overflow: bool = False
    computes_small_as_int: bool = True

    constant: str = "const {type} {values};"
    integer_constant: str = ""
    constant_types: Mapping[str, str] = field(default_factory=dict)

    has_vectors: bool = False
    has_operators: bool = False
    tensor_operation: Callable[[str, Sequence[Type], Type], Syntax | None]
    tensor_cast: Callable[[Tensor, Tensor, bool], Syntax | None]
    vectors: Mapping[tuple[str, int], str] = field(default_factory=dict)
    struct_declaration: str = "struct {name} {{\n{body}\n}};"
    aligned: str = ""
    struct_literal: str
    has_braces: bool = True
    zero_values: str | None = None
    braces_refuse_narrowing: bool = False
    size_check: str = ""
    struct_tag: str = ""
    pads_structs: bool = False
    bool_in_memory: bool = True

    has_pointers: bool = True
    offset: str = ""
    restrict: str = ""
    arrow: str = "->"
    read_only_load: str = "{}"
    field_start: str = ""
    wide_access: str = ""
    word_access: str = ""
    is_aligned: str = ""
    alignment_helpers: tuple[str, ...] = ()
    volatile_load: str = "{}"
    forwards_by_copy: bool = False
    precise: str = ""
    texture_handles: tuple[str, str] = ("", "")
    texture_helpers: tuple[str, ...] = ()
    samples_by_object: bool = False

    helper_qualifier: str = ""
    function_qualifier: str = ""
    args_parameter: str = ""
    reference: str
    reference_is_pointer: bool = False
    no_parameters: str = ""
    warns_of_unused: bool = False
    has_overloads: bool = False
    template: str = ""

    unroll: str = "#pragma unroll\n"
    unroll_some: str = "#pragma unroll {count}\n"
    unroll_helpers: tuple[str, ...] = ()
    unrolled: int = 0
    nested_loops: bool = False
    shared_qualifier: str = ""
    shared_start: str = ""
    shared_alignment: str = ""
    thread_numbers: Mapping[str, Syntax]
    block_size: str = ""
    linear_index: str = ""
    block_index: str = ""
    only_index: str = ""
    folded_index: str = ""
    entry: str = ""
    serial_entry: str = ""
    warp: Warp | None = None
    barrier: Callable[[Language, Barrier, bool, str], list[Syntax]]
    collective: Callable[[Language, str, Scalar | None, str], Syntax]
    collective_helper: Callable[[Language, str, Scalar | None, frozenset[str]], Generated]
    atomic: Callable[[str, Scalar, bool], Syntax]
    atomic_helper: Callable[[Language, str, Scalar], str]
    texel_helper: Callable[[Language, str, str, int], tuple[str, list[str], list[str]]]
    block_reduction: Callable[[Language, str, Scalar | Tensor, tuple[str, ...]], tuple[str, tuple[str, ...]]] | None = (
        None
    )

    extensions: Mapping[str, str] = field(default_factory=dict)
    """Identifier in a source -> the extension that it requires."""
    type_extensions: Mapping[str, str] = field(default_factory=dict)
    """IR type -> the extension that it requires."""

    @property
    def names_lanes(self) -> bool:
        """Whether a subgroup collective takes the participating lanes."""
        return self.warp is not None

    @property
    def has_wide_indices(self) -> bool:
        """Whether an index of several axes is a 64-bit number: a 32-bit one may wrap in C (`-fwrapv`), so that gcc does
        not see that neighbours along an axis are neighbours in memory, and gathers and scatters them."""
        return self.has_pointers and not self.undefined_overflow

    @property
    def has_tensor_assignment(self) -> bool:
        """Whether `v += w` exists for vectors and matrices."""
        return self.has_vectors or self.has_operators

    @property
    def args(self) -> list[str]:
        """The arguments that give a function access to `Args`: none if it is global."""
        return ["args"] if self.args_parameter else []

    @property
    def args_parameters(self) -> list[str]:
        """The parameter that takes `args`."""
        return [self.args_parameter] if self.args_parameter else []

    def as_unsigned(self, source: str, precedence: int = 0) -> str:
        """Return a number of 32 bits converted to unsigned. precedence: of `source`."""
        return self.converted(self.unsigned, source, precedence)[0]

    def literal(self, name: str, values: str) -> tuple[str, str]:
        """Return a struct literal, and its form for the initializer of a declaration, which has the type already."""
        literal = self.struct_literal.format(type=name, values=values)
        return literal, f"{{{values}}}" if self.has_braces else literal

    def converted(self, name: str, source: str, precedence: int = 0) -> tuple[str, int]:
        """Return a number converted to the type `name`, and the precedence of that. precedence: of `source`."""
        if self.converts_by_constructor:
            return f"{name}({source})", PRIMARY
        return (f"({name}){source}" if precedence >= UNARY else f"({name})({source})"), UNARY
