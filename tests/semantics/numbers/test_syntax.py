"""Syntax: every operation on every type compiles without a warning on every target; atomics run on C."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from shadesmith.runtime.devices.cuda import nvrtc
from shadesmith.transpiler.backend.languages.common import syntax
from shadesmith.transpiler.backend.languages.glsl import tables as glsl_tables
from shadesmith.transpiler.backend.languages.registry import LANGUAGES
from shadesmith.transpiler.backend.module.random_stream import RandomStream, philox
from shadesmith.transpiler.errors import TaichiRuntimeError
from shadesmith.transpiler.ir.builder import Builder
from shadesmith.transpiler.ir.nodes import Block, Statement
from shadesmith.transpiler.ir.ops import ATOMIC_OPS, OPS, RuleError
from shadesmith.transpiler.ir.statements import ArgLoad, Cast, Operation, Parameter
from shadesmith.transpiler.ir.types import SCALARS, Scalar, Tensor, Type, f32, with_element

TARGETS = ("c", "cuda", "vulkan")
SHAPES: list[tuple[int, ...]] = [(1,), (2,), (3,), (4,), (5,), (2, 2), (3, 3), (2, 3), (4, 2), (3, 1), (1, 3), (5, 5)]
QUALIFIER = {"c": "", "cuda": "__device__ ", "vulkan": ""}
HEADER = {"c": "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n", "cuda": "", "vulkan": ""}


class Program:
    """Functions, one a case, and the helpers they need."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.functions: list[str] = []
        self.keys: dict[str, None] = {}
        self.types: dict[Type, None] = {}

    def add(self, form: syntax.Syntax, operands: list[Type], result: Type) -> None:
        """Add a function that returns the expression of its parameters."""
        for type in (*operands, result):
            self.keys.update(dict.fromkeys(syntax.type_helpers(LANGUAGES[self.target], type)))
            self.types[type] = None
        self.keys.update(dict.fromkeys(form.helpers))
        names = [f"p{k}" for k in range(len(operands))]
        names = [f"({n})" if p > 16 else n for n, p in zip(names, form.operand_precedence, strict=True)]
        body = form.format(*names)
        parameters = ", ".join(f"{syntax.type_name(LANGUAGES[self.target], t)} p{k}" for k, t in enumerate(operands))
        name = f"case_{len(self.functions)}"
        text = f"{QUALIFIER[self.target]}{syntax.type_name(LANGUAGES[self.target], result)} {name}({parameters})"
        declaration = f"{text};\n" if self.target == "c" else ""
        self.functions.append(f"{declaration}{text} {{ return {body}; }}")

    def text(self) -> str:
        """Return the whole source."""
        helpers = syntax.helpers_source(LANGUAGES[self.target], self.keys)
        lines = [HEADER[self.target], helpers, *self.functions]
        if self.target == "vulkan":
            extensions = syntax.extensions(LANGUAGES[self.target], self.types, self.keys)
            lines = ["#version 460", *(f"#extension {e} : require" for e in extensions), *lines]
            lines.append("layout(local_size_x = 1) in;\nvoid main() {}")
        if self.target == "cuda":
            return "\n".join(lines[1:])
        return "\n".join(lines) + "\n"


def argument(type: Type) -> Statement:
    """Return a value of `type` that folds with nothing."""
    return ArgLoad(Parameter("p", type, 0), type=type)


def add_operation(program: Program, name: str, types: list[Type]) -> None:
    """Add an operation as the builder makes it, unless the table refuses the types."""
    row = OPS[name]
    scalars = [t.element if isinstance(t, Tensor) else t for t in types]
    try:
        needed, result = row.rule(scalars, f32)
    except RuleError:
        return
    types = [with_element(t, n) for t, n in zip(types, needed, strict=True)]
    operation = Builder(Block()).op(name, *[argument(t) for t in types])
    if isinstance(operation, Operation) and operation.op == name and operation.type is not None:
        program.add(syntax.operation_syntax(LANGUAGES[program.target], operation), types, operation.type)


def operand_types(name: str, scalar: Scalar, shape: tuple[int, ...]) -> list[list[Type]]:
    """Return the operand types to try: all tensors, and mixes with scalars."""
    tensor = Tensor(shape, scalar)
    square = Tensor((shape[-1], shape[-1]), scalar)
    match name.removesuffix("_overflows"):
        case "matmul":
            return [[tensor, Tensor((shape[-1],), scalar)], [tensor, square]] if len(shape) == 2 else []
        case "outer_product":
            return [[tensor, tensor], [tensor, Tensor((2,), scalar)]] if len(shape) == 1 else []
        case "cross":
            return [[tensor, tensor]] if shape == (3,) else []
        case "dot" | "normalized":
            return [[tensor] * OPS[name].arity] if len(shape) == 1 else []
        case "transpose":
            return [[tensor]] if len(shape) == 2 else []
        case "determinant" | "inverse":
            return [[tensor]] if len(shape) == 2 and shape[0] == shape[1] and scalar.is_float else []
    if OPS[name].arity == 1:
        return [[tensor]]
    return [[*mix] for mix in product((tensor, scalar), repeat=OPS[name].arity) if tensor in mix]


def scalar_program(target: str) -> Program:
    """Return all operations and casts on scalars."""
    program = Program(target)
    for name, scalar in product(OPS, SCALARS.values()):
        if OPS[name].shape_rule is None:
            add_operation(program, name, [scalar] * OPS[name].arity)
    for old, new in product(SCALARS.values(), repeat=2):
        program.add(syntax.cast_syntax(LANGUAGES[target], Cast(argument(old), type=new)), [old], new)
        if old.bits == new.bits and "u1" not in (old.name, new.name):
            program.add(syntax.cast_syntax(LANGUAGES[target], Cast(argument(old), True, type=new)), [old], new)
    return program


def tensor_program(target: str, scalars: list[Scalar], shapes: list[tuple[int, ...]]) -> Program:
    """Return all operations, casts, constructions and elements of tensors."""
    program = Program(target)
    for scalar, shape in product(scalars, shapes):
        tensor = Tensor(shape, scalar)
        for name in [op for op in OPS if op not in ("normal_norm", "lean_matmul")]:  # functions of the names of others
            for types in operand_types(name, scalar, shape):
                add_operation(program, name, types)
        for new in SCALARS.values():
            other = with_element(tensor, new)
            program.add(syntax.cast_syntax(LANGUAGES[target], Cast(argument(tensor), type=other)), [tensor], other)
        program.add(syntax.init_syntax(LANGUAGES[target], tensor), [scalar] * tensor.size, tensor)
        program.add(syntax.splat_syntax(LANGUAGES[target], tensor), [scalar], tensor)
        for place in (True, False):
            index: list[Type] = [SCALARS["i32"]] * len(shape)
            computed = syntax.element_syntax(LANGUAGES[target], tensor, [None] * len(shape), place)
            program.add(computed, [tensor, *index], scalar)
            constant = syntax.element_syntax(LANGUAGES[target], tensor, [0] * len(shape), place)
            program.add(constant, [tensor, *index], scalar)
        stored = with_element(tensor, SCALARS["u8"]) if target == "vulkan" and scalar.name == "u1" else tensor
        program.add(syntax.load_syntax(LANGUAGES[target], tensor), [stored], tensor)
        program.add(syntax.store_syntax(LANGUAGES[target], tensor), [tensor], stored)
    return program


def compile_text(target: str, text: str, folder: Path) -> None:
    """Compile with all warnings as errors; skip where the compiler is missing."""
    if target == "cuda":
        compile_cuda(text)
        return
    tool = {"c": "gcc", "vulkan": "glslangValidator"}[target]
    if shutil.which(tool) is None:
        pytest.skip(f"needs {tool}")
    path = folder / {"c": "cases.c", "vulkan": "cases.comp"}[target]
    path.write_text(text)
    flags = {
        "c": ["-std=gnu11", "-O1", "-fwrapv", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-c"],
        "vulkan": ["-V", "--target-env", "vulkan1.2"],
    }[target]
    output = folder / "cases.out"
    done = subprocess.run([tool, *flags, str(path), "-o", str(output)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "WARNING" not in done.stdout, done.stdout[-4000:] + done.stderr[-4000:]
    if target == "vulkan" and shutil.which("spirv-val"):
        command = ["spirv-val", "--target-env", "vulkan1.2", "--scalar-block-layout", str(output)]
        checked = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert checked.returncode == 0, checked.stdout + checked.stderr


def compile_cuda(text: str) -> None:
    """Compile for sm_90 by NVRTC; any line in the log fails."""
    try:
        nvrtc.load_nvrtc()
    except TaichiRuntimeError as error:
        pytest.skip(str(error))
    _, log = nvrtc.compile_cubin(text, "sm_90")
    assert not log, log[-4000:]


@pytest.mark.parametrize("language", TARGETS)
def test_every_scalar_operation_compiles(language: str, tmp_path: Path) -> None:
    compile_text(language, scalar_program(language).text(), tmp_path)


@pytest.mark.sampled(24)  # 2 to 8 s each
@pytest.mark.parametrize("language", TARGETS)
@pytest.mark.parametrize("kind", ["f32", "i32", "u32", "u1", "f64", "i64", "u8", "f16"])
def test_every_tensor_operation_compiles(language: str, kind: str, tmp_path: Path) -> None:
    shapes = SHAPES if kind in ("f32", "i32", "u1") else [(3,), (2, 3), (5,)]
    compile_text(language, tensor_program(language, [SCALARS[kind]], shapes).text(), tmp_path)


NARROWEST = {"c": 1, "cuda": 16, "vulkan": 32}


def types_of(language: str) -> list[Scalar]:
    """Return the types that have atomic operations."""
    return [t for t in SCALARS.values() if t.bits >= NARROWEST[language]]


def atomics_of(type: Scalar) -> list[str]:
    """Return the atomic operations that make sense on `type`."""
    left_out = {"float": ("and", "or", "xor"), "bool": ("add", "sub", "mul")}.get(type.kind, ())
    return [op for op in ATOMIC_OPS if op not in left_out]


def function(language: str, name: str, result: str, parameters: str, body: str) -> str:
    """Return one function."""
    head = f"{QUALIFIER[language]}{result} {name}({parameters})"
    return f"{head} {{\n    {body}\n}}"


def cases(language: str) -> tuple[list[str], dict[str, None]]:
    """Return functions that use every atomic, random and report function, and the keys they need."""
    lines: list[str] = []
    keys: dict[str, None] = dict.fromkeys(["random_start", "report_print", "report_failure"])
    is_glsl = language == "vulkan"
    for type in types_of(language):
        name = syntax.type_name(LANGUAGES[language], type)
        keys.update(dict.fromkeys([f"random_{type}", *syntax.type_helpers(LANGUAGES[language], type)]))
        if is_glsl:
            lines.append(f"layout(buffer_reference, scalar) buffer Ref_{type} {{ {name} v[]; }};")
        place, pointer = (f"Ref_{type}(args.a).v[3]", "") if is_glsl else ("p[0]", f"{name} *p, ")
        for op in atomics_of(type):
            for native in (True, False) if is_glsl else (True,):
                form = syntax.atomic_syntax(LANGUAGES[language], op, type, native)
                keys.update(dict.fromkeys(form.helpers))
                text = form.format(place, "x", "args.a", "3u")
                lines.append(function(language, f"{op}_{type}_{native}", name, f"{pointer}{name} x", f"return {text};"))
        rng, start = ("&rng" if language == "c" else "rng"), "Random rng = random_start(1u, 2u);"
        lines.append(function(language, f"draw_{type}", name, "", f"{start} return random_{type}({rng});"))
        if type.bits >= 32:
            keys[f"report_{type}"] = None
            report = ("Report report, " if is_glsl else "uint32_t *report, ") + f"{name} x"
            for kind in ("print", "failure"):
                body = f"report_{type}(report, report_{kind}(report, 1u, 2u, 1u), x);"
                lines.append(function(language, f"{kind}_{type}", "void", report, body))
    return lines, keys


def source(language: str) -> str:
    """Return a whole file of `cases`."""
    lines, keys = cases(language)
    helpers = syntax.helpers_source(LANGUAGES[language], keys)
    if language != "vulkan":
        return "\n".join([HEADER[language], helpers, *lines]) + "\n"
    extensions = syntax.extensions(LANGUAGES[language], types_of(language), keys)
    extensions = sorted({*extensions, "GL_EXT_buffer_reference", "GL_EXT_scalar_block_layout"})
    head = ["#version 460", *(f"#extension {e} : require" for e in extensions), "layout(local_size_x = 1) in;"]
    arguments = "layout(push_constant) uniform Args { uint64_t a; } args;"
    return "\n".join([*head, helpers, arguments, *lines, "void main() {}"]) + "\n"


@pytest.mark.parametrize("language", TARGETS)
def test_atomics_random_numbers_and_reports_compile(language: str, tmp_path: Path) -> None:
    compile_text(language, source(language), tmp_path)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The C file as a shared library."""
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    folder = tmp_path_factory.mktemp("atomics")
    (folder / "cases.c").write_text(source("c"))
    flags = ["-std=gnu11", "-O1", "-fwrapv", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, str(folder / "cases.c"), "-o", str(folder / "cases.so"), "-lm"], check=True)
    return ctypes.CDLL(str(folder / "cases.so"))


C_TYPES = {
    "i8": ctypes.c_int8, "i16": ctypes.c_int16, "i32": ctypes.c_int32, "i64": ctypes.c_int64, "u1": ctypes.c_bool,
    "u8": ctypes.c_uint8, "u16": ctypes.c_uint16, "u32": ctypes.c_uint32, "u64": ctypes.c_uint64,
    "f32": ctypes.c_float, "f64": ctypes.c_double,
}  # fmt: skip


@pytest.mark.parametrize("type", [SCALARS[name] for name in C_TYPES if name != "u1"], ids=str)
def test_atomics_combine_and_give_the_old_value(library: ctypes.CDLL, type: Scalar) -> None:
    kind = C_TYPES[type.name]
    meanings = {"add": 9, "sub": 5, "mul": 14, "min": 2, "max": 7, "and": 2, "or": 7, "xor": 5}
    for op in atomics_of(type):
        place = (kind * 1)(7)
        call = getattr(library, f"{op}_{type}_True")
        call.restype = kind
        assert call(place, kind(2)) == 7
        assert place[0] == meanings[op], op


def test_philox_matches_the_published_vector() -> None:
    assert philox(0, 0, 0) == (0xFF1DAE59, 0x6CD10DF2)


@pytest.mark.parametrize("name", C_TYPES)
def test_c_draws_the_stream_of_python(library: ctypes.CDLL, name: str) -> None:
    call = getattr(library, f"draw_{name}")
    call.restype = C_TYPES[name]
    assert call() == RandomStream(1, 2).draw(SCALARS[name])


def test_reports_hold_records_and_count_what_was_dropped(library: ctypes.CDLL) -> None:
    never = 2**32 - 1
    words = np.array([9, 19, 0, 19, 27, 0, 0, never, never, *[9] * 18], np.uint32)
    place = words.ctypes.data_as(ctypes.c_void_p)
    for value in (5, 6, 7, 8):
        library.print_i32(place, ctypes.c_int32(value))
    library.failure_i32(place, ctypes.c_int32(-1))
    library.failure_i32(place, ctypes.c_int32(-2))  # of the same turn: counted, not kept
    first, second = [1, 2, 1, 5], [1, 2, 1, 6]
    header, rest = [21, 19, 2, 23, 27, 0, 2, 2, 1], [9] * 4
    assert words.tolist() == [*header, *first, *second, never, 9, 1, 2, 1, never, *rest]


@pytest.mark.parametrize("op", ["neg", "abs"])
def test_glsl_negates_narrow_integers_by_functions_of_its_own(op: str) -> None:
    integers = [type for type in SCALARS.values() if type.kind in ("int", "uint")]
    helped = [type.name for type in integers if type.name in glsl_tables.operation(op, type).template]
    assert helped == [type.name for type in integers if type.is_narrow_int] == ["i8", "i16"]
