"""What printers must know of a language: one frozen object a language, asked by properties that say why.

In: the tables and functions of a language's own folder. Out: `Language`; `registry.LANGUAGES` has them all. Nothing
here, and nothing outside a language's folder, compares the name of a language: what differs by value is a field, what
differs in shape is a function among the fields, and a caller asks for the property that makes the difference
(`has_pointers`, `converts_by_constructor`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ....ir.threads import Barrier
from ....ir.types import Scalar, Tensor, Type
from .syntax_forms import PRIMARY, UNARY, Generated, Syntax


@dataclass(frozen=True, kw_only=True, slots=True)
class Literals:
    """How numbers are written.

    float_suffixes, integer_suffixes: by type, for 32 bits and more; f16 has one too.
    infinities, nans: by type of float.
    half: how an f16 is made of the decimal {0}; None where its suffix does that.
    converts_small: an integer of 8 or 16 bits is written by the constructor of its type, since none has a literal.
    """

    float_suffixes: Mapping[str, str]
    integer_suffixes: Mapping[str, str]
    infinities: Mapping[str, Syntax]
    nans: Mapping[str, Syntax]
    half: Syntax | None = None
    converts_small: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Warp:
    """What lanes of a warp call to ask one another; all but `active` take the mask of those that take part first.

    active: the expression for the lanes that are here by chance. uniform: whether all give the same truth.
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
    """One language. Objects are compared by identity, so that caches by language are quick.

    Files
    name: as people call it, for messages.
    target: the target whose devices run it; `BackendModule.target`.
    suffix: of source files.
    templates: folder of the skeletons below `templates/`, and their suffix.
    libraries: folder of the helper libraries below `templates/`, and their suffix.
    own_library: chunks in place of those of the libraries, or besides.
    built_in: names that chunks of the libraries define and that this language has without them.
    file_per_task: one entry a file, since an entry point is a file there.
    includes: headers that every source has.
    headers: what other headers declare of the names that sources use; a source has those that it needs.

    Names
    reserved: what nothing may be called.
    functions: what a local variable may be called where nothing calls it.
    reserved_members, reserved_types: what no member, no type may be called besides.

    Scalars
    types: names by ours.
    declared_types: those of ours whose name a helper library declares.
    operation, cast, bit_cast: how operations on scalars and conversions are written (`syntax`).
    coarse: whether an operation is less exact than fast_math=False asks for; `operation` then takes `EXACT + op`.
    converts_by_constructor: `int(x)`, else `(int)x`.
    converts_to_parameter: a number given to a function turns into the type of its parameter by itself.
    unsigned: the type of an unsigned number of 32 bits, as a conversion names it.
    unsigned_argument: how an int is given to a helper that takes an unsigned number.
    computes_small_as_int: arithmetic on integers of 8 and 16 bits, and on f16, gives wider numbers.

    Vectors, matrices and structs
    has_vectors: vectors of 2 to 4 and float matrices up to 4x4 are types of the language, with operators; all other
        tensors, and without it all, are structs that are generated.
    has_operators: functions on tensors are operators, and overloaded: `a + b`, `dot(a, b)`; else `vec3_add(a, b)`.
    tensor_operation, tensor_cast: what the language writes itself, None where a function is generated.
    struct_declaration: {body}, {name}.
    struct_literal: {type}, {values}; the braces nest without types where `has_braces`, else constructors do.
    zero_values: the values of a literal whose parts are all 0; None where each part has to be written.
    braces_refuse_narrowing: C++ takes no int for a member of 8 or 16 bits.
    size_check: the word that asserts the size of a struct when it is compiled; "" where there is none.
    struct_tag: before the names of `Args`, `Temporaries` and `Result`.
    pads_structs: scalar block layout leaves out the padding at the end of a struct, so a member fills it up.
    bool_in_memory: else u1 is a byte there.

    Memory
    has_pointers: arrays are typed pointers, else buffer references.
    arrow: from a pointer to a struct to its member.
    volatile_load: how {0} is read where other threads write it and a cache may be stale.
    forwards_by_copy: members of `Args` in a readonly block cannot be passed on, their copy can.
    precise: memory of floats can be declared so that each operation is rounded by itself.
    texture_handles: type of a member of `Args` for a texture that is sampled, and for one that is stored to.
    texture_helpers: what declares these.
    samples_by_object: texels of a sampled texture are read through another object than it is sampled by, and how many
        channels there are is told.

    Functions
    helper_qualifier: before functions that files carry. function_qualifier: before the user's.
    args_parameter: the declaration of `Args` as a parameter; "" where arguments are global.
    reference: {type}, {name}: a parameter that is changed for the caller; a pointer where `reference_is_pointer`.
    no_parameters: between the parentheses of a function without.
    warns_of_unused: compilers warn of parameters that nothing reads.

    Threads
    nested_loops: a parallel loop is printed as loops, counted in int; else as one thread an iteration, unsigned.
    shared_qualifier, shared_start: before and behind the declaration of an array that a block shares.
    thread_numbers: by kind of `ThreadIndex`; {0} is the number of the thread in the loop.
    warp: what questions of a subgroup call where they name the lanes that take part; None where they do not.
    barrier: the calls that a barrier is; in: the barrier, whether threads hand one another values in buffers, lanes.
    collective: how a question is written; in: operation, type of the value, lanes.
    collective_helper, atomic, atomic_helper, texel_helper: see `collectives`, `atomics`, `texture_functions`.
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
    coarse: Callable[[str, Scalar], bool]
    converts_by_constructor: bool = True
    converts_to_parameter: bool = False
    unsigned: str
    unsigned_argument: str = "{}"
    computes_small_as_int: bool = True

    has_vectors: bool = False
    has_operators: bool = False
    tensor_operation: Callable[[str, Sequence[Type], Type], Syntax | None]
    tensor_cast: Callable[[Tensor, Tensor, bool], Syntax | None]
    struct_declaration: str = "struct {name} {{\n{body}\n}};"
    struct_literal: str
    has_braces: bool = True
    zero_values: str | None = None
    braces_refuse_narrowing: bool = False
    size_check: str = ""
    struct_tag: str = ""
    pads_structs: bool = False
    bool_in_memory: bool = True

    has_pointers: bool = True
    arrow: str = "->"
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

    nested_loops: bool = False
    shared_qualifier: str = ""
    shared_start: str = ""
    thread_numbers: Mapping[str, Syntax]
    warp: Warp | None = None
    barrier: Callable[[Language, Barrier, bool, str], list[Syntax]]
    collective: Callable[[Language, str, Scalar | None, str], Syntax]
    collective_helper: Callable[[Language, str, Scalar | None, frozenset[str]], Generated]
    atomic: Callable[[str, Scalar, bool], Syntax]
    atomic_helper: Callable[[Language, str, Scalar], str]
    texel_helper: Callable[[Language, str, str, int], tuple[str, list[str], list[str]]]

    extensions: Mapping[str, str] = field(default_factory=dict)
    """By name that a source has in it, what has to be enabled for it."""
    type_extensions: Mapping[str, str] = field(default_factory=dict)
    """By type of ours."""

    @property
    def names_lanes(self) -> bool:
        """Whether a question of a subgroup names the lanes that take part."""
        return self.warp is not None

    @property
    def has_tensor_assignment(self) -> bool:
        """Whether `v += w` exists for vectors and matrices."""
        return self.has_vectors or self.has_operators

    @property
    def args(self) -> list[str]:
        """What a call passes on so that the function reaches arguments: nothing where they are global."""
        return ["args"] if self.args_parameter else []

    @property
    def args_parameters(self) -> list[str]:
        """The parameter that takes `args`."""
        return [self.args_parameter] if self.args_parameter else []

    def as_unsigned(self, text: str, precedence: int = 0) -> str:
        """Return a number of 32 bits made unsigned. precedence: of `text`."""
        return self.converted(self.unsigned, text, precedence)[0]

    def literal(self, name: str, values: str) -> tuple[str, str]:
        """Return a struct made of values, and how it is written where a declaration gives its type already."""
        text = self.struct_literal.format(type=name, values=values)
        return text, f"{{{values}}}" if self.has_braces else text

    def converted(self, name: str, text: str, precedence: int = 0) -> tuple[str, int]:
        """Return a number converted to the type `name`, and how tight that binds. precedence: of `text`."""
        if self.converts_by_constructor:
            return f"{name}({text})", PRIMARY
        return (f"({name}){text}" if precedence >= UNARY else f"({name})({text})"), UNARY
