"""Atomic operations: functions of the languages, or helpers with a compare-and-swap loop.

Helpers are generated from keys like "atomic min f32". C and CUDA pass the address of the target. GLSL has no addresses:
its helpers take the memory as an array of words and the index of the target among elements of its size,
`atomic_min_f32(AtomicU32(data), index, value)`, where `data` is any buffer reference. All return the old value; the
memory order is relaxed.
"""

from __future__ import annotations

from functools import lru_cache

from ....errors import UnsupportedError
from ....ir.ops import ATOMIC_OPS, MASKED_OPS
from ....ir.types import SCALARS, Scalar, Tensor
from . import tensors, wrapping
from .helpers import called
from .language import Language
from .literals import scalar_name
from .syntax_forms import ASSIGN, PRIMARY, Generated, Syntax

FUNCTIONS = {"add": "Add", "min": "Min", "max": "Max", "and": "And", "or": "Or", "xor": "Xor"}
"""Suffixes of the built-in functions: atomicAdd."""


SETTLING = frozenset({"min", "max", "and", "or"})
"""Operations after which most further ones change nothing: their loops end then, without a write."""


def is_native(atomics: frozenset[tuple[str, str]], op: str, type: Scalar) -> bool:
    """Return whether the capability `atomics` covers `op` on `type`; subtraction is addition of the negative."""
    return (type.name, "add" if op == "sub" else op) in atomics


def key_of(op: str, type: Scalar) -> str:
    """Return the key of the helper for `op` on `type`."""
    return f"atomic {op} {type}"


def atomic_syntax(language: Language, op: str, type: Scalar, native: bool) -> Syntax:
    """Return the syntax of an atomic operation: {0} target, {1} value, and for GLSL's helpers {2} data, {3} index.

    Raises: UnsupportedError if the language has no compare-and-swap of that width.
    """
    if type.kind == "bool" and op in ("add", "sub", "mul"):
        raise UnsupportedError(f"u1 has no atomic {op}: use i32.")
    return language.atomic(op, type, native and op not in MASKED_OPS)


def by_address(op: str, type: Scalar) -> Syntax:
    """Return the call of a helper that takes the address of the target, and for masked operations {2}, the mask."""
    if op in MASKED_OPS:
        syntax = f"atomic_{op}_{type}(&{{0}}, {{1}}, {{2}})"
        return Syntax(syntax, PRIMARY, (PRIMARY, ASSIGN, ASSIGN), (key_of(op, type),))
    return Syntax(f"atomic_{op}_{type}(&{{0}}, {{1}})", PRIMARY, (PRIMARY, ASSIGN), (key_of(op, type),))


def more_parameters(op: str, type_name: str) -> str:
    """Return the parameter of a helper that only masked operations have."""
    return f", {type_name} mask" if op in MASKED_OPS else ""


@lru_cache(maxsize=256)
def generate(language: Language, key: str) -> Generated:
    """Return the helper of `key`."""
    _, op, name = key.split(" ")
    type = SCALARS[name]
    source = language.atomic_helper(language, op, type)
    return Generated(f"atomic_{op}_{type}", source, called(language, source))


def whole_key(op: str, vector: Tensor) -> str:
    """Return the key of the function for `op` on all elements of a vector."""
    return f"whole {op} {vector}"


def whole_name(op: str, vector: Tensor) -> str:
    """Return the name of that function, which takes the address of the vector."""
    return f"atomic_{op}_{tensors.tensor_name(vector)}"


@lru_cache(maxsize=256)
def generate_whole(language: Language, key: str) -> Generated:
    """Return the function of `whole_key`: each element is changed on its own."""
    _, op, name = key.split(" ")
    vector = tensors.parse_type(name)
    assert isinstance(vector, Tensor)
    syntax = language.atomic(op, vector.element, True)
    targets = [tensors.pointed_element(language, vector, "address", [k]) for k in range(vector.size)]
    values = [tensors.element_source(language, vector, "value", [k]) for k in range(vector.size)]
    type = tensors.tensor_name(vector)
    body = "".join(f"    {syntax.template.format(*each)};\n" for each in zip(targets, values, strict=True))
    head = f"{language.helper_qualifier}void {whole_name(op, vector)}({type} *address, {type} value) {{\n"
    uses = (*tensors.type_keys(language, vector), *tensors.type_keys(language, vector.element), *syntax.helpers)
    return Generated(whole_name(op, vector), f"{head}{body}}}", tuple(dict.fromkeys(uses)))


def own_key(op: str, type: Scalar | Tensor) -> str:
    """Return the key of the function for `op` on a number or vector of an array, or of a thread's own copy of it."""
    return f"own {op} {type}"


def own_name(op: str, type: Scalar | Tensor) -> str:
    """Return the name of that function, which takes the address, the value, and whether it is of a copy."""
    return (
        f"{'sub_from' if op == 'sub' else 'add_to'}_{type if isinstance(type, Scalar) else tensors.tensor_name(type)}"
    )


@lru_cache(maxsize=256)
def generate_own(language: Language, key: str) -> Generated:
    """Return the function of `own_key`: only other threads' memory needs atomic operations."""
    _, op, name = key.split(" ")
    type = SCALARS[name] if name in SCALARS else tensors.parse_type(name)
    assert isinstance(type, (Scalar, Tensor))
    places = [("*address", "value")]
    if isinstance(type, Tensor):
        elements = [[k] for k in range(type.size)]
        targets = [tensors.pointed_element(language, type, "address", k) for k in elements]
        places = [
            (to, tensors.element_source(language, type, "value", k)) for to, k in zip(targets, elements, strict=True)
        ]
    plain = [f"        {target} {'-' if op == 'sub' else '+'}= {value};\n" for target, value in places]
    atomic = key_of(op, type) if isinstance(type, Scalar) else whole_key(op, type)
    called_name = f"atomic_{op}_{type}" if isinstance(type, Scalar) else whole_name(op, type)
    text = scalar_name(language, type) if isinstance(type, Scalar) else tensors.tensor_name(type)
    source = (
        f"{language.helper_qualifier}void {own_name(op, type)}({text} *address, {text} value, bool is_own) {{\n"
        f"    if (is_own) {{\n{''.join(plain)}    }} else {{\n        {called_name}(address, value);\n    }}\n}}"
    )
    uses = [atomic, *called(language, source)]
    uses += [] if isinstance(type, Scalar) else tensors.type_keys(language, type)
    return Generated(own_name(op, type), source, tuple(dict.fromkeys(uses)))


def combined(language: Language, op: str, type: Scalar, old: str) -> str:
    """Return the source of the new value. old: the source of the old one (a primary expression)."""
    if op in MASKED_OPS:
        return MASKED_OPS[op].format(old, "value", "mask")
    return wrapping.operation(language, ATOMIC_OPS[op], type).format(old, "value")
