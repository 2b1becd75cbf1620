"""Prints real functions: their heads, bodies and calls.

    @ti.real_func                          static float dist(const struct Args args, vec2 p) {
    def dist(p: vec2) -> float:      ->        return vec2_length(vec2_sub(p, center(0)));
        return (p - center[None]).norm()   }

In: functions in final form, their signatures, a printer for the body. Out: the parts of a text; the statement writers
for calls and returns. `ti.ref` parameters are pointers in C, references in CUDA, `inout` in GLSL.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...errors import NOWHERE
from ...ir.functions import Call, Function, calls
from ...ir.nodes import count_uses
from ...ir.statements import ArgLoad, LocalStore, Return
from ...ir.types import Scalar, Struct, Type, u1, u32
from ..helpers import words_of_code
from ..layout.accessors import Used
from ..literals import scalar_name
from ..signatures import Signature
from .early_returns import leave_by_loop
from .expressions import Expressions, Written
from .statements import INDENT, Line, Statements, print_call, python_comment

REFERENCES = {"c": "{} *{}", "cuda": "{} &{}", "vulkan": "inout {} {}"}
QUALIFIERS = {"c": "static ", "cuda": "__device__ ", "vulkan": ""}


@dataclass(slots=True)
class PrintedFunction:
    """One function as text. structure: the struct of several results, else empty."""

    function: Function
    comment: list[str]
    structure: str
    head: str
    body: list[Line]
    used: Used
    structs: list[Struct]
    helpers: list[str]

    @property
    def text(self) -> str:
        """The body, indented."""
        return "\n".join(INDENT * (line.depth + 1) + line.text if line.text else "" for line in self.body)


def print_function(function: Function, printer: Statements, branch_depth_limit: int | None) -> PrintedFunction:
    """Print a function with a fresh printer of statements. branch_depth_limit: of the target."""
    e = printer.e
    signature = e.signatures[function]
    target = e.target.name
    for parameter in function.parameters:
        e.parameters[parameter] = printer.names.declare(parameter.name)
    own = _take_context(printer, signature)
    declared = [_declared(e, p.type, e.parameters[p], p.by_reference) for p in function.parameters]
    result = signature.result_type or (e.type_text(function.results[0]) if function.results else "void")
    parameters = ", ".join([*own, *declared]) or ("void" if target == "c" else "")
    if function.results:
        printer.leave.append(f"return {_zero(e, function, signature)};")
    elif signature.may_fail:
        printer.leave.append("return;")
    _reuse_parameters(function, printer)
    comment = _comment(function, printer)
    printer.block(function.body)
    leave_by_loop(printer, branch_depth_limit)
    if target == "c":  # its compilers warn of parameters that nothing reads
        words = {word for line in printer.lines for word in words_of_code(line.text)}
        unused = [name for p in function.parameters if (name := e.parameters[p]) not in words]
        printer.lines[:0] = [Line(0, f"(void){name};") for name in unused]
    return PrintedFunction(
        function=function,
        comment=comment,
        structure=_structure(e, function, signature),
        head=f"{QUALIFIERS[target]}{result} {signature.name}({parameters}) {{",
        body=printer.lines,
        used=e.used,
        structs=list(e.structs_used),
        helpers=list(e.helpers),
    )


def _take_context(printer: Statements, signature: Signature) -> list[str]:
    """Return the declarations of what the function takes from its caller's surroundings, and name it in the printer."""
    e, target, declared = printer.e, printer.e.target.name, []
    if signature.takes_args:
        declared.append({"c": "const struct Args args", "cuda": "const Args &args"}[target])
    if signature.takes_index:
        e.index = printer.names.declare("index")
        declared.append(f"{e.type_text(u32)} {e.index}")
    if signature.takes_random:
        e.random = "rng"
        declared.append(REFERENCES[target].format("Random", "rng"))
    printer.leave = []
    if signature.may_fail:
        e.failed = printer.names.declare("failed")
        printer.failed = f"*{e.failed}" if target == "c" else e.failed
        declared.append(_declared(e, u1, e.failed, True))
        printer.leave.append(f"{printer.failed} = true;")
    return declared


def _declared(e: Expressions, type: Type, name: str, by_reference: bool) -> str:
    return REFERENCES[e.target.name].format(e.type_text(type), name) if by_reference else f"{e.type_text(type)} {name}"


def _reuse_parameters(function: Function, printer: Statements) -> None:
    """Let a parameter that Python changes be the variable itself: what is passed by value is the function's own."""
    uses = count_uses(function.body)
    for store in function.body.statements:
        if isinstance(store, LocalStore) and isinstance(store.value, ArgLoad) and uses[store.value] == 1:
            if printer.placement.declared_by_store.get(store.pointer) is store:
                printer.e.texts[store.pointer] = Written(printer.e.parameters[store.value.parameter])
                printer.placement.dead |= {store, store.pointer}


def _comment(function: Function, printer: Statements) -> list[str]:
    """Return the lines above a function: the `def` in Python, and what it is specialised on."""
    if not printer.comments or function.location is NOWHERE:
        return []
    printer.commented.add((function.location.file, function.location.line))
    known = ", ".join(f"{name} = {text}" for name, text in function.template if name != text)
    return [python_comment(function.location), *([f"with {known}"] if known else [])]


def _structure(e: Expressions, function: Function, signature: Signature) -> str:
    """Return the declaration of the struct of several results."""
    if not signature.result_type:
        return ""
    pairs = zip(function.results, signature.members, strict=True)
    members = "\n".join(f"{INDENT}{e.type_text(type)} {name};" for type, name in pairs)
    if e.target.name == "c":
        return f"typedef struct {{\n{members}\n}} {signature.result_type};"
    return f"struct {signature.result_type} {{\n{members}\n}};"


def _together(e: Expressions, function: Function, signature: Signature, values: list[str]) -> str:
    """Return the text of a function's result made of values."""
    if not signature.result_type:
        return values[0]
    name, target = signature.result_type, e.target.name
    if target == "vulkan":
        return f"{name}({', '.join(values)})"
    if target == "c":
        return f"({name}){{{', '.join(values)}}}"
    pairs = zip(function.results, values, strict=True)
    return f"{name}{{{', '.join(_unnarrowed(type, value) for type, value in pairs)}}}"


def _unnarrowed(type: Type, value: str) -> str:
    """Return a value for braces of C++, where arithmetic on small integers counts as narrowing."""
    is_small = isinstance(type, Scalar) and type.is_integral and 1 < type.bits < 32
    return f"{scalar_name('cuda', type)}({value})" if is_small and isinstance(type, Scalar) else value


def _zero(e: Expressions, function: Function, signature: Signature) -> str:
    return _together(e, function, signature, [e.zero(type) for type in function.results])


def prototypes(functions: list[PrintedFunction]) -> list[str]:
    """Return the declarations of functions that are called above their definition."""
    defined: set[Function] = set()
    heads = {printed.function: printed.head for printed in functions}
    needed: dict[Function, None] = {}
    for printed in functions:
        defined.add(printed.function)
        for call in calls(printed.function.body):
            if call.function not in defined:
                needed[call.function] = None
    return [f"{heads[function].removesuffix(' {')};" for function in needed]


# --- statements -----------------------------------------------------------------------------------------------------


def write_call(p: Statements, call: Call) -> None:
    """Print a call that does something. If a check failed in it, this turn of the loop ends, and the report of the
    check goes on with the place of the call.
    """
    text = p.e.compute(call).text
    if not p.e.signatures[call.function].may_fail:
        print_call(p, call, Written(text))
        return
    if call in p.placement.used:
        p.declare(call, text)
    else:
        p.emit(f"{text};", call.location)
    p.e.uses_args = True
    p.e.need("report_call")
    p.emit(f"if ({p.failed}) {{")
    with p.indented():
        p.emit(f"report_call({p.e.layout.report}, {p.e.layout.use.sites[call]}u, {p.e.index});")
        p.emit(p.leave[-1])
    p.exits += 1
    p.emit("}")


def return_writer(function: Function) -> Callable[[Statements, Return], None]:
    """Return what prints the returns of `function`."""

    def write(p: Statements, statement: Return) -> None:
        p.exits += 1
        p.last_exit = len(p.lines)
        if not statement.values:
            p.emit_beside("return;", statement.location)
            return
        values = [p.e.of(value).text for value in statement.values]
        p.emit(f"return {_together(p.e, function, p.e.signatures[function], values)};", statement.location)

    return write


WRITERS: dict[type, Callable[..., None]] = {Call: write_call}
"""What `print_statements.WRITERS` has for the other effects."""
