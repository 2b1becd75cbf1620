"""The forms below the source of a kernel: listings of compiled code, and the resources that its tasks use.

In: a module. Out: `Listing`s and `Resources`, by the `InspectionTools` of the module's target.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ....transpiler.backend.module.interface import BackendModule, SourceFile
from ....transpiler.backend.module.one_file import task_sources
from ...devices.target_tools import Part, find_part, part_of, tools_of
from .listing import Listing
from .resources import Resources

if TYPE_CHECKING:
    from ...session.session import Session


@dataclass(frozen=True, slots=True)
class Form:
    """A form below the source. name: "ptx". title: for people. comment: start of a comment. suffix: of its files.

    listing: takes a module, one of its files and a GPU as NVRTC names it, "sm_90"; returns the listing.
    """

    name: str
    title: str
    comment: str
    suffix: str
    listing: Callable[[BackendModule, SourceFile, str], Listing]


@dataclass(frozen=True, kw_only=True)
class InspectionTools(Part):
    """How the sources of a target are inspected. forms: from the source down. resources: see `resources`."""

    MODULE: ClassVar[str] = "inspection"

    resources: Callable[[BackendModule, str, Session | None], Resources]
    forms: tuple[Form, ...] = ()


def forms_of(target: str) -> dict[str, Form]:
    """Return the forms below the sources of a target, by name."""
    tools = find_part(target, InspectionTools)
    return {} if tools is None else {form.name: form for form in tools.forms}


def listings(module: BackendModule, form: str, gpu: str = "") -> list[Listing]:
    """Return one of `forms_of(module.target)`, a listing for each file. gpu: as NVRTC names it, "" for a common one.

    Raises: TaichiCompilationError if a source is refused, TaichiRuntimeError if a tool is missing.
    """
    gpu, module = gpu or tools_of(module.target).default_gpu, task_sources(module)
    return [forms_of(module.target)[form].listing(module, file, gpu) for file in module.files]


def listing_text(module: BackendModule, form: str, gpu: str) -> str:
    """Return `listings` as one string, each with a line that names its file if there are several."""
    found = listings(module, form, gpu)
    if len(found) == 1:
        return found[0].text
    comment = forms_of(module.target)[form].comment
    return "\n".join(f"{comment} ===== {listing.file}\n{listing.text}" for listing in found)


def resources(module: BackendModule, gpu: str, session: Session | None = None) -> Resources:
    """Return the resources of the tasks of a module. gpu: for CUDA, as NVRTC names it. session: for its Vulkan device;
    None: the first device.

    Raises: TaichiCompilationError if a source is refused; TaichiRuntimeError if NVRTC is missing.
    """
    return part_of(module.target, InspectionTools).resources(module, gpu, session)
