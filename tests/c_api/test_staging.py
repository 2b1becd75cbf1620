"""The ways of a GPU whose memory the host does not see, on whatever device is here: a runtime that does not map it."""

import ctypes

import numpy as np
import pytest
from c_api import binding

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # the C runtime has no other

LINE = "vulkan->is_mapped = vulkan_memory_type(vulkan, UINT32_MAX, MEMORY_LOCAL | MEMORY_CACHED) >= 0;"


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if binding.compiler("gcc") is None:
        pytest.skip("needs gcc")
    folder = tmp_path_factory.mktemp("staging")
    text = (binding.FOLDER / "shadesmith.c").read_text()
    assert text.count(LINE) == 1
    (folder / "shadesmith.c").write_text(text.replace(LINE, "vulkan->is_mapped = false;"))
    source = str(folder / "shadesmith.c")
    return binding.load_library(binding.compile_c(folder / "libshadesmith.so", "-O0", "-shared", "-fPIC", source))


def test_launches_and_copies(runtime, archive):
    @ti.kernel
    def double(x: ti.types.ndarray(ti.i32, 1)):
        for i in x:
            x[i] *= 2

    if runtime.target != "vulkan":
        pytest.skip("CUDA's memory is never seen by the host")
    kernel = runtime.kernel(runtime.load(archive({"double": double})), "double")
    count = 3_000_001  # more than the staging memory holds
    given = np.arange(count, dtype=np.int32)
    memory, argument = runtime.array(given, "i32")
    runtime.launch(kernel, argument)
    assert np.array_equal(np.frombuffer(runtime.read(memory, 4 * count), np.int32), given * 2)
    mapped = runtime.call("ti_map_memory", runtime.handle, memory)
    seen = np.ctypeslib.as_array((ctypes.c_int32 * count).from_address(mapped))
    assert seen[-1] == 2 * (count - 1)
    seen[:] = 21
    runtime.call("ti_unmap_memory", runtime.handle, memory)
    runtime.launch(kernel, argument)
    assert runtime.read(memory, 12, 4 * count - 12) == np.full(3, 42, np.int32).tobytes()
