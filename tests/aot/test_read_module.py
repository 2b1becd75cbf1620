"""`read_module` is the inverse of `BackendModule.to_json`, and believes nothing."""

import dataclasses
import json
from dataclasses import replace
from types import SimpleNamespace

import corpus
import golden_kernels
import pytest

import shadesmith as ti
from shadesmith.runtime.devices.capabilities import portable
from shadesmith.runtime.launch import launcher
from shadesmith.transpiler.backend.module import interface
from shadesmith.transpiler.backend.module import read_module as reader
from shadesmith.transpiler.backend.module.read_module import read_module
from shadesmith.transpiler.errors import UnsupportedError
from shadesmith.transpiler.pipeline import compile_kernel

LANGUAGES = ["c", "cuda", "vulkan"]


def through_json(module):
    return json.loads(json.dumps(replace(module, program=None).to_json()))


@pytest.fixture
def session():
    ti.init(arch=ti.python, log_level=ti.WARN)
    yield
    ti.reset()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("maker", corpus.MAKERS, ids=lambda maker: maker.__name__)
def test_modules_of_the_corpus_come_back(session, maker):
    kernel, arguments = maker()
    for language in LANGUAGES:
        specialization = kernel.specialize(arguments).specialization
        able = replace(specialization, capabilities=portable(language))
        try:
            module = compile_kernel(able, language).module
        except UnsupportedError:
            continue
        assert read_module(through_json(module)) == replace(module, program=None)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", golden_kernels.KERNELS)
def test_golden_modules_come_back(name):
    module = golden_kernels.compiled(name, "c")
    assert read_module(through_json(module)) == module


@pytest.mark.parametrize(
    ("kind", "table"),
    [
        (interface.BackendModule, reader.MODULE), (interface.Interface, reader.INTERFACE),
        (interface.SourceFile, reader.FILE), (interface.TaskSource, reader.TASK), (interface.LoopIndices, reader.LOOP),
        (interface.Member, reader.MEMBER), (interface.ArrayBinding, reader.ARRAY), (interface.TreeAddress, reader.TREE_ADDRESS),
    ],
)  # fmt: skip
def test_every_field_is_read(kind, table):
    assert {field.name for field in dataclasses.fields(kind)} - {"program"} == set(table)


@pytest.fixture
def data():
    return through_json(golden_kernels.compiled("saxpy", "vulkan"))


DAMAGES = [
    ("$", lambda d: []),
    ("$", lambda d: {**d, "more": 1}),
    ("$", lambda d: {k: v for k, v in d.items() if k != "tasks"}),
    ("$.kernel", lambda d: {**d, "kernel": 3}),
    ("$.kernel", lambda d: {**d, "kernel": "a\0b"}),
    ("$.kernel", lambda d: {**d, "kernel": "\ud800"}),
    ("$.kernel", lambda d: {**d, "kernel": "x" * 5000}),
    ("$.target", lambda d: {**d, "target": "metal"}),
    ("$.files", lambda d: {**d, "files": {}}),
    ("$.files[0].name", lambda d: changed(d, "files", 0, "name", "../x.comp")),
    ("$.files[0].lines[0]", lambda d: changed(d, "files", 0, "lines", [[1]])),
    ("$.tasks[0].block_dim", lambda d: changed(d, "tasks", 0, "block_dim", 0)),
    ("$.tasks[0].block_dim", lambda d: changed(d, "tasks", 0, "block_dim", 10**9)),
    ("$.tasks[0].block_dim", lambda d: changed(d, "tasks", 0, "block_dim", 128.0)),
    ("$.tasks[0].block_dim", lambda d: changed(d, "tasks", 0, "block_dim", True)),
    ("$.tasks[0].items", lambda d: changed(d, "tasks", 0, "items", 0)),
    ("$.tasks[0].kind", lambda d: changed(d, "tasks", 0, "kind", "while")),
    ("$.tasks[0].entry", lambda d: changed(d, "tasks", 0, "entry", "main; x")),
    ("$.tasks[0].file", lambda d: changed(d, "tasks", 0, "file", 1)),
    ("$.tasks[0].reads", lambda d: changed(d, "tasks", 0, "reads", [77])),
    ("$.tasks[0].strided", lambda d: changed(d, "tasks", 0, "strided", 0)),
    ("$.tasks[0].extents[0]", lambda d: changed(d, "tasks", 0, "extents", [["pow", ["const", 1], ["const", 2]]])),
    ("$.tasks[0].extents[0]", lambda d: changed(d, "tasks", 0, "extents", [["add", ["const", 1]]])),
    ("$.tasks[0].extents[0][1]", lambda d: changed(d, "tasks", 0, "extents", [["const", 2**63]])),
    ("$.tasks[0].extents[0][1]", lambda d: changed(d, "tasks", 0, "extents", [["const", -(2**4000)]])),
    ("$.tasks[0]", lambda d: changed(d, "tasks", 0, "extents", [["member", 99]])),
    ("$.interface.members[1].offset_bytes", lambda d: member(d, 1, "offset_bytes", 0)),
    ("$.interface.members[0].offset_bytes", lambda d: member(d, 0, "offset_bytes", -8)),
    ("$.interface.members[0].size_bytes", lambda d: member(d, 0, "size_bytes", 4)),
    ("$.interface.members[0].type", lambda d: member(d, 0, "type", "f128")),
    ("$.interface.members[0].source", lambda d: member(d, 0, "source", ["pointer", 44])),
    ("$.interface.members[0].source", lambda d: member(d, 0, "source", ["file", 1])),
    ("$.interface.members[0].source", lambda d: member(d, 0, "source", [])),
    ("$.interface.args_size_bytes", lambda d: {**d, "interface": {**d["interface"], "args_size_bytes": 2**40}}),
    ("$.interface.members", lambda d: {**d, "interface": {**d["interface"], "args_size_bytes": 8}}),
    ("$.interface.arrays[0].ndim", lambda d: array(d, "ndim", 1000)),
    ("$.interface.arrays[0].shape", lambda d: array(d, "shape", [1, 2, 3])),
    ("$.interface.arrays[0].element_shape", lambda d: array(d, "element_shape", [0])),
    ("$.options", lambda d: {**d, "options": {**d["options"], "command": "rm"}}),
]


def changed(data, part, place, name, value):
    data[part][place][name] = value
    return data


def member(data, place, name, value):
    data["interface"]["members"][place][name] = value
    return data


def array(data, name, value):
    data["interface"]["arrays"][0][name] = value
    return data


@pytest.mark.parametrize(("path", "damage"), DAMAGES)
def test_damage_is_told_with_its_place(data, path, damage):
    with pytest.raises(ValueError, match=r"^\$") as caught:
        read_module(damage(data))
    assert str(caught.value).startswith(path)


@pytest.mark.parametrize("by", [["const", 10**17], ["member", 0]])
def test_a_launcher_shifts_no_further_than_an_extent_goes(data, by):
    """`1 << 10**17` is a number of 12 petabytes."""
    data["tasks"][0]["extents"] = [["shl", ["const", 1], by]]
    module = read_module(data)
    program, hooks = SimpleNamespace(lock=None), SimpleNamespace(own=None, are_plain=False, stream=None)
    writer = launcher._LauncherSource(module, ["ndarray"] * 8, {}, program, hooks)
    text, _ = writer._count(module.tasks[0])
    assert eval(text, {"v0": 10**17}) == 1 << 64


def test_deep_expressions_are_refused(data):
    deep = ["const", 1]
    for _ in range(900):
        deep = ["neg", deep]
    with pytest.raises(ValueError, match="deeper"):
        read_module(changed(data, "tasks", 0, "extents", [deep]))


@pytest.mark.parametrize(
    "change",
    [{"parts": [[0, "999999999d"]]}, {"parts": [[7, ""]]}, {"parts": [[0, "%%%"]]}, {"task": 3}, {"frames": []}],
)
def test_prints_that_cannot_be_shown_are_refused(change):
    data = through_json(golden_kernels.compiled("report", "c"))
    site = next(site for site in data["interface"]["reports"] if site["kind"] == "print" and site["values"])
    site.update(change)
    with pytest.raises(ValueError, match=r"^\$.interface.reports\["):
        read_module(data)


@pytest.mark.parametrize("message", ["{x}", "{9}", "{0:99999}", "{0", "{0!r:}{1.real}"])
def test_messages_of_checks_that_cannot_be_shown_are_refused(message):
    data = through_json(golden_kernels.compiled("checked", "c"))
    data["interface"]["reports"][0]["message"] = message
    with pytest.raises(ValueError, match=r"^\$.interface.reports\[0"):
        read_module(data)
