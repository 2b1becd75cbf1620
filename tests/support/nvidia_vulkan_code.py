"""Print the machine code that NVIDIA's Vulkan driver made of a compute shader.

    python tests/support/nvidia_vulkan_code.py FILE SIZE [--gpu SM90]

FILE: what vkGetPipelineCacheData gives for a cache with one pipeline. SIZE: "Binary Size" of the driver's statistics, which
`shadesmith inspect --stage resources` prints. It needs the tools zstd and nvdisasm, no GPU. The format is not
documented; this was seen of driver 580.159: a header, then a frame of zstd, and in it the code, which ends before the
name of the entry point. nvdisasm refuses the constants behind the last instruction: it gets the rest.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

FRAME = b"\x28\xb5\x2f\xfd"
"""How a frame of zstd begins."""
ENTRY = re.compile(rb"main_\d")
WORD = 16
"""Bytes of an instruction."""
REFUSED = re.compile(r"at address (0x[0-9a-f]+)")


def code_of(cache: bytes, size: int) -> bytes:
    """Return the code in a pipeline cache."""
    start = cache.index(FRAME)
    found = subprocess.run(["zstd", "-dc"], input=cache[start:], capture_output=True, check=True).stdout
    entry = ENTRY.search(found)
    assert entry is not None, "no entry point: another version of the driver?"
    return found[entry.start() - size : entry.start()]


def disassembled(code: bytes, tool: str, gpu: str) -> str:
    """Return the listing of the longest run of bytes that are all instructions."""
    refused = _run(tool, gpu, code)[1]
    bounds = [-WORD, *refused, len(code) // WORD * WORD]
    first, end = max(pairwise(bounds), key=lambda bound: bound[1] - bound[0])
    return _run(tool, gpu, code[first + WORD : end])[0]


def _run(tool: str, gpu: str, code: bytes) -> tuple[str, list[int]]:
    with tempfile.NamedTemporaryFile(suffix=".bin") as file:
        Path(file.name).write_bytes(code)
        made = subprocess.run([tool, "--binary", gpu, file.name], capture_output=True, text=True, check=False)
    return made.stdout, sorted({int(address, 16) for address in REFUSED.findall(made.stderr)})


def main() -> int:
    from shadesmith.runtime.workbench.inspect.cuda_listings import find_nvdisasm

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("size", type=int)
    parser.add_argument("--gpu", default="SM90")
    arguments = parser.parse_args()
    tool = find_nvdisasm()
    assert tool is not None, "pip install nvidia-cuda-nvdisasm"
    print(disassembled(code_of(arguments.file.read_bytes(), arguments.size), tool, arguments.gpu))
    return 0


if __name__ == "__main__":
    sys.exit(main())
