"""What every pass receives beside the kernel: options, capabilities, and places for records and warnings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..ir.tasks import Kernel
from ..ir.verify import Stage
from ..options import Capabilities, CompileOptions

Pass = Callable[[Kernel, "PassContext"], bool]
"""Changes a kernel in place; True if it changed anything."""


@dataclass(slots=True)
class PassContext:
    """record: called after each pass that changed the kernel, with its stage and name. warnings: texts for the user.

    times: [s] in each pass, all its runs together, in order of their first.
    """

    options: CompileOptions
    capabilities: Capabilities
    record: Callable[[Stage, str, Kernel], None] | None = None
    warnings: list[str] = field(default_factory=list)
    times: dict[str, float] = field(default_factory=dict)
