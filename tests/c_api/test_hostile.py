"""Archives that lie, and callers who give back what is not theirs: errors, and the runtime goes on."""

import ctypes

import numpy as np
import pytest
from c_api import binding, sample_archives
from c_api.binding import CError, byref

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
        load(runtime, packed(runtime.target, trees=[{"size_bytes": 1 << 20}, {"size_bytes": 1 << 47}]))
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
    runtime.call("ti_get_kernel_result", runtime.handle, kernel, 0, ctypes.create_string_buffer(8), 0)


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
    assert b"$.kernels.idle.constants[0]: null or a place in a tree" in library.ti_get_last_error_message()


def test_the_last_failure_can_be_set_again(library):
    library.ti_set_last_error(-4, b"a" * 3000)
    library.ti_set_last_error(-4, library.ti_get_last_error_message())
    assert library.ti_get_last_error_message() == b"a" * 3000
