"""What a machine lacks is a reason to skip a test, not to fail it: compilers, tools of SPIR-V, a Vulkan driver.

`make test` installs all of them; this is for those who run pytest on a machine as it is. A test is skipped where its output
says, in shadesmith's words, that something was looked for, and where that is not there in fact: a test that hides a tool
from itself fails like others.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

TOOLS = {
    "`glslangValidator` was not found": ("glslangValidator",),
    "glslangValidator: not found": ("glslangValidator",),
    "No C compiler was found": ("gcc", "cc", "clang"),
    "gcc: not found": ("gcc",),
    "python cannot be replayed": ("gcc", "cc", "clang"),  # a program of its own fell back to the interpreter
    "`spirv-dis`, which shows SPIR-V, was not found": ("spirv-dis",),
    "`spirv-cross` was not found": ("spirv-cross",),
}
"""What our errors say, and the programs of which one would do."""

DRIVER = (
    "no Vulkan driver could be started",
    "no Vulkan 1.2 device",
    "the Vulkan loader was not found",
    "Vulkan is not available",  # a seed's own words
)
"""What is said where a Vulkan driver is missing."""

OPEN_VULKAN = "import shadesmith as ti; ti.init(arch=ti.vulkan, enable_fallback=False)"


class MissingTools:
    """What is missing on this machine; made before any test changes the environment."""

    def __init__(self) -> None:
        self.reasons = {said: f"needs {tools[0]}" for said, tools in TOOLS.items() if not any(map(shutil.which, tools))}
        self.environment = dict(os.environ)
        self.has_asked_for_vulkan = False

    def skip(self, report: pytest.TestReport) -> None:
        """Make a failed report a skipped one where the test has met what is missing."""
        text = "\n".join([report.longreprtext, *(text for _, text in report.sections)])
        if any(said in text for said in DRIVER) and not self.has_asked_for_vulkan:
            self._ask_for_vulkan()
        reason = next((reason for said, reason in self.reasons.items() if said in text), None)
        if reason is not None:
            report.outcome = "skipped"
            report.longrepr = (report.location[0], report.location[1] or 0, f"Skipped: {reason}")

    def _ask_for_vulkan(self) -> None:
        self.has_asked_for_vulkan = True
        command = [sys.executable, "-c", OPEN_VULKAN]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, errors="replace")
        if any(said in done.stderr for said in DRIVER):
            self.reasons |= dict.fromkeys(DRIVER, "needs a Vulkan driver")
