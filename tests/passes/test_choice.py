"""The pass list is the user's: left out by name, run again, passes of the program; in every key."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import shadesmith as ti
from shadesmith.transpiler.ir.nodes import walk
from shadesmith.transpiler.ir.statements import Const
from shadesmith.transpiler.passes import REQUIRED, names_of_passes

FACTOR = 4.0


def shift(kernel: Any, context: Any) -> bool:
    found = [s for root in kernel.roots() for s in walk(root) if isinstance(s, Const) and s.value == 2.0]
    for constant in found:
        constant.value, constant.origin = FACTOR, None
    return bool(found)


def double(x: ti.template()):
    for i in x:
        x[i] = i * 2.0 + (i * 2.0)


def changed(kernel: Any, *args: Any) -> list[str]:
    return [one.name for one in kernel.inspect(*args).passes]


def test_passes_left_out_in_a_session_and_run_again_in_a_kernel(target: str) -> None:
    ti.init(arch=getattr(ti, target), passes=["-cse", "-dead_code"])
    x = ti.field(ti.f32, 5)
    plain, again, fewer = ti.kernel(double), ti.kernel(double, passes="+cse"), ti.kernel(double, passes={"-ranges"})
    for kernel in (plain, again, fewer):
        kernel(x)
        assert x.to_numpy().tolist() == [0.0, 4.0, 8.0, 12.0, 16.0]
    assert "common_subexpressions" not in changed(plain, x) and "dead_code" not in changed(again, x)
    assert "common_subexpressions" in changed(again, x)
    assert len({kernel.key(x) for kernel in (plain, again, fewer)}) == 3


def test_a_pass_of_the_program_runs_at_its_place(target: str) -> None:
    ti.init(arch=getattr(ti, target))
    x = ti.field(ti.f32, 5)
    kernel = ti.kernel(double, passes=[ti.Pass(shift, after="offload")])
    kernel(x)
    assert x[1] == 8.0
    names = changed(kernel, x)
    assert names[names.index("offload") + 1] == "shift"
    first = ti.kernel(double, passes=ti.Pass(shift, before="lower", name="early"))
    assert changed(first, x)[0] == "early"
    first(x)
    assert x[1] == 8.0


def test_the_key_has_the_code_of_a_pass_and_what_it_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    ti.init(arch=ti.cpu)
    x = ti.field(ti.f32, 5)
    keys = {ti.kernel(double, passes=ti.Pass(shift, after="offload")).key(x), ti.kernel(double).key(x)}
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    keys.add(ti.kernel(double, passes=ti.Pass(shift, after="offload")).key(x))
    keys.add(ti.kernel(double, passes=ti.Pass(shift, after="fold")).key(x))
    keys.add(ti.kernel(double, passes=ti.Pass(lambda kernel, context: False, after="fold", name="shift")).key(x))
    assert len(keys) == 5
    same = ti.kernel(double, passes=ti.Pass(shift, after="fold")).key(x)
    assert same in keys


PROGRAM = """
import sys
import shadesmith as ti
from test_pass_module import shift, opened
ti.init(arch=ti.cpu, offline_cache=True, offline_cache_file_path=sys.argv[1])
x = ti.field(ti.f32, 4)
@ti.kernel(passes=ti.Pass(shift, after="offload"))
def known():
    for i in x:
        x[i] = i * 2.0
@ti.kernel(passes=ti.Pass(opened, after="offload"))
def unknown():
    for i in x:
        x[i] = i * 2.0
known()
print(x[1], "hit  text" in str(known.cache_info()))
unknown()
print("hit  text" in str(unknown.cache_info()), str(unknown.cache_info()).splitlines()[1].strip())
"""

MODULE = """
from shadesmith.transpiler.ir.nodes import walk
from shadesmith.transpiler.ir.statements import Const
import sys
stream = sys.stdout
def shift(kernel, context):
    found = [s for root in kernel.roots() for s in walk(root) if isinstance(s, Const) and s.value == 2.0]
    for constant in found:
        constant.value = 3.0
    return bool(found)
def opened(kernel, context):
    stream.flush()
    return False
"""


@pytest.mark.exhaustive  # six processes
def test_kernels_with_passes_of_the_program_are_cached_by_their_content(tmp_path: Path) -> None:
    program, module = tmp_path / "program.py", tmp_path / "test_pass_module.py"
    program.write_text(PROGRAM)
    module.write_text(MODULE)

    def run() -> list[str]:
        command = [sys.executable, str(program), str(tmp_path / "cache")]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()

    assert run()[0] == "3.0 False"
    found = run()
    assert found[0] == "3.0 True" and found[1].startswith("False miss text")
    assert "the pass `opened` of the program reads `stream`, which has no description" in found[1]
    module.write_text(MODULE.replace("3.0", "5.0"))
    assert run()[0] == "5.0 False"


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ("-cze", ValueError, "there is no pass `cze`"),
        ("-dead_cod", ValueError, "did you mean `dead_code`"),
        ("fold", ValueError, "`fold` has no sign. Hint: '-fold' leaves a pass out"),
        (["-offload"], ValueError, "every kernel needs the pass `offload`"),
        ([3], TypeError, "takes names such as '-fold' and `ti.Pass` objects, and 3 was given"),
    ],
)
def test_wrong_lists_are_refused(given: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message.replace("(", r"\(")):
        ti.init(arch=ti.cpu, passes=given)
    with pytest.raises(kind, match="`passes` of kernel `double`: |" + message):
        ti.kernel(double, passes=given)


def test_wrong_passes_of_the_program_are_refused() -> None:
    with pytest.raises(ValueError, match="either `after` or `before`"):
        ti.Pass(shift)
    with pytest.raises(ValueError, match="no pass `offlode`. Hint: did you mean `offload`"):
        ti.Pass(shift, after="offlode")
    with pytest.raises(TypeError, match="takes a function"):
        ti.Pass("shift", after="fold")
    with pytest.raises(ValueError, match="`<lambda>` is no name"):
        ti.Pass(lambda kernel, context: False, after="fold")
    with pytest.raises(ValueError, match="`fold` is a pass of shadesmith"):
        ti.kernel(double, passes=ti.Pass(shift, after="fold", name="fold"))


def test_a_pass_that_raises_or_breaks_the_kernel_is_named() -> None:
    ti.init(arch=ti.cpu)
    x = ti.field(ti.f32, 5)

    def raises(kernel: Any, context: Any) -> bool:
        raise KeyError("gone")

    def breaks(kernel: Any, context: Any) -> None:
        kernel.tasks[0].body.statements.reverse()

    for wrong, message in ((raises, "raised KeyError: 'gone'"), (breaks, "leaves a kernel that is malformed")):
        with pytest.raises(ti.TaichiCompilationError, match=f"the pass `{wrong.__name__}` of the program {message}"):
            ti.kernel(double, passes=ti.Pass(wrong, after="offload"))(x)


def test_the_environment_leaves_passes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHADESMITH_PASSES", "-cse, -fold")
    ti.init(arch=ti.cpu)
    x = ti.field(ti.f32, 5)
    assert "common_subexpressions" not in changed(ti.kernel(double), x)


def test_the_list_of_passes() -> None:
    found = ti.passes()
    assert {entry.name for entry in found if entry.required} == REQUIRED
    assert [entry.name for entry in found][0] == "inline_calls" and "fold" in str(found)


def test_a_gradient_has_the_passes_of_its_kernel() -> None:
    ti.init(arch=ti.cpu)
    x = ti.field(ti.f32, 5, needs_grad=True)
    kernel = ti.kernel(double, passes="-cse")
    assert "common_subexpressions" not in changed(kernel.grad, x)


def test_local_variables_have_no_atomic_operations_without_any_optional_pass(target: str) -> None:
    optional = [f"-{name}" for names in names_of_passes().values() for name in names if name not in REQUIRED]
    ti.init(arch=getattr(ti, target), passes=optional)
    x = ti.field(ti.i32, 4)

    @ti.func
    def highest(a: ti.i32, b: ti.i32):
        ti.atomic_max(a, b)
        return a

    @ti.kernel
    def f():
        for i in x:
            v = ti.Vector([i, 1])
            for k in range(3):
                ti.atomic_add(v[0], k)
                v[1] += ti.atomic_sub(v[0], 1)
            x[i] = highest(v[0], 2) + 10 * v[1]

    f()
    assert x.to_numpy().tolist() == [22, 52, 82, 113]
