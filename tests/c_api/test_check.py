"""Archives of every target, as our compilers make them, pass the check that needs no device."""

import pytest

import shadesmith as ti
from shadesmith.runtime.aot.container import write_container

ti_types = ti.types


@ti.kernel
def fill(x: ti.types.ndarray(ti.f64, 2), n: ti.i32) -> ti.i32:
    total = 0
    for i, j in x:
        assert i < n, f"{i} is too large"
        x[i, j] = ti.random(ti.f64)
        total += i
    print("done", n)
    return total


@pytest.mark.sampled(2)
@pytest.mark.parametrize("arch", ["vulkan", "cuda", "cpu"])
@pytest.mark.parametrize("debug", [False, True])
def test_archives_of_every_target(library, arch, debug):
    ti.init(arch=ti.cpu, debug=debug, log_level=ti.WARN)
    field = ti.Vector.field(3, ti.f32, shape=(4, 5))
    blocks = ti.field(ti.f32)
    ti.root.dense(ti.ij, 4).dense(ti.ij, 4).place(blocks)

    @ti.kernel
    def add():
        for i, j in field:
            field[i, j] += blocks[i, j]

    module = ti.aot.Module(getattr(ti, arch))
    module.add_kernel(fill)
    module.add_kernel(add)
    module.add_field("field", field)
    module.add_field("blocks", blocks)
    try:
        data = write_container(module.members())
    except ti.TaichiRuntimeError as error:
        pytest.skip(f"needs the tool of the target: {error}")
    assert library.ti_check_aot_module(data, len(data)) == 0, library.ti_get_last_error_message()
