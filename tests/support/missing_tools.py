"""What a machine lacks is a reason to skip a test, not to fail it: compilers, tools of SPIR-V, a Vulkan driver.

`make test` installs all of them; this is for those who run pytest on a machine as it is. A test is skipped if its output
has shadesmith's message that a tool was not found, and the tool is really missing: a test that hides a tool from itself
fails like others.
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
"""Messages of errors, and the programs of which one suffices."""

DRIVER = (
    "no Vulkan driver could be started",
    "no Vulkan 1.2 device",
    "the Vulkan loader was not found",
    "Vulkan is not available",  # the message of a seed
)
"""Messages if a Vulkan driver is missing."""

OPEN_VULKAN = "import shadesmith as ti; ti.init(arch=ti.vulkan, enable_fallback=False)"


class MissingTools:
    """What is missing on this machine; created before any test changes the environment."""

    def __init__(self) -> None:
        self.reasons = {
            message: f"needs {tools[0]}" for message, tools in TOOLS.items() if not any(map(shutil.which, tools))
        }
        self.environment = dict(os.environ)
        self.has_tried_vulkan = False

    def skip(self, report: pytest.TestReport) -> None:
        """Make a failed report a skipped one if the test needs a missing tool."""
        text = "\n".join([report.longreprtext, *(text for _, text in report.sections)])
        if any(message in text for message in DRIVER) and not self.has_tried_vulkan:
            self._try_vulkan()
        reason = next((reason for message, reason in self.reasons.items() if message in text), None)
        if reason is not None:
            report.outcome = "skipped"
            report.longrepr = (report.location[0], report.location[1] or 0, f"Skipped: {reason}")

    def _try_vulkan(self) -> None:
        self.has_tried_vulkan = True
        command = [sys.executable, "-c", OPEN_VULKAN]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, errors="replace")
        if any(message in done.stderr for message in DRIVER):
            self.reasons |= dict.fromkeys(DRIVER, "needs a Vulkan driver")
