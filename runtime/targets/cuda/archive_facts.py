"""Facts of archives of CUDA C: their GPUs, and entries of their manifests."""

from __future__ import annotations

import re
from dataclasses import replace

from ....transpiler.backend.module.read_module import optional, string
from ...aot.archive_facts import ArchiveFacts
from ...devices.cuda.capabilities import PORTABLE

PORTABLE_ARCH = "sm_75"
"""The oldest GPU that NVRTC 13 compiles for; its cubin runs on sm_75 to sm_79, its PTX on all newer ones."""

TOOLS = ArchiveFacts(
    binaries=("cubin", "ptx"),
    requires={
        "arch": string(16, re.compile(r"sm_\d{2,3}[a-z]?")),
        "ptx": optional(string(20, re.compile(r"compute_\d{2,3}"))),
    },
    minimum=replace(PORTABLE, extra=(("arch", PORTABLE_ARCH),)),
    choice="another GPU",
)
