"""What lies below the source of a kernel: listings of what compilers make of it, and what its tasks take of a device.

In: a module. Out: `Listing`s and `Resources`, by the `InspectionTools` of the module's target.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ....transpiler.backend.module.interface import BackendModule, SourceFile
from ...devices.target_tools import Part, find_part, part_of, tools_of
from .listing import Listing
from .resources import Resources

if TYPE_CHECKING:
    from ...session.session import Session


@dataclass(frozen=True, slots=True)
class Form:
    """A form below the source. name: "ptx". title: for people. comment: what begins one. suffix: of its files.

    listing: makes it of a file of a module. gpu: as NVRTC names it, "sm_90".
    """

    name: str
    title: str
    comment: str
    suffix: str
    listing: Callable[[BackendModule, SourceFile, str], Listing]


@dataclass(frozen=True, kw_only=True)
class InspectionTools(Part):
    """How the sources of a target are looked into. forms: from the source down. resources: see `resources`."""

    MODULE: ClassVar[str] = "inspection"

    resources: Callable[[BackendModule, str, Session | None], Resources]
    forms: tuple[Form, ...] = ()


def forms_of(target: str) -> dict[str, Form]:
    """Return the forms that sources of a target have below them, by name."""
    tools = find_part(target, InspectionTools)
    return {} if tools is None else {form.name: form for form in tools.forms}


def listings(module: BackendModule, form: str, gpu: str = "") -> list[Listing]:
    """Return one of `forms_of(module.target)`, a listing a file. gpu: as NVRTC names it, "" for a common one.

    Raises: TaichiCompilationError where a text is refused, TaichiRuntimeError where a tool is missing.
    """
    gpu = gpu or tools_of(module.target).default_gpu
    return [forms_of(module.target)[form].listing(module, file, gpu) for file in module.files]


def listing_text(module: BackendModule, form: str, gpu: str) -> str:
    """Return `listings` as one text, each with a line that names its file where there are several."""
    found = listings(module, form, gpu)
    if len(found) == 1:
        return found[0].text
    comment = forms_of(module.target)[form].comment
    return "\n".join(f"{comment} ===== {listing.file}\n{listing.text}" for listing in found)


def resources(module: BackendModule, gpu: str, session: Session | None = None) -> Resources:
    """Return what the tasks of a module take. gpu: for CUDA, as NVRTC names it. session: its device is asked on Vulkan,
    else the first there is.

    Raises: TaichiCompilationError where a text is refused; TaichiRuntimeError where NVRTC is missing.
    """
    return part_of(module.target, InspectionTools).resources(module, gpu, session)
