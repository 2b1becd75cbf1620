"""The text of a kernel holds all of it: what is read back is the same, and gives the same texts."""

from __future__ import annotations

import copy
import dataclasses
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any

import compared
import corpus
import corpus_sparse
import golden_kernels
import numpy as np
import pytest
from same_ir import first_difference, objects_of

import shadesmith as ti
from shadesmith.transpiler.backend.assemble.emit import emit
from shadesmith.transpiler.errors import SourceLocation, SourceText, TaichiCompilationError
from shadesmith.transpiler.frontend.builders.build import build
from shadesmith.transpiler.frontend.source.definition import define
from shadesmith.transpiler.frontend.source.specialization import Specialization
from shadesmith.transpiler.ir.nodes import Block, Statement, operands
from shadesmith.transpiler.ir.serialize.members import classes, members_of
from shadesmith.transpiler.ir.serialize.serialize import parse, serialize, sources_of
from shadesmith.transpiler.ir.statements import Const, If, LoopIndex, Operation
from shadesmith.transpiler.ir.tasks import Kernel
from shadesmith.transpiler.ir.types import f32, f64, i32
from shadesmith.transpiler.options import CompileOptions
from shadesmith.transpiler.passes import PassContext, run

MAKERS = list(dict.fromkeys([*corpus.MAKERS, *corpus_sparse.MAKERS, *compared.MAKERS]))
TARGETS = {"vulkan": ti.vulkan, "cuda": ti.cuda, "c": ti.cpu}


@pytest.fixture(autouse=True)
def session() -> Any:
    ti.init(arch=ti.cpu, log_level=ti.WARN)
    yield
    ti.reset()


def golden(name: str, target: str = "c") -> Specialization:
    module = golden_kernels.load(name)
    arguments = tuple(golden_kernels._argument(a) for a in module.arguments)
    options = CompileOptions(**getattr(module, "options", {}))
    return Specialization(define(module.kernel), arguments, options, golden_kernels.able(target))


def specialized(maker: Callable[[], Any], target: str) -> Specialization:
    kernel, args = maker()
    try:
        specialization = kernel.specialize(args, TARGETS[target]).specialization
    except ti.TaichiSyntaxError:
        pytest.skip("a method, which is compiled with its object")
    return specialization


def check(specialization: Specialization, target: str) -> None:
    """Check that a kernel's texts hold all of it, as the frontend made it and as the passes leave it."""
    try:
        kernel = build(specialization).kernel
    except TaichiCompilationError:
        pytest.skip("refused for this target")
    text = serialize(kernel)
    again = parse(text)
    assert first_difference(kernel, again) is None
    assert serialize(again) == text
    try:
        texts = [finished(k, specialization, target) for k in (kernel, again)]
    except TaichiCompilationError:
        return
    assert texts[0][0] == texts[1][0]
    final = parse(texts[0][0])
    assert first_difference(kernel, final) is None
    emitted = emit(final, target, specialization.options, specialization.capabilities).to_json()
    assert texts[0][1] == texts[1][1] == emitted


def finished(kernel: Kernel, specialization: Specialization, target: str) -> tuple[str, Any]:
    run(kernel, PassContext(specialization.options, specialization.capabilities, None))
    text = serialize(kernel)
    return text, emit(kernel, target, specialization.options, specialization.capabilities).to_json()


@pytest.mark.sampled(12)
@pytest.mark.parametrize("language", TARGETS)
@pytest.mark.parametrize("name", golden_kernels.KERNELS)
def test_golden_kernels_are_read_back_whole(name: str, language: str) -> None:
    check(golden(name, language), language)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
def test_the_corpus_is_read_back_whole(maker: Callable[[], Any]) -> None:
    for target in TARGETS:
        if target in corpus.LANGUAGES.get(maker.__name__, TARGETS):
            check(specialized(maker, target), target)


def test_checks_and_overflow_are_read_back_whole() -> None:
    for name in ("checked", "report", "blur", "collide"):
        specialization = golden(name)
        options = replace(specialization.options, debug=True, check_out_of_bound=True, check_overflow=True)
        check(replace(specialization, options=options), "c")


# --- nothing that matters prints alike ------------------------------------------------------------------------------


def changed(value: Any, kernel: Kernel) -> list[Any]:
    """Return values that a member may have instead: of the same type, and different."""
    objects = objects_of(kernel)
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, Enum):
        return [other for other in type(value) if other is not value]
    if isinstance(value, int):
        return [value + 1, -1 - value]
    if isinstance(value, float):
        return [-value if value else 1.0, float("nan"), float("inf"), value + 1]
    if isinstance(value, str):
        return [value + "x", value + '"\n\\', value + "\u2028"]
    if isinstance(value, (list, tuple)) and value and not isinstance(value, SourceLocation):
        first = changed(value[0], kernel)
        return [
            type(value)(value[:-1]),
            type(value)([*value, value[0]]),
            *(type(value)([x, *value[1:]]) for x in first),
        ]
    if value in (f32, i32):
        return [f64]
    if isinstance(value, (Statement, Block)):
        return [o for o in objects if o is not value and isinstance(o, Statement) == isinstance(value, Statement)][:3]
    return []


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", ["collide", "report", "tiles", "histogram", "wither", "moved", "cycles"])
def test_whatever_is_changed_changes_the_text(name: str) -> None:
    kernel = build(golden(name)).kernel
    generator = random.Random(6)
    text = serialize(kernel)
    tried = 0
    for item in objects_of(kernel):
        for member in dataclasses.fields(item):
            before = getattr(item, member.name)
            if isinstance(item, Kernel) and member.name == "trees":
                continue
            choices = changed(before, kernel)
            if not choices:
                continue
            setattr(item, member.name, generator.choice(choices))
            try:
                other = serialize(kernel)
            except TypeError:  # not as declared: refused rather than written
                pass
            else:
                assert other != text, f"{type(item).__name__}.{member.name}: {before!r:.50}"
                tried += 1
            setattr(item, member.name, before)
    assert serialize(kernel) == text and tried > 40


@pytest.mark.parametrize("value", [0, 0.0, -0.0, False, True, 1, 1.0, 2**64 - 1, -(2**63), 5e-324, 1e308, 0.1])
def test_numbers_keep_type_and_sign(value: Any) -> None:
    assert repr(number_back(value)) == repr(value)


@pytest.mark.parametrize("value", ["nan", "-nan", "inf", "-inf"])
def test_numbers_that_json_lacks(value: str) -> None:
    number = -float("nan") if value == "-nan" else float(value)
    read = number_back(number)
    assert repr(read) == repr(number) and str(dataclasses.replace(Const(read, type=f32)).value) == str(number)


def number_back(value: Any) -> Any:
    body = Block([Const(value, type=f32)])
    return parse(serialize(Kernel("k", [], [], [], body))).body.statements[0].value


def test_a_value_of_another_type_is_refused() -> None:
    for wrong in (np.float32(1), "1", None, 1j):
        with pytest.raises(TypeError, match="Const.value"):
            number_back(wrong)


def test_deep_nesting_needs_no_stack() -> None:
    statements: list[Statement] = [Const(1, type=i32)]
    inner = Block(statements)
    kernel = Kernel("deep", [], [], [], inner)
    for _ in range(5000):
        statements.append(Operation("neg", [statements[-1]], type=i32))
    for _ in range(5000):
        block = Block()
        inner.statements.append(If(statements[0], block))
        inner = block
    text = serialize(kernel)
    assert serialize(parse(text)) == text


def test_loops_and_their_indices_belong_together() -> None:
    kernel = build(golden("stencil")).kernel
    again = parse(serialize(kernel))
    found = objects_of(again)
    loops = [item.loop for item in found if isinstance(item, LoopIndex)]
    assert loops and all(any(loop is item for item in found) for loop in loops)
    assert all(any(o is s for s in found) for item in found if isinstance(item, Statement) for o in operands(item))


# --- the same in every process, wherever the file lies --------------------------------------------------------------

SCRIPT = """
import sys
sys.path[:0] = [{tests!r} + folder for folder in ("/support", "/support/kernels", "/serialize")]
import golden_kernels, hashlib
from test_serialize import golden
from shadesmith.transpiler.frontend.builders.build import build
from shadesmith.transpiler.ir.serialize.serialize import serialize
for name in ("collide", "wither", "moved", "tiles"):
    print(hashlib.sha256(serialize(build(golden(name)).kernel).encode()).hexdigest())
"""


@pytest.mark.exhaustive
def test_equal_in_processes_with_other_hash_seeds() -> None:
    script = SCRIPT.format(tests=str(Path(__file__).parents[1]))
    found = {
        subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "77")
    }
    assert len(found) == 1


def test_a_function_that_moved_changes_its_source_alone() -> None:
    kernel = build(golden("collide")).kernel
    text = serialize(kernel)
    moved = [SourceText("/elsewhere/x.py", source.first_line + 100, source.lines) for source in sources_of(text)]
    again = parse(text, moved)
    assert again.location.file == "/elsewhere/x.py" and again.location.line == kernel.location.line + 100
    ours, theirs = (json.loads(serialize(k)) for k in (kernel, again))
    assert ours.pop("sources") != theirs.pop("sources") and ours == theirs


def test_sources_of_another_text_are_refused() -> None:
    text = serialize(build(golden("saxpy")).kernel)
    with pytest.raises(ValueError, match=r"\$\.sources: these are not the functions"):
        parse(text, [SourceText("x.py", 1, ("def other(): pass",))])


# --- what is no text of a kernel ------------------------------------------------------------------------------------

DAMAGE: dict[str, tuple[Callable[[Any], Any], str]] = {
    "version": (lambda d: d.update(version=2), r"\$\.version: found 2; this shadesmith reads version 1"),
    "version as text": (lambda d: d.update(version="1"), r"\$\.version"),
    "version as truth": (lambda d: d.update(version=True), r"\$\.version"),
    "format": (lambda d: d.update(format="other"), r"\$\.format"),
    "no objects": (lambda d: d.update(objects=[]), r"\$\.objects: expected the kernel first"),
    "a table too many": (lambda d: d.update(more=[]), r"\$: \['more'\]"),
    "a table less": (lambda d: d.pop("structs"), r"\$: \['structs'\]"),
    "class": (lambda d: d["objects"].append({"Path": {}}), "is not a class of the IR"),
    "value class": (lambda d: d["objects"].append({"Remark": {}}), "is not a class of the IR"),
    "no object": (lambda d: d["objects"].append([1]), "expected one class"),
    "member": (lambda d: d["objects"][0]["Kernel"].update(more=1), r"\$\.objects\[0\]\.Kernel: unknown members"),
    "no member": (lambda d: d["objects"][0]["Kernel"].pop("body"), r"\$\.objects\[0\]\.Kernel: `body` is missing"),
    "another class": (lambda d: d["objects"][0]["Kernel"].update(body=0), "is not the number of a Block"),
    "too high": (lambda d: d["objects"][0]["Kernel"].update(body=10**9), "is not the number of a Block"),
    "negative": (lambda d: d["objects"][0]["Kernel"].update(body=-1), "is not the number of a Block"),
    "truth for a number": (lambda d: d["objects"][0]["Kernel"].update(body=True), "is not the number of a Block"),
    "type": (lambda d: d["objects"][0]["Kernel"].update(returns=["f33"]), "is no type"),
    "tensor": (lambda d: d["objects"][0]["Kernel"].update(returns=["f32[-1]"]), "is no type"),
    "struct": (lambda d: d["objects"][0]["Kernel"].update(returns=[{"struct": 99}]), "is not the number of a struct"),
    "location": (lambda d: d["objects"][0]["Kernel"].update(location=999), "is not the number of a location"),
    "text": (lambda d: d["objects"][0]["Kernel"].update(name=3), "expected str"),
    "row of locations": (lambda d: d["locations"].append([0]), r"\$\.locations\[\d+\]: expected source"),
    "source": (lambda d: d["locations"].append([99, 1, 1, 1, 1, "f", None]), "is not the number of a source"),
    "call site": (lambda d: d["locations"].append([0, 1, 1, 1, 1, "f", 999]), "is not the number of a location"),
    "lines": (lambda d: d["sources"][0].update(lines=[1]), r"\$\.sources\[0\]"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_text_that_is_none_is_refused_with_its_place(name: str) -> None:
    damage, message = DAMAGE[name]
    data = json.loads(serialize(build(golden("collide")).kernel))
    damage(data)
    with pytest.raises(ValueError, match=message):
        parse(json.dumps(data))


@pytest.mark.parametrize("text", ["", "[]", "1", "null", "{", "[" * 100_000, '{"format": NaN}', "\x00"])
def test_what_is_no_document_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse(text)


def test_random_damage_is_refused_or_read_as_what_it_says() -> None:
    text = serialize(build(golden("report")).kernel)
    generator = random.Random(3)
    for _ in range(500):
        letters = list(text)
        for _ in range(generator.choice([1, 1, 2, 20])):
            letters[generator.randrange(len(letters))] = generator.choice('0123456789"[]{},:abc \n')
        damaged = "".join(letters)
        try:
            kernel = parse(damaged)
        except ValueError:
            continue
        assert serialize(parse(serialize(kernel))) == serialize(kernel)


def test_every_statement_has_a_text() -> None:
    pending: list[type] = [Statement]
    while pending:
        kind = pending.pop()
        pending += kind.__subclasses__()
        if getattr(sys.modules[kind.__module__], kind.__name__) is not kind:
            continue  # `dataclass` has put one with slots in its place
        assert classes()[kind.__name__] is kind
        assert [member.name for member in members_of(object.__new__(kind))] == [
            member.name for member in dataclasses.fields(kind)
        ]


def test_what_was_parsed_shares_nothing() -> None:
    text = serialize(build(golden("branches")).kernel)
    a, b = parse(text), parse(text)
    assert not {id(item) for item in objects_of(a)} & {id(item) for item in objects_of(b)}
    assert first_difference(a, copy.deepcopy(b)) is None
