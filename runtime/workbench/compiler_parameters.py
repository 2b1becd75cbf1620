"""Parameters of the compiler: choices that `kernel.tune` tries on a kernel that nobody has edited.

In: a specialization and its generated module. Out: `CompilerParameters`, the choices that change this kernel's source,
and the module with other ones. Each is an option of the compiler, so the source is what the compiler prints for it:
`#define BLOCK 256`, `#pragma unroll 4`, a loop without `wide_accesses`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...transpiler.errors import TaichiCompilationError, TaichiRuntimeError
from ...transpiler.frontend.source.specialization import Specialization
from ...transpiler.options import CompileOptions
from ..cache.compiler import compile_source
from ..loading import loader

if TYPE_CHECKING:
    from ...transpiler.backend.module.compilation import Compilation
    from ...transpiler.backend.module.interface import BackendModule

_passes: Callable[[], Any] = loader("...transpiler.passes", __package__)

COMPILER = "compiler"
"""Name of these parameters in a setting, in addition to the files of a module."""
ON, OFF = "on", "off"
AUTO = "auto"

Change = Callable[[CompileOptions, str], CompileOptions]


@dataclass(frozen=True, slots=True)
class CompilerParameter:
    """One choice. value: what the compiler chooses by itself. change: returns the options with another value."""

    name: str
    values: tuple[str, ...]
    value: str
    change: Change


def _of_number(name: str) -> Change:
    def change(options: CompileOptions, value: str) -> CompileOptions:
        changed: dict[str, Any] = {name: int(value)}
        return replace(options, **changed)

    return change


def _with_stride(options: CompileOptions, value: str) -> CompileOptions:
    return replace(options, grid_stride={ON: True, OFF: False}.get(value))


def _with_schedule(options: CompileOptions, value: str) -> CompileOptions:
    return replace(options, schedule=value)


def _of_pass(name: str) -> Change:
    def change(options: CompileOptions, value: str) -> CompileOptions:
        others = options.disabled_passes - {name}
        return replace(options, disabled_passes=others if value == ON else others | {name})

    return change


CHOICES = (
    "wide_accesses", "block_tiles", "block_sums", "private_sums", "vector_atomics", "overlap_loads", "blocks_in_order",
    "row_lanes", "register_tiles", "padded_rows", "transposed_tiles", "staged_stores", "reduce_atomics",
    "unroll_reductions", "hoist_loads", "keep_elements", "vector_lanes", "lower_access", "loads_in_flight",
)  # fmt: skip
"""Passes that make a source faster, as a rule, and change no result beyond the order of a sum."""


def catalogue(options: CompileOptions) -> dict[str, CompilerParameter]:
    """Return all parameters by name, with the values that these options have."""
    stride = AUTO if options.grid_stride is None else ON if options.grid_stride else OFF
    found = [
        CompilerParameter("block_dim", ("64", "128", "256", "512"), str(options.block_dim), _of_number("block_dim")),
        CompilerParameter("loads", ("2", "4", "8", "16"), str(options.loads), _of_number("loads")),
        CompilerParameter("unroll", ("0", "2", "4", "8"), str(options.unroll), _of_number("unroll")),
        CompilerParameter("grid_stride", (AUTO, ON, OFF), stride, _with_stride),
        CompilerParameter("schedule", (AUTO, "static", "dynamic"), options.schedule, _with_schedule),
    ]
    for name in CHOICES:
        found.append(CompilerParameter(name, (ON, OFF), OFF if name in options.disabled_passes else ON, _of_pass(name)))
    return {parameter.name: parameter for parameter in found}


DEFINES = {"block_dim": "BLOCK", "loads": "LOADS"}
"""Parameters that are macros of a source."""
WRITTEN = {
    "block_dim": "ti.loop_config(block_dim=N)", "unroll": "ti.loop_config(unroll=N)",
    "grid_stride": "ti.loop_config(grid_stride=...)",
}  # fmt: skip
"""What a person writes in Python for a value; for a pass it is `passes=`."""


def with_offers(source: str, offered: Sequence[CompilerParameter]) -> str:
    """Return a source with comments that offer parameters: `// @tune BLOCK = 64 | 128`, or what to write in Python."""
    lines = source.splitlines(keepends=True)
    place = next((k for k, line in enumerate(lines) if not line.startswith("// ")), 0)
    shown = []
    for parameter in offered:
        values = " | ".join(parameter.values)
        define = DEFINES.get(parameter.name)
        if define is not None and any(line.startswith(f"#define {define} ") for line in lines):
            shown.append(f"// @tune {define} = {values}\n")
        elif define is None:
            python = WRITTEN.get(parameter.name, f'passes="-{parameter.name}"' if parameter.name in CHOICES else "")
            python = python.replace("-", "+") if parameter.value == OFF else python
            python = f"; {python}" if python else ""
            shown.append(f"// compiler: {parameter.name} = {values}, here {parameter.value}{python}\n")
    return "".join((*lines[:place], *shown, *lines[place:]))


class CompilerParameters:
    """The parameters of one kernel. Modules are compiled once for each setting."""

    def __init__(self, specialization: Specialization, generated: BackendModule) -> None:
        self._specialization, self._generated = specialization, generated
        self._all = catalogue(specialization.options)
        self._modules: dict[tuple[tuple[str, str], ...], BackendModule] = {}

    def offered(self) -> tuple[CompilerParameter, ...]:
        """Return the parameters that change the source of this kernel, each with the values that do.

        The kernel is compiled once for each value: a pass that changes nothing, or a block's size that Python gives, is
        no choice.
        """
        changed = self._changing_passes()
        found = []
        for parameter in self._all.values():
            if parameter.name in CHOICES and parameter.value == ON and parameter.name not in changed:
                continue
            texts = {_text(self._generated): parameter.value}
            for value in parameter.values:
                module = self._compiled({parameter.name: value})
                if module is not None and module.interface == self._generated.interface:
                    texts.setdefault(_text(module), value)
            if len(texts) > 1:
                different = set(texts.values())
                found.append(
                    replace(parameter, values=tuple(value for value in parameter.values if value in different))
                )
        return tuple(found)

    def allows(self, values: Mapping[str, str]) -> bool:
        """Return whether there are such parameters with these values."""
        return all(name in self._all and value in self._all[name].values for name, value in values.items())

    def module(self, values: Mapping[str, str]) -> BackendModule:
        """Return the module with these values. Raises: TaichiCompilationError if the compiler refuses them."""
        key = tuple(sorted((name, value) for name, value in values.items() if value != self._all[name].value))
        if not key:
            return self._generated
        if key not in self._modules:
            module = self._compilation(dict(key)).module
            if module.interface != self._generated.interface:
                shown = ", ".join(f"{name}={value}" for name, value in key)
                raise TaichiCompilationError(f"{shown}: the source has another interface than the generated one")
            self._modules[key] = module
        return self._modules[key]

    def changes(self, values: Mapping[str, str]) -> list[str]:
        """Return the values that differ from the compiler's own: `block_dim 128 -> 256`."""
        own = {name: self._all[name].value for name in values}
        return [f"{name} {own[name]} -> {value}" for name, value in values.items() if value != own[name]]

    def _changing_passes(self) -> frozenset[str]:
        required: frozenset[str] = _passes().REQUIRED
        return frozenset(run.name for run in self._compilation({}).runs if run.has_changed) - required

    def _compiled(self, values: Mapping[str, str]) -> BackendModule | None:
        try:
            return self._compilation(values).module
        except (TaichiCompilationError, TaichiRuntimeError):
            return None

    def _compilation(self, values: Mapping[str, str]) -> Compilation:
        options = self._specialization.options
        for name, value in values.items():
            options = self._all[name].change(options, value)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = compile_source(replace(self._specialization, options=options))
            own = self._generated.interface
            if found.module.interface == own or not (own.divisors or found.module.interface.divisors):
                return found
            # By other numbers: a source that divides by itself has the arguments before them.
            disabled = options.disabled_passes | {"launch_divisors"}
            found = compile_source(replace(self._specialization, options=replace(options, disabled_passes=disabled)))
        if found.module.interface == own.without_divisors():
            return replace(found, module=replace(found.module, interface=own))
        return found


def _text(module: BackendModule) -> tuple[str, ...]:
    """Return the sources without their first lines, which have a digest. What a launch depends on is in them."""
    return tuple(file.text.partition("\n")[2] for file in module.files)
