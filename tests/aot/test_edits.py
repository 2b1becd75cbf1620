"""An edited text that runs is what is archived."""

import json

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.aot.container import write_container

PROGRAM = """import shadesmith as ti

@ti.kernel
def fill(x: ti.types.ndarray(ti.i32, 1), value: ti.i32):
    for i in x:
        x[i] = value
"""


@pytest.fixture
def fill(tmp_path, monkeypatch):
    (tmp_path / "filling.py").write_text(PROGRAM)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "filling", raising=False)
    yield __import__("filling").fill
    ti.reset()


def edit(kernel, arch):
    path = kernel.edit(arch=arch)
    path.write_text(path.read_text().replace("args.value", "args.value * 2"))


def archived(arch, kernel):
    module = ti.aot.Module(arch)
    module.add_kernel(kernel)
    members = module.members()
    text = next(data for name, data in members.items() if name.endswith((".c", ".comp"))).decode()
    return members, text, json.loads(members["module.json"])["kernels"]["fill"]["edited"]


@pytest.mark.parametrize(
    ("session", "arch"), [("cpu", "cpu"), ("vulkan", "vulkan"), ("cpu", "vulkan"), ("vulkan", "cpu")]
)
def test_what_runs_is_archived(fill, session, arch):
    arches = {"cpu": ti.cpu, "vulkan": ti.vulkan}
    ti.init(arch=arches[session], log_level=ti.WARN)
    _, text, edited = archived(arches[arch], fill)
    assert "args.value * 2" not in text and edited is None
    edit(fill, arches[arch])
    members, text, edited = archived(arches[arch], fill)
    assert "args.value * 2" in text and edited
    if session == arch:
        x = np.zeros(4, np.int32)
        ti.aot.load(write_container(members)).fill(x, 21)
        assert x.tolist() == [42] * 4
    ti.init(arch=arches[session], edits="off", log_level=ti.WARN)
    _, text, edited = archived(arches[arch], fill)
    assert "args.value * 2" not in text and edited is None


def test_an_edit_that_cannot_be_launched_is_refused(fill):
    ti.init(arch=ti.cpu, log_level=ti.WARN)
    path = fill.edit(arch=ti.vulkan)
    path.write_text(path.read_text().replace("int value;", "float value;"))
    with pytest.raises(ti.TaichiCompilationError, match="value"):
        archived(ti.vulkan, fill)
