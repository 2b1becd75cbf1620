"""What every pass receives with the kernel: options, capabilities, and sinks for records and warnings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..ir.tasks import Kernel
from ..ir.verify import Stage
from ..options import Capabilities, CompileOptions

Pass = Callable[[Kernel, "PassContext"], bool]
"""Changes a kernel in place and returns whether it changed anything."""


@dataclass(slots=True)
class PassContext:
    """The state that the passes of one compilation share.

    Args:
        record: called after each pass that changed the kernel, with its stage and name.
        warnings: messages for the user.
        times: seconds in each pass, summed over its runs, in order of the first run.
    """

    options: CompileOptions
    capabilities: Capabilities
    record: Callable[[Stage, str, Kernel], None] | None = None
    warnings: list[str] = field(default_factory=list)
    times: dict[str, float] = field(default_factory=dict)
