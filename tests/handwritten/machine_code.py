"""Instructions, registers and local memory of a CUDA source, by NVRTC and nvdisasm; no GPU is needed."""

from __future__ import annotations

import re
import subprocess
import tempfile
from typing import NamedTuple

from shadesmith.runtime.devices.cuda.cubin import read_cubin
from shadesmith.runtime.devices.cuda.nvrtc import compile_cubin
from shadesmith.runtime.workbench.inspect.cuda_listings import find_nvdisasm

INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?!NOP)\S", re.MULTILINE)


class Code(NamedTuple):
    """Of all kernels of a source: the instructions together, most registers, most local memory [bytes a thread]."""

    instructions: int
    registers: int
    local_bytes: int


def machine_code(source: str, gpu: str) -> Code:
    """Compile a source and count."""
    cubin = compile_cubin(source, gpu)[0]
    kernels = read_cubin(cubin).kernels.values()
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        tool = find_nvdisasm()
        assert tool is not None, "pip install nvidia-cuda-nvdisasm"
        text = subprocess.run([tool, "-c", file.name], capture_output=True, text=True, check=True).stdout
    instructions = len(INSTRUCTION.findall(text))
    return Code(instructions, max(k.registers for k in kernels), max(k.frame_bytes for k in kernels))
