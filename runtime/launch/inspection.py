"""Every form of a kernel as a string: for `kernel.inspect`, `ti.init(print_ir=...)` and the dump folder."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...transpiler.errors import warn_user
from ...transpiler.frontend.source.specialization import Specialization
from ...transpiler.lazy_dataclasses import dataclass
from ..cache.compiler import compile_source
from ..config import plain_name
from ..session import session as sessions
from ..viewed import Code, Viewed
from .tool_registry import tool

if TYPE_CHECKING:
    from ...transpiler.backend.module.compilation import Compilation
    from ...transpiler.backend.module.interface import BackendModule
    from ...transpiler.ir.nodes import Statement
    from ...transpiler.ir.text import IRText

BUILT = "built"
"""The form before all passes in `Inspection.values`; people see it as `frontend`, with nested expressions."""
DEFAULT_GPU = "sm_90"
"""Architecture of PTX and SASS if no GPU is open."""


@dataclass(frozen=True, slots=True)
class PassForms:
    """One run of a pass that changed the kernel. form: its name in `kernel.ir`, "pass:07:fold"."""

    form: str
    before: str
    after: str

    @property
    def name(self) -> str:
        """The name of the pass."""
        return self.form.rpartition(":")[2]

    def diff(self) -> str:
        """Return what the pass changed, as a unified diff; values have the numbers that they have after it."""
        text: str = tool("pass_diff")(self.form, self.before, self.after)
        return text


@dataclass(frozen=True)
class Inspection(Viewed):
    """All forms of one specialization.

    forms: down to the final IR, by name, in the order of compilation. gpu: the architecture of PTX and SASS, as NVRTC
    names it.
    """

    specialization: Specialization
    compilation: Compilation
    forms: dict[str, str]
    locations: dict[str, tuple[tuple[int, str, int], ...]]
    """By form, (line, file, Python line) of the lines that come from a Python line."""
    gpu: str = DEFAULT_GPU
    calls: tuple[tuple[tuple[str, int], tuple[str, int]], ...] = ()
    """(file, line) of inlined functions, with (file, line) of the call."""
    values: dict[str, tuple[Statement, ...]] = field(default_factory=dict)
    """By form of flat SSA, the statements of `$0`, `$1` and so on; those of `built` are from before all passes."""
    built: str = ""
    """The kernel before all passes, as flat SSA."""

    @property
    def module(self) -> BackendModule:
        """The emitted source with its interface."""
        return self.compilation.module

    @property
    def source(self) -> str:
        """The emitted source."""
        return _code(self.module)

    @property
    def python(self) -> str:
        """The kernel's Python source."""
        return "\n".join(self.specialization.definition.source.lines)

    @property
    def times(self) -> dict[str, float]:
        """Seconds spent in each stage."""
        return self.compilation.times

    @property
    def spirv(self) -> str:
        """The SPIR-V of the GLSL, with the Python line of each instruction. Raises: KeyError on other targets."""
        return self.ir("spirv")

    @property
    def ptx(self) -> str:
        """The PTX of the CUDA C, likewise; no GPU is needed. Raises: KeyError on other targets."""
        return self.ir("ptx")

    @property
    def sass(self) -> str:
        """The machine code, likewise. Raises: KeyError on other targets; TaichiRuntimeError without nvdisasm."""
        return self.ir("sass")

    @cached_property
    def map(self) -> dict[str, Any]:
        """Python line, IR values, emitted line, and lines of the forms below it; see `workbench/inspect/maps.py`."""
        line_map: dict[str, Any] = tool("line_map")(self.module, self.locations["final"], self.forms["final"], self.gpu)
        return line_map

    @cached_property
    def resources(self) -> Any:
        """Registers, spills, shared memory and occupancy of each task; printable: `workbench/inspect/resources.py`."""
        return tool("resources")(self.module, self.gpu, sessions.active())

    @property
    def passes(self) -> list[PassForms]:
        """The runs of passes that changed the kernel, in order, each with the form before and after it."""
        names = [name for name in self.forms if name.startswith("pass:")]
        before = [self.built, *(self.forms[name] for name in names)]
        return [PassForms(name, form, self.forms[name]) for name, form in zip(names, before)]

    def blame(self, value: str, stage: str = "final") -> Any:
        """Return which pass made a value of a form, `$12`, and which changed it; see `workbench/inspect/blame.py`."""
        return tool("blame")(self, value, stage)

    def edited(self, variant: str = "edit") -> Inspection:
        """Return the same kernel with the source of an edit, as stored in its slot, instead of the generated one.

        Raises: TaichiRuntimeError if there is none.
        """
        edits_dir = sessions.current_config().edits_dir
        module = tool("edited_as_stored")(self.specialization, self.module, edits_dir, variant)
        return replace(self, compilation=replace(self.compilation, module=module))

    def names(self) -> list[str]:
        """Return the names that `ir` takes, in order."""
        lower = tool("forms_below")(self.module.target)
        return ["python", *self.forms, "source", *lower]

    def ir(self, stage: str) -> str:
        """Return one form. Raises: KeyError with the names of all forms; else as `spirv`, `ptx` and `sass`."""
        if stage == "source":
            return self.source
        if stage == "python":
            return self.python
        if stage in self.forms:
            return self.forms[stage]
        if stage not in tool("forms_below")(self.module.target):
            raise KeyError(f"no form `{stage}`; there are {', '.join(self.names())}")
        listing: str = tool("listing")(self.module, stage, self.gpu)
        return listing

    def __str__(self) -> str:
        parts = [("python", self.python), *self.forms.items(), ("source", self.source)]
        return "\n".join(f"==== {name}\n{form}" for name, form in parts)


def source_of(specialization: Specialization) -> str:
    """Compile and return the emitted source alone: the forms on the way take twice as long to print."""
    return _code(compile_source(specialization).module)


def _code(module: BackendModule) -> str:
    return Code(module.source(), str(module.target))


def observe(specialization: Specialization) -> Inspection:
    """Compile and return every form on the way."""
    seen: dict[str, IRText] = {}
    compilation = compile_source(specialization, seen.__setitem__)
    seen.setdefault("lowered", seen["frontend"])
    forms = {name: form.text for name, form in seen.items()}
    gpu = dict(specialization.capabilities.extra).get("arch", DEFAULT_GPU)
    locations = {name: form.line_map for name, form in seen.items()}
    calls = sorted({call for form in seen.values() for call in form.calls})
    values = {name: form.values for name, form in seen.items() if form.flat is None}
    flat = seen["frontend"].flat
    assert flat is not None
    values[BUILT] = flat.values
    return Inspection(specialization, compilation, forms, locations, gpu, tuple(calls), values, flat.text)


def printing_observer(config: Any, kernel: str) -> Callable[[str, IRText], None] | None:
    """Return a function that prints each form if `print_ir` selects this kernel, else None."""
    if not config.print_ir or (isinstance(config.print_ir, str) and config.print_ir != kernel):
        return None

    def show(stage: str, form: IRText) -> None:
        print(f"==== {kernel}: {stage}\n{form.text}", flush=True)

    return show


def dump(folder: str, module: BackendModule, specialization: Specialization) -> str:
    """Write the emitted files below `folder`, in a folder named by kernel and content; returns that folder.

    The content includes the source, since the key does not depend on the globals and closures that were read. If the
    files cannot be written, a warning says so and the kernel runs all the same.
    """
    content = hashlib.sha256((specialization.key + module.source()).encode()).hexdigest()
    path = os.path.join(os.path.expanduser(folder), f"{plain_name(module.kernel)}-{content[:12]}")
    try:
        os.makedirs(path, exist_ok=True)
        for file in module.files:
            with open(os.path.join(path, file.name), "w", encoding="utf-8") as output:
                output.write(file.text)
    except OSError as error:
        reason = error.strerror or error
        warn_user(f"The emitted files cannot be written to {path}: {reason}. Hint: set another folder with `dump_dir`")
    return path
