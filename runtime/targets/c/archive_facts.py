"""Facts of archives of C: their processors, and entries of their manifests."""

from __future__ import annotations

import platform

from ....transpiler.backend.module.read_module import list_of, string
from ...aot.archive_facts import ArchiveFacts
from ...devices.host.capabilities import PORTABLE

PORTABLE_MARCH = {"x86_64": "-march=x86-64-v2", "amd64": "-march=x86-64-v2"}
"""The baseline of x86-64 processors since 2009; other processors use the compiler's default."""


def _march() -> str:
    return PORTABLE_MARCH.get(platform.machine().lower(), "")


TOOLS = ArchiveFacts(
    binaries=("shared_object",),
    requires={"system": string(40), "machine": string(40), "cpu": list_of(string(40), 500)},
    minimum=PORTABLE,
    choice="another GPU",
    march=_march,
)
