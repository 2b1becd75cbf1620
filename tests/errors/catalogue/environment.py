"""Environment (12)."""

from __future__ import annotations

from .case import (
    FIELD,
    NAME,
    RUNTIME,
    SYNTAX,
    Case,
    refused,
    refused_call,
    refused_nowhere,
    warned,
    warned_call,
)

K = "@ti.kernel\ndef k() -> ti.i32:\n    return 3\n"
WITHOUT_CUDA = "from unittest import mock\nwith mock.patch('shadesmith.runtime.devices.cuda.device.available', return_value=False):\n"
WITHOUT_TOOLS = "from unittest import mock\nwith mock.patch.dict('os.environ', PATH='/nowhere'):\n"
WITHOUT_LAYER = """import os
from unittest import mock
layer = mock.patch('shadesmith.runtime.devices.vulkan.instance.VALIDATION_LAYER', 'VK_LAYER_not_there')
with layer, mock.patch.dict(os.environ, SHADESMITH_VALIDATION='1'):
"""
REGISTERED_NOWHERE = "space = {'ti': ti}\nexec('@ti.kernel\\ndef k():\\n    pass\\n', space)\nspace['k']()"
WRAPPED = """import functools
def timed(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments)
    return wrapper
@ti.kernel
@timed
«def k() -> ti.i32:
    return 3
result = k()"""
RESTARTED = (
    FIELD
    + "@ti.kernel\ndef k() -> ti.f32:\n    return f[1, 1]\nk()\nti.init(arch=ti.python, default_fp=ti.f64, log_level=ti.ERROR)\n«k()"
)
DUMPED = "ti.init(arch=ti.python, log_level=ti.ERROR, dump_dir='/dev/null/kernels')\n"
TABS_AND_BLANKS = "@ti.kernel\ndef k(n: ti.i32):\n\tif n > 1:\n\t    a =\t«größe\nk(3)"

CASES: list[Case] = [
    refused_call("environment/kernel_before_init", RUNTIME, "There is no session", "ti.init(arch=ti.cpu)", "ti.reset()\n" + K + "«k()", "kernel before init"),
    refused_call("environment/unknown_arch", RUNTIME, "Arch=metall is not known", "did you mean `metal`?", "«ti.init(arch='metall')", "unknown arch"),
    refused_call("environment/arch_without_device", RUNTIME, "is not supported", "leave out `enable_fallback=False`", "«ti.init(arch=ti.metal, enable_fallback=False)", "arch without device"),
    refused_nowhere("environment/source_not_available", SYNTAX, "The source of `k` is not available in <string>", "linecache", REGISTERED_NOWHERE, "source not available (REPL, frozen, .pyc only)"),
    refused("environment/two_kernels_on_one_line", SYNTAX, "A `lambda` cannot be a kernel", "write a `def`", "kernels = [lambda: 1, lambda: 2]\nti.kernel(kernels[1])".replace("lambda: 2", "«lambda: 2"), "two kernels on one line"),
    refused("environment/tabs_and_blanks", NAME, '"größe" is not defined', "before it is used", TABS_AND_BLANKS, "tabs and blanks mixed"),
    warned("environment/another_decorator", "`k` was wrapped by another decorator", "directly above `def`", WRAPPED, 3, "decorated by another decorator"),
    refused("environment/lambda", SYNTAX, "A `lambda` cannot be a kernel", "write a `def`", "k = ti.kernel(«lambda: 3)", "kernel on a lambda"),
    warned_call("environment/folder_not_writable", "cannot be written to /dev/null/kernels", "another folder with `dump_dir`", DUMPED + K + "result = «k()", 3, "cache directory not writable (warning)"),
    refused_call("environment/glslang_missing", RUNTIME, "`glslangValidator` was not found", "apt-get install glslang-tools", WITHOUT_TOOLS + "    ti.init(arch=ti.vulkan, enable_fallback=False, log_level=ti.ERROR)\n    @ti.kernel\n    def k() -> ti.i32:\n        return 3\n    «k()", "glslangValidator missing"),
    warned_call("environment/layer_missing", "VK_LAYER_not_there is not installed, so nothing is validated", "apt-get install vulkan-validationlayers", WITHOUT_LAYER + "    «ti.init(arch=ti.vulkan, enable_fallback=False, log_level=ti.ERROR)", None, "layer asked but missing"),
    refused_call("environment/init_after_fields", RUNTIME, "made before the last `ti.init()`", "again after `ti.init()`", RESTARTED, "changed ti.init options after fields"),
]  # fmt: skip
