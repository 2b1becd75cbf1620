"""Names, paths and shapes of programs that break naive printers: the text compiles in every language, or an error tells."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.devices.cuda.nvrtc import compile_cubin

NAMES = (
    "main", "float", "args", "task", "task_0", "k_0", "BLOCK", "BLOCK_128", "length", "defined", "GL_EXT", "gl_Position",
    "a__b", "имя", "collapse", "schedule", "count", "index", "x" * 3000,
)  # fmt: skip

PROGRAM = """
{name} = ti.field(ti.f32, 16)
@ti.kernel
def k(a: ti.types.ndarray(ti.f32, 2), c: ti.f32):
    for i in {name}:
        {name}[i] += c
    for p, q in a:
        a[p, q] = {name}[p] + c
@ti.kernel
def scalar({name}: ti.f32, a: ti.types.ndarray(ti.f32, 1)):
    for i in a:
        a[i] = {name}
"""


def load(text: str, path: Path) -> dict[str, Any]:
    path.write_text(text, encoding="utf-8")
    space: dict[str, Any] = {"ti": ti, "__name__": "hostile"}
    exec(compile(text, str(path), "exec", dont_inherit=True), space)
    return space


def check_compiles(kernel: Any, *args: Any, arch: Any) -> None:
    for file in kernel.inspect(*args, arch=arch).module.files:
        assert max(map(len, file.name.split("."))) <= 80
        if arch == ti.cuda:
            assert compile_cubin(file.text)[1] == ""
            continue
        command = (
            ["glslangValidator", "--stdin", "-S", "comp", "--target-env", "vulkan1.2", "-o", "/dev/null"]
            if arch == ti.vulkan
            else ["gcc", "-std=c11", "-fopenmp", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-xc", "-"]
        )
        done = subprocess.run(command, input=file.text, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr + file.text


@pytest.mark.sampled(8)
@pytest.mark.parametrize("arch", [ti.cc, ti.cuda, ti.vulkan], ids=["c", "cuda", "vulkan"])
@pytest.mark.parametrize("name", NAMES, ids=lambda name: name[:12])
def test_names_compile_everywhere(name: str, arch: Any, tmp_path: Path) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    space = load(PROGRAM.format(name=name), tmp_path / "names.py")
    check_compiles(space["k"], np.zeros((4, 4), np.float32), 1.0, arch=arch)
    check_compiles(space["scalar"], 1.0, np.zeros(4, np.float32), arch=arch)


@pytest.mark.parametrize("arch", [ti.cc, ti.vulkan], ids=["c", "vulkan"])
@pytest.mark.parametrize("name", ["new\nline#error.py", "{{7*7}}.py", 'we"ird.py', "back\\.py"])
def test_file_names_are_inert(name: str, arch: Any, tmp_path: Path) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    text = (
        "@ti.kernel\ndef k(a: ti.types.ndarray(ti.f32, 1)):\n    for i in a:\n        a[i] = 1.0  # */ ??/ {{7*7}} \\\n"
    )
    check_compiles(load(text, tmp_path / name)["k"], arch=arch)


def test_a_kernel_called_task_with_two_tasks(tmp_path: Path) -> None:
    ti.init(arch=ti.cc, log_level=ti.ERROR)
    text = "@ti.kernel\ndef task(a: ti.types.ndarray()):\n    for i in a:\n        a[i] = 1.0\n    for i in a:\n        a[i] += i\n"
    a = np.zeros(4, np.float32)
    load(text, tmp_path / "task.py")["task"](a)
    assert a.tolist() == [1, 2, 3, 4]


def test_long_unrolling(full: bool, tmp_path: Path) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR, unrolling_limit=0)
    count = 20_000 if full else 4_000
    body = f"    x = n\n    for i in ti.static(range({count})):\n        x += i\n    return x\n"
    kernel = load(f"@ti.kernel\ndef k(n: ti.i32) -> ti.i32:\n{body}", tmp_path / "unroll.py")["k"]
    assert kernel(1) == count * (count - 1) // 2 + 1


@pytest.mark.exhaustive
def test_what_nests_too_deeply_is_told(tmp_path: Path) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR, unrolling_limit=0)
    body = "    for i in ti.static(range(20000)):\n        if f[0] * i > 7:\n            break\n        f[0] += ti.cast(i, types[i % 2])\n"
    kernel = load(
        f"types = ti.i32, ti.i64\nf = ti.field(ti.i32, 1)\n@ti.kernel\ndef k():\n{body}", tmp_path / "deep.py"
    )["k"]
    with pytest.raises(ti.TaichiCompilationError, match="nests deeper"):
        kernel()


def test_dumped_kernels_of_one_name_keep_apart(tmp_path: Path) -> None:
    make = "def make(c):\n    @ti.kernel\n    def k(x: ti.f32) -> ti.f32:\n        return x + c\n    return k\n"
    ti.init(arch=ti.cc, log_level=ti.ERROR, dump_dir=str(tmp_path / "out"))
    space = load(make, tmp_path / "make.py")
    assert [space["make"](c)(1.0) for c in (1, 2, 3)] == [2.0, 3.0, 4.0]
    assert len(list((tmp_path / "out").glob("k-*/k.c"))) == 3
    ti.init(arch=ti.cc, log_level=ti.ERROR, dump_dir=str(tmp_path / "make.py"))
    with pytest.warns(ti.ShadesmithWarning, match="dump_dir"):
        assert space["make"](4)(1.0) == 5.0


def test_looking_inside_with_wrong_arguments(tmp_path: Path) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    kernel = load("@ti.kernel\ndef k(x: ti.f32) -> ti.f32:\n    return x\n", tmp_path / "look.py")["k"]
    with pytest.raises(ti.TaichiSyntaxError, match="takes 1, found 3"):
        kernel.source(1.0, 2.0, 3.0)
    for arch in ("cuda:sm", "nonsense", 3, ti.gpu):
        with pytest.raises(ti.TaichiRuntimeError, match="no target"):
            kernel.source(1.0, arch=arch)
