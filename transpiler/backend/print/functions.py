"""Prints real functions: their heads, bodies and calls.

    @ti.real_func                          static float dist(const struct Args args, vec2 p) {
    def dist(p: vec2) -> float:      ->        return vec2_length(vec2_sub(p, center(0)));
        return (p - center[None]).norm()   }

In: functions in final form, their signatures, a printer for the body. Out: `PrintedFunction`s; the statement writers
for calls and returns. `ti.ref` parameters are pointers in C, references in CUDA, `inout` in GLSL.
"""

from __future__ import annotations

from collections.abc import Callable

from ...errors import NOWHERE
from ...ir.functions import Call, Function, called, calls, reachable
from ...ir.nodes import count_uses
from ...ir.statements import ArgLoad, Array, AtomicOp, GlobalPtr, GlobalStore, LocalStore, Return, base_pointer
from ...ir.types import Scalar, Struct, Type, u1, u32
from ...lazy_dataclasses import dataclass
from ..languages.common.one_line import COLUMNS, INDENT, struct_source
from ..languages.common.symbols import Symbols
from ..languages.common.syntax_forms import Rendered
from ..languages.common.tensor_functions import INLINED
from ..languages.common.tensors import is_small
from ..layout.accessors import UsedMemory
from ..layout.declarations import precise
from ..layout.signatures import Signature
from .expressions import Expressions
from .line_comments import python_comment
from .lines import Line, one_line, wrapped_comment, wrapped_head
from .statements import Statements, print_call

INLINED_NOTE = "inlined always: gcc makes no vectors of loops with calls (vector_calls)"


@dataclass(slots=True)
class PrintedFunction:
    """One printed function.

    comment: the `def` in Python. template: the values it is specialised on. structure: the struct of several results,
    else empty. others: that it stands for, too.
    """

    function: Function
    comment: list[str]
    template: list[str]
    structure: str
    head: str
    body: list[Line]
    used: UsedMemory
    structs: list[Struct]
    helpers: list[str]
    symbols: Symbols
    others: frozenset[Function] = frozenset()

    @property
    def functions(self) -> frozenset[Function]:
        """The functions that this one stands for."""
        return self.others | {self.function}

    @property
    def start(self) -> str:
        """The head, or the whole function if it is short enough for one line."""
        return one_line(self.head, self.body) or self.head

    @property
    def source(self) -> str:
        """The function without the comment above it."""
        if not self.start.endswith("{"):
            return self.start
        body = "\n".join(INDENT * (line.depth + 1) + line.text if line.text else "" for line in self.body)
        return f"{self.head}\n{body}\n}}"


def print_function(function: Function, printer: Statements, branch_depth_limit: int | None) -> PrintedFunction:
    """Print a function with a fresh printer of statements. branch_depth_limit: of the target."""
    e, printer.is_library = printer.e, bool(function.library)
    signature = e.signatures[function]
    language = e.language
    for parameter in function.parameters:
        e.parameters[parameter] = printer.names.declare(parameter.name)
    context = _take_context(printer, signature, written_arrays(function) if signature.arrays else frozenset())
    declared = [_declared(e, p.type, e.parameters[p], p.by_reference) for p in function.parameters]
    result = signature.result_type or (e.name_of_type(function.results[0]) if function.results else "void")
    for type in function.results[:1]:
        result = precise(e.target, type, result)
    parameters = ", ".join([*context, *declared]) or language.no_parameters
    if function.results:
        printer.exit_lines.append(f"return {_zero(e, function, signature)};")
    elif signature.may_fail:
        printer.exit_lines.append("return;")
    qualifier = language.helper_qualifier if function.is_inline else language.function_qualifier
    qualifier = INLINED if function.is_in_lanes else qualifier
    _reuse_parameters(function, printer)
    comment, template = _comment(function, printer), _template(function, printer)
    comment += [INLINED_NOTE] if function.is_in_lanes and printer.prints_remarks else []
    snippet = dict(function.snippets).get(language.name)
    if snippet is not None:
        printer.lines += [_line_of(source) for source in snippet.splitlines()]
    else:
        printer.block(function.body)
        leave_by_loop(printer, branch_depth_limit)
    if language.warns_of_unused and snippet is None:
        unused = [name for p in function.parameters if (name := e.parameters[p]) not in e.variables_used]
        printer.lines[:0] = [Line(0, f"(void){name};") for name in unused]
    return PrintedFunction(
        function=function,
        comment=comment,
        template=template,
        structure=_structure(e, function, signature),
        head=wrapped_head(f"{qualifier}{result} {signature.name}({parameters}) {{"),
        body=printer.lines,
        used=e.used,
        structs=list(e.structs_used),
        helpers=list(e.helpers),
        symbols=e.symbols,
    )


def _line_of(source: str) -> Line:
    """Return a line of a snippet with its indentation."""
    text = source.lstrip(" ")
    depth, more = divmod(len(source) - len(text), len(INDENT))
    return Line(depth, " " * more + text)


def _take_context(printer: Statements, signature: Signature, written: frozenset[Array]) -> list[str]:
    """Return the parameters by which a caller passes its context, and name them in the printer."""
    e, language = printer.e, printer.e.language
    declared = language.args_parameters if signature.takes_args else []
    if signature.takes_index:
        e.index = printer.names.declare("index")
        declared.append(f"{e.name_of_type(u32)} {e.index}")
    if signature.takes_random:
        e.random = "rng"
        declared.append(language.reference.format(type="Random", name="rng"))
    printer.exit_lines = []
    if signature.may_fail:
        e.failed = printer.names.declare("failed")
        printer.failed = f"*{e.failed}" if language.reference_is_pointer else e.failed
        declared.append(_declared(e, u1, e.failed, True))
        printer.exit_lines.append(f"{printer.failed} = true;")
    for array, name in zip(signature.arrays, signature.array_names, strict=True):
        e.passed[array] = printer.names.declare(name)
        declared.append(_declared_array(e, array, e.passed[array], array in written))
    return declared


def _declared_array(e: Expressions, array: Array, name: str, is_written: bool) -> str:
    """Return an array as a parameter: a pointer, of which nothing is promised but that it is only read."""
    if not e.language.has_pointers:
        return f"{e.layout.declared[array]} {name}"
    return f"{'' if is_written else 'const '}{e.layout.structs.name_of_type(array.element, True)} *{name}"


def _declared(e: Expressions, type: Type, name: str, by_reference: bool) -> str:
    text = e.name_of_type(type)
    return e.language.reference.format(type=text, name=name) if by_reference else f"{text} {name}"


def _reuse_parameters(function: Function, printer: Statements) -> None:
    """Use a by-value parameter as the variable itself if Python assigns to it."""
    uses = count_uses(function.body)
    for store in function.body.statements:
        if isinstance(store, LocalStore) and isinstance(store.value, ArgLoad) and uses[store.value] == 1:
            if store.value.parameter not in function.parameters:  # the kernel's
                continue
            if printer.placement.declared_by_store.get(store.pointer) is store:
                printer.e.rendered[store.pointer] = Rendered(printer.e.parameters[store.value.parameter])
                printer.placement.dead |= {store, store.pointer}


def _comment(function: Function, printer: Statements) -> list[str]:
    """Return the comment above a function: the `def` in Python."""
    if printer.comments and function.library:
        return [] if function.library.startswith("_") else [function.library]
    if not printer.comments or function.location is NOWHERE:
        return []
    printer.commented.add((function.location.file, function.location.line))
    return [line.removeprefix("// ") for line in wrapped_comment(python_comment(function.location), COLUMNS)]


def _template(function: Function, printer: Statements) -> list[str]:
    """Return the second comment: the values that a function is specialised on."""
    if not printer.comments or function.library or function.location is NOWHERE:
        return []
    passed = printer.e.signatures[function].array_names
    known = ", ".join(f"{name} = {value}" for name, value in function.template if name not in (value, *passed))
    shown = wrapped_comment(f"with {known}", COLUMNS) if known else []
    return [line.removeprefix("// ") for line in shown]


def _structure(e: Expressions, function: Function, signature: Signature) -> str:
    """Return the declaration of the struct of several results."""
    if not signature.result_type:
        return ""
    pairs = zip(function.results, signature.members, strict=True)
    return struct_source(e.language, signature.result_type, [(e.name_of_type(type), name) for type, name in pairs])


def _result(e: Expressions, function: Function, signature: Signature, values: list[str]) -> str:
    """Return the result of a function, made of values."""
    if not signature.result_type:
        return values[0]
    language = e.language
    if language.braces_refuse_narrowing:
        values = [_unnarrowed(e, *pair) for pair in zip(function.results, values, strict=True)]
    return language.struct_literal.format(type=signature.result_type, values=", ".join(values))


def _unnarrowed(e: Expressions, type: Type, value: str) -> str:
    """Return a value for braces in C++, where arithmetic on small integers is a narrowing conversion."""
    return f"{e.name_of_type(type)}({value})" if isinstance(type, Scalar) and is_small(type) else value


def _zero(e: Expressions, function: Function, signature: Signature) -> str:
    return _result(e, function, signature, [e.zero(type).source for type in function.results])


def written_arrays(function: Function) -> frozenset[Array]:
    """Return the arrays that a function or one that it calls writes."""
    bases = (base_pointer(s.pointer) for s in reachable(function.body) if isinstance(s, (GlobalStore, AtomicOp)))
    return frozenset(base.array for base in bases if isinstance(base, GlobalPtr))


def in_order_of_calls(functions: list[PrintedFunction]) -> list[PrintedFunction]:
    """Return functions in their order, but each after those that it, or one that it stands for, calls."""
    if not any(printed.others for printed in functions):
        return functions
    of = {function: printed for printed in functions for function in printed.functions}
    ordered: dict[Function, PrintedFunction] = {}
    opened: set[Function] = set()

    def visit(printed: PrintedFunction) -> None:
        if printed.function not in opened:
            opened.add(printed.function)
            for function in called(*(one.body for one in sorted(printed.functions, key=lambda f: f.name))):
                if function in of:
                    visit(of[function])
            ordered[printed.function] = printed

    for printed in functions:
        visit(printed)
    return list(ordered.values())


def prototypes(functions: list[PrintedFunction]) -> list[str]:
    """Return the prototypes of functions that are called before their definition."""
    defined: set[Function] = set()
    heads = {function: printed.head for printed in functions for function in printed.functions}
    needed: dict[Function, None] = {}
    for printed in functions:
        defined |= printed.functions
        for call in calls(printed.function.body):
            if call.function not in defined:
                needed[call.function] = None
    return [f"{heads[function].removesuffix(' {')};" for function in needed]


# --- statements -----------------------------------------------------------------------------------------------------


def write_call(p: Statements, call: Call) -> None:
    """Print a call with an effect. If a check fails in it, the iteration ends, and the report of the check gets the
    location of the call.
    """
    text = p.e.compute(call).source
    if not p.e.signatures[call.function].may_fail:
        print_call(p, call, Rendered(text))
        return
    if call in p.placement.used:
        p.declare(call, Rendered(text))
    else:
        p.emit(f"{text};", call.location)
    p.e.uses_args = True
    p.e.need("report_call")
    p.emit(f"if ({p.failed}) {{")
    with p.indented():
        p.emit(f"report_call({p.e.layout.report}, {p.e.layout.usage.sites[call]}u, {p.e.index});")
        p.emit(p.exit_lines[-1])
    p.exit_count += 1
    p.emit("}")


def return_writer(function: Function) -> Callable[[Statements, Return], None]:
    """Return the printer of `function`'s returns."""

    def write(p: Statements, statement: Return) -> None:
        p.exit_count += 1
        p.last_exit = len(p.lines)
        if not statement.values:
            p.emit_with_location("return;", statement.location)
            return
        is_single = len(statement.values) == 1
        values = [p.e.assigned(value) if is_single else p.e.of(value).source for value in statement.values]
        p.emit(f"return {_result(p.e, function, p.e.signatures[function], values)};", statement.location)

    return write


WRITERS: dict[type, Callable[..., None]] = {Call: write_call}
"""What `statements.WRITERS` has for the other effects."""


# --- bodies with many returns -----------------------------------------------------------------------------------------

SHARE = 2
"""Exits may use this fraction of a driver's limit; conditions and calling functions need the rest."""


def leave_by_loop(printer: Statements, branch_depth_limit: int | None) -> None:
    """Put the printed lines into a loop of one iteration if they have too many exits for the target.

    Mesa 22.3 (lavapipe) turns `if (c) return; rest` into `if (c) {} else { rest }`, and runs wrong branches beyond 80
    nested conditions. Exits of a loop are not nested. This loop has one iteration, which Mesa must not see, or it
    removes it:

        if (outside_1(...)) return;    ->    do {  // reason
        x(i) = 0.0f;                             if (outside_1(...)) return;
        return t0;                               x(i) = 0.0f;
                                                 if (gl_NumWorkGroups.x > 0u) {
                                                     return t0;
                                                 }
                                             } while (gl_NumWorkGroups.x == 0u);  // always false
    """
    if branch_depth_limit is None or printer.exit_count <= branch_depth_limit // SHARE:
        return
    lines = [line._replace(depth=line.depth + 1) for line in printer.lines]
    if lines[printer.last_exit].depth == 1 and printer.last_exit:
        last = [line._replace(depth=2) for line in lines[printer.last_exit :]]
        lines[printer.last_exit :] = [Line(1, "if (gl_NumWorkGroups.x > 0u) {"), *last, Line(1, "}")]
    first = Line(0, "do {  // lavapipe nests the code after each `return` and fails at 80 levels, but not in a loop")
    printer.lines[:] = [first, *lines, Line(0, "} while (gl_NumWorkGroups.x == 0u);  // always false")]
