"""All passes together: switches, records, speed, and agreement of optimised and plain kernels."""

import sys
from pathlib import Path

import numpy as np
import pytest
from bare_targets import bare

from shadesmith.transpiler.backend.interpret.interpreter import run as interpret
from shadesmith.transpiler.errors import InternalError
from shadesmith.transpiler.ir.statements import GlobalStore
from shadesmith.transpiler.ir.text import print_frontend, print_kernel
from shadesmith.transpiler.ir.types import f32
from shadesmith.transpiler.ir.verify import verify
from shadesmith.transpiler.options import CompileOptions
from shadesmith.transpiler.passes import PassContext, Stage, run

sys.path.insert(0, str(Path(__file__).parent))
from random_kernels import SIZE, RandomKernel  # noqa: E402

OPTIONAL = frozenset({
    "fold", "simplify", "forward_stores", "forward_elements", "common_subexpressions", "dead_code", "demote_atomics",
})  # fmt: skip


def outcome(seed, disabled):
    """Return all arrays and results after running the kernel of `seed`."""
    kernel = RandomKernel(seed).kernel()
    verify(kernel, Stage.FRONTEND)
    options = CompileOptions(verify=True, fast_math=False, disabled_passes=disabled)
    run(kernel, PassContext(options, bare("c")))
    cells = np.arange(SIZE * SIZE, dtype=np.int32).reshape(SIZE, SIZE) % 7
    arrays = [np.arange(SIZE, dtype=np.int32), np.arange(SIZE, dtype=np.float32), cells, np.ones((SIZE, 2), np.float32)]
    return [*arrays, np.array(interpret(kernel, arrays, [3, 2.0]))]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(40))
def test_passes_change_no_result(seed):
    for plain, optimised in zip(outcome(seed, OPTIONAL), outcome(seed, frozenset())):
        np.testing.assert_array_equal(plain, optimised)


def scaled(sketch):
    loop = sketch.loop(8)
    with sketch.into(loop.body):
        i = sketch.index(loop)
        s = sketch.var("s", sketch.op("mul", sketch.arg("w"), sketch.read(sketch.b, i)))
        sketch.atomic("add", sketch.ptr(sketch.a, i), sketch.load(s))
    return sketch.kernel()


def capabilities():
    return bare("c", types=frozenset({"i32", "u32", "f32", "f64", "u1"}))


def test_a_pass_left_out_by_name_does_nothing(sketch):
    kernel = scaled(sketch)
    names = []
    options = CompileOptions(disabled_passes=frozenset({"forward_stores", "offload"}))
    run(kernel, PassContext(options, capabilities(), lambda stage, name, kernel: names.append(name)))
    assert "alloca" in print_kernel(kernel) and "forward_stores" not in names and "offload" in names


def test_passes_that_change_nothing_are_not_recorded(sketch):
    names = []
    run(scaled(sketch), PassContext(CompileOptions(), capabilities(), lambda stage, name, kernel: names.append(name)))
    assert "bounds" not in names and names[0] == "lower"


def test_final_text_of_a_small_kernel(sketch):
    kernel = scaled(sketch)
    run(kernel, PassContext(CompileOptions(verify=True), capabilities()))
    assert print_kernel(kernel).splitlines()[-16:] == [
        "  task k range_for block_dim=128 {",
        "    $0: i32 = const 8",
        "    $1: i32 = const 0",
        "    $2: i32 = const 1",
        "    $3 = for i in ($1)..($0) step ($2) {",
        "      $4: i32 = index $3 0",
        "      $5: f32 = arg w",
        "      $6: f32 = ptr b ($4)",
        "      $7: f32 = global load $6",
        "      $8 s: f32 = mul $5, $7",
        "      $9: f32 = ptr a ($4)",
        "      $10: f32 = global load $9",
        "      $11: f32 = add $10, $8",
        "      global store $9, $11",
        "    }",
        "  }",
    ]


def test_frontend_text_nests_expressions(sketch):
    text = print_frontend(scaled(sketch))
    assert text.startswith("shadesmith ir 1\nkernel k(")
    assert "  for i in range(0, 8, 1):  # block_dim=adaptive\n    s: f32\n    s = w * b[i]\n" in text
    assert "atomic_add(a[i], s)" in text


def test_verifier_names_the_fault_and_shows_the_kernel(sketch):
    value = sketch.arg("w")
    sketch.body.statements.remove(value)
    sketch.store(sketch.ptr(sketch.a, 0), value)
    with pytest.raises(InternalError, match=r"not defined before its use(.|\n)*shadesmith ir 1"):
        verify(sketch.kernel(), Stage.LOWERED)


def test_verifier_finds_a_value_of_another_type(sketch):
    sketch.add(GlobalStore(sketch.ptr(sketch.a, 0), sketch.const(1)))
    with pytest.raises(InternalError, match="a value of type i32 at a pointer to type f32"):
        verify(sketch.kernel(), Stage.LOWERED)


def test_texts_are_the_same_for_equal_kernels():
    texts = set()
    for _ in range(2):
        kernel = RandomKernel(7).kernel()
        run(kernel, PassContext(CompileOptions(), bare("c")))
        texts.add(print_kernel(kernel))
    assert len(texts) == 1


def test_constants_of_a_store_keep_their_type(sketch):
    sketch.store(sketch.ptr(sketch.a, 0), sketch.op("add", sketch.const(1.0, f32), sketch.const(2)))
    kernel = sketch.kernel()
    run(kernel, PassContext(CompileOptions(verify=True), capabilities()))
    assert "f32 = const 3.0" in print_kernel(kernel)
