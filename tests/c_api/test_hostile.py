"""Archives that lie, and callers who give back what is not theirs: errors, and the runtime goes on."""

import ctypes

import numpy as np
import pytest
from c_api import binding, sample_archives
from c_api.binding import CError, byref

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # the C runtime has no other

REQUIRES = {
    "vulkan": {"spirv": [1, 3], "capabilities": [], "extensions": [], "features": [], "subgroup_size": None},
    "cuda": {"arch": "sm_90", "ptx": None},
}
FIELD = {
    "tree": 0, "offset_bytes": 0, "element": "f32", "element_shape": [], "shape": [4], "strides_bytes": [4], "offset": [],
    "members": None, "element_size_bytes": 4,
}  # fmt: skip


def packed(target, kernels=None, **other):
    """Return an archive of kernels without any task, which need no compiler."""
    return sample_archives.pack(
        sample_archives.manifest(kernels or {}, {}, target=target, requires=REQUIRES[target], **other), {}
    )


def idle(target, constants=(), **interface):
    kernel = sample_archives.kernel(
        "idle", {}, target=target, tasks=[], interface={"members": [], "arrays": [], "args_size_bytes": 8} | interface
    )
    kernel["module"]["files"] = []
    return kernel | {"parameters": [], "constants": list(constants)}


def load(runtime, data):
    return runtime.call("ti_create_aot_module", runtime.handle, data, len(data))


def test_a_module_that_is_too_large_leaves_nothing_behind(runtime):
    """What was recorded to clear its first tree must not be run once the tree is gone."""
    with pytest.raises(CError, match="memory"):
        load(runtime, packed(runtime.target, trees=[{"size_bytes": 1 << 20}, {"size_bytes": 1 << 39}]))
    memory = runtime.allocate(1 << 20)
    runtime.write(memory, b"\1" * 64)
    runtime.call("ti_wait", runtime.handle)
    assert runtime.read(memory, 65) == b"\1" * 64 + b"\0"


@pytest.mark.parametrize("size", [2**63, 2**64 - 16, 2**64 - 3, 2**64 - 1])
def test_sizes_that_leave_64_bits_when_rounded_up(runtime, size):
    with pytest.raises(CError, match="memory") as caught:
        runtime.allocate(size)
    assert caught.value.code == binding.OUT_OF_MEMORY


def test_memory_of_a_module_is_freed_with_it(runtime):
    module = load(runtime, packed(runtime.target, trees=[{"size_bytes": 64}], fields={"x": FIELD}))
    field = binding.Field()
    runtime.call("ti_get_aot_module_field", module, b"x", byref(field))
    with pytest.raises(CError, match="ti_destroy_aot_module"):
        runtime.call("ti_free_memory", runtime.handle, field.slice.memory)
    assert np.frombuffer(runtime.read(field.slice.memory, 16), np.float32).tolist() == [0.0] * 4
    runtime.call("ti_destroy_aot_module", module)


def test_a_result_of_nothing(runtime):
    result = {"type": "f32", "shape": [0], "offset_bytes": 0, "members": []}
    kernel = runtime.kernel(
        load(runtime, packed(runtime.target, {"idle": idle(runtime.target, results=[result])})), "idle"
    )
    buffer = ctypes.create_string_buffer(b"as it is", 8)
    runtime.call("ti_get_kernel_result", runtime.handle, kernel, 0, buffer, 0)
    assert buffer.raw == b"as it is"


@pytest.mark.parametrize("kind", ["vulkan", "cuda"])
def test_extents_whose_product_leaves_64_bits(library, kind):
    field = FIELD | {"shape": [1 << 24, 1 << 24, 1 << 16], "strides_bytes": [4, 4, 4]}
    data = packed(kind, trees=[{"size_bytes": 64}], fields={"x": field})
    assert library.ti_check_aot_module(data, len(data)) == binding.CORRUPTED
    assert b"$.fields.x.shape: smaller extents" in library.ti_get_last_error_message()


@pytest.mark.parametrize("source", [("pointer", 0), ("temporaries",), ("result",), ("report",)])
def test_an_address_is_no_number(library, source):
    interface = {
        "members": [sample_archives.member("x", "u64", 0, 8, *source)],
        "arrays": [sample_archives.array("x", None, 1)],
    }
    data = packed("vulkan", {"idle": idle("vulkan", [4096], **interface)})
    assert library.ti_check_aot_module(data, len(data)) == binding.CORRUPTED
    assert b"$.kernels.idle.constants[0]: null or an offset in a tree" in library.ti_get_last_error_message()


def test_the_last_failure_can_be_set_again(library):
    library.ti_set_last_error(-4, b"a" * 3000)
    library.ti_set_last_error(-4, library.ti_get_last_error_message())
    assert library.ti_get_last_error_message() == b"a" * 3000


def test_what_was_freed_is_told_from_what_is_there(runtime, library):
    """Also where the memory of a handle would have been taken again at once."""
    module = load(runtime, packed(runtime.target, {"idle": idle(runtime.target)}, trees=[{"size_bytes": 64}]))
    kernel, memory = runtime.kernel(module, "idle"), runtime.allocate(64)
    other = runtime.allocate(64)
    runtime.call("ti_free_memory", runtime.handle, memory)
    again = runtime.allocate(64)
    runtime.call("ti_destroy_aot_module", module)
    module_again = load(runtime, packed(runtime.target, {"idle": idle(runtime.target)}))
    for text, name, *arguments in (
        ("memory is no memory: it was freed before", "ti_free_memory", runtime.handle, memory),
        ("memory is no memory: it was freed before", "ti_map_memory", runtime.handle, memory),
        ("memory is no memory: it was freed before", "ti_get_memory_address", runtime.handle, memory),
        ("memory is no memory", "ti_read_memory", runtime.handle, byref(binding.Slice(memory, 0, 4)), b"1234"),
        ("memory is no memory: it is a handle of another kind", "ti_free_memory", runtime.handle, module_again),
        ("runtime is no runtime: it is a handle of another kind", "ti_wait", again),
        ("memory is null", "ti_free_memory", runtime.handle, None),
        ("aot_module is no module: it was freed before", "ti_destroy_aot_module", module),
        ("aot_module is no module: it was freed before", "ti_get_aot_module_kernel", module, b"idle"),
        ("aot_module is no module: it was freed before", "ti_get_aot_module_kernel_name", module, 0),
        ("kernel is no kernel: it was freed before", "ti_launch_kernel", runtime.handle, kernel, 0, None),
        ("kernel is no kernel: it was freed before", "ti_get_kernel_result", runtime.handle, kernel, 0, b"1234", 4),
    ):
        with pytest.raises(CError, match=text):
            runtime.call(name, *arguments)
    for whole in (other, again):
        assert runtime.read(whole, 64) == bytes(64)
    runtime.launch(runtime.kernel(module_again, "idle"))


def test_a_runtime_that_was_destroyed(runtime, library):
    other = binding.Runtime(library, binding.ARCHES[runtime.target])
    memory = other.allocate(16)
    other.close()
    for name, *arguments in (
        ("ti_destroy_runtime", other.handle),
        ("ti_wait", other.handle),
        ("ti_flush", other.handle),
        ("ti_set_runtime_random_seed", other.handle, 3),
        ("ti_get_runtime_device_name", other.handle),
        ("ti_allocate_memory", other.handle, byref(binding.AllocateInfo(16))),
        ("ti_load_aot_module", other.handle, b"x.tcm"),
    ):
        with pytest.raises(CError, match="runtime is no runtime: it was freed before"):
            runtime.call(name, *arguments)
    with pytest.raises(CError, match="memory is no memory: it was freed before"):
        runtime.call("ti_free_memory", runtime.handle, memory)


def test_handles_come_again_in_the_end(runtime):
    """Their memory is bounded by how many there were at a time."""
    seen = set()
    for _ in range(600):
        memory = runtime.allocate(4)
        seen.add(memory)
        runtime.call("ti_free_memory", runtime.handle, memory)
    assert 200 < len(seen) < 300


def test_a_callback_cannot_take_away_what_printed(runtime, archive):
    @ti.kernel
    def show(n: ti.i32):
        print("shown", n)

    module = runtime.load(archive({"show": show}))
    kernel, said = runtime.kernel(module, "show"), []

    @binding.PRINT
    def meddle(text, size, user):
        if not said:
            said.append("")
            runtime.launch(kernel, binding.i32(2))
            for name, handle in (("ti_destroy_aot_module", module), ("ti_destroy_runtime", runtime.handle)):
                with pytest.raises(CError, match="a print callback cannot free the runtime or its modules"):
                    runtime.call(name, handle)
            runtime.library.ti_set_last_error(0, None)  # else it would be that of the launch
        said.append(binding.ctypes.string_at(text, size))

    runtime.library.ti_set_print_callback(meddle, None)
    try:
        runtime.launch(kernel, binding.i32(1))
    finally:
        runtime.library.ti_set_print_callback(binding.PRINT(), None)
    assert said == ["", b"shown 2\n", b"shown 1\n"]
    runtime.call("ti_destroy_aot_module", module)
