"""Every kernel of tests/golden that can be archived is checked, and loaded on a device, by the C runtime.

They are not launched: some of them look outside of arrays, which is no matter to the texts they are for.
"""

from types import FunctionType

import golden_kernels
import pytest
from c_api import binding
from described import Described

import shadesmith as ti
from shadesmith.runtime.aot.container import write_container


def archived(name: str) -> bytes:
    """Return the archive of a golden kernel for Vulkan."""
    ti.init(arch=ti.python, log_level=ti.WARN)
    golden = golden_kernels.load(name)  # some begin a session of their own
    if any(isinstance(value, Described) or hasattr(value, "describe_elements") for value in vars(golden).values()):
        pytest.skip("its fields are descriptions without memory")
    kernel = ti.kernel(golden.kernel) if isinstance(golden.kernel, FunctionType) else golden.kernel
    module = ti.aot.Module(ti.vulkan)
    module.add_kernel(kernel, name=name)
    return write_container(module.members())


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [name for name in golden_kernels.KERNELS if name not in golden_kernels.RECURSIVE])
@pytest.mark.targets("vulkan")
def test_golden_kernels(target, library, name):
    if target != "vulkan":
        pytest.skip("one target is enough: archives for CUDA are checked without a device (test_check.py)")
    data = archived(name)
    assert library.ti_check_aot_module(data, len(data)) == 0, library.ti_get_last_error_message()
    runtime = binding.Runtime(library, binding.VULKAN)
    try:
        loaded = runtime.call("ti_create_aot_module", runtime.handle, data, len(data))
        assert runtime.kernel(loaded, name)
    finally:
        runtime.close()
