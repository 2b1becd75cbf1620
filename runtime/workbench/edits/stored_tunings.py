"""What searches have found, stored in `tuned.json` of a slot, and the sources with these values.

In: a slot, a device, the shapes of a call. Out: the best values known for them, and a module whose sources have them.
The file is plain JSON with sorted keys, for version control: one entry a device, class of shapes and variant.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log2, prod
from numbers import Integral
from typing import TYPE_CHECKING, Any

from ....transpiler.errors import TaichiCompilationError, warn_user
from ...launch.tuning import Tunable
from ...store.atomic_files import write_text
from ..check.edit_error import EditError
from ..compiler_parameters import COMPILER, CompilerParameters
from .edited_module import edited_module
from .slots import Slot, read_text
from .tuning_parameters import MARKER, TuningParameter, TuningSpace, apply, find_tuning_parameters, without_values

if TYPE_CHECKING:
    from ....transpiler.backend.module.interface import BackendModule, Expression

STORE = "tuned.json"
VERSION = 1

Setting = Mapping[str, Mapping[str, str]]
"""Values of tuning parameters, by file of the module and name; those of the compiler are under `COMPILER`."""


@dataclass(slots=True)
class StoredTuning:
    """What is known for one device, class of shapes and variant.

    text: digest of the sources without the values; the trials are of these. best: the fastest values; None: those in
    the source. ratio: their time divided by the source's. trials: as `tuning_results.Trial` writes them.
    """

    device: str
    shapes: str
    variant: str
    text: str
    best: dict[str, dict[str, str]] | None = None
    ratio: float = 1.0
    trials: list[dict[str, Any]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {name: getattr(self, name) for name in self.__slots__}


def read_entries(slot: Slot) -> list[StoredTuning]:
    """Return all that is stored. Raises: EditError at the line of invalid content."""
    path = slot.folder / STORE
    text = read_text(path)
    if text is None:
        return []
    hint = "delete it; `kernel.tune(...)` writes a new one"
    try:
        data = json.loads(text)
        if data["version"] != VERSION:
            raise EditError(f"{path}:1: version {data['version']} is unknown to this shadesmith", hint)
        entries = [StoredTuning(**entry) for entry in data["tunings"]]
    except json.JSONDecodeError as error:
        raise EditError(f"{path}:{error.lineno}: {error.msg}", hint) from None
    except (KeyError, TypeError, RecursionError):
        raise EditError(f"{path}:1: this is not a file of tuned values", hint) from None
    if not all(map(_is_well_formed, entries)):
        raise EditError(f"{path}:1: this is not a file of tuned values", hint)
    slot.check()
    return entries


def _is_well_formed(entry: StoredTuning) -> bool:
    """Return whether the members of an entry have their types, as far as a launch reads them."""
    texts = (entry.device, entry.shapes, entry.variant, entry.text)
    values = [] if entry.best is None else list(entry.best.values()) if isinstance(entry.best, dict) else [None]
    flat = [value for each in values for value in (each.values() if isinstance(each, dict) else [None])]
    are_plain = all(isinstance(text, str) for text in (*texts, *flat))
    return are_plain and isinstance(entry.ratio, int | float) and isinstance(entry.trials, list)


def write_entry(slot: Slot, entry: StoredTuning) -> None:
    """Store what is known for one device, class of shapes and variant; other entries stay. Raises: OSError."""
    others = [other for other in read_entries(slot) if _key(other) != _key(entry)]
    entries = sorted([*others, entry], key=_key)
    data = {"version": VERSION, "tunings": [each.to_json() for each in entries]}
    write_text(slot.folder / STORE, json.dumps(data, indent=1, sort_keys=True) + "\n")


def _key(entry: StoredTuning) -> tuple[str, str, str]:
    return entry.device, entry.shapes, entry.variant


def winner(slot: Slot, device: str, shapes: str, variant: str) -> StoredTuning | None:
    """Return the entry for a device and class of shapes, else that of the nearest class that was tuned.

    Classes are near if their sizes differ by few powers of two.
    """
    matching = [entry for entry in read_entries(slot) if entry.device == device and entry.variant == variant]
    ranked = [(distance(entry.shapes, shapes), entry.shapes, entry) for entry in matching if entry.trials]
    near = [rank for rank in ranked if rank[0] is not None]
    return min(near, key=lambda rank: rank[:2])[2] if near else None


def tuned_module(
    slot: Slot, generated: BackendModule, module: BackendModule, variant: str, device: str, shapes: str,
    tunable: Tunable | None = None, compiler: CompilerParameters | None = None,
) -> tuple[BackendModule, dict[str, str]]:  # fmt: skip
    """Return a module with the best values known in its sources, and these values; itself and {} if none are known.

    compiler: its parameters, of a generated module. Values that neither the source nor Python lists any more, nor the
    compiler has, are left out with a warning.
    """
    entry = winner(slot, device, shapes, variant)
    if entry is None or entry.best is None:
        return module, {}
    spaces = spaces_of(module, tunable or Tunable())
    for name, values in entry.best.items():
        if name == COMPILER:
            is_known = compiler is not None and _is_compiled(compiler, values)
        else:
            is_known = name in spaces and spaces[name].allow(values) and not set(values) - set(spaces[name].defined)
        if not is_known:
            shown = ", ".join(f"{parameter}={value}" for parameter, value in values.items())
            warn_user(
                f"{slot.folder / STORE}:1: {shown} in {name} is no longer among the values to tune for kernel "
                f"`{module.kernel}`, so the source runs with its own values. Hint: call `kernel.tune(...)` again"
            )
            return module, {}
    return with_values(generated, module, entry.best, f"{entry.ratio:.3g} of the time", compiler), flat(entry.best)


def _is_compiled(compiler: CompilerParameters, values: Mapping[str, str]) -> bool:
    """Return whether the compiler has these parameters, and gives a source for them with the present interface."""
    try:
        return compiler.allows(values) and bool(compiler.module(values).files)
    except TaichiCompilationError:
        return False


def with_values(
    generated: BackendModule,
    module: BackendModule,
    setting: Setting,
    note: str = "",
    compiler: CompilerParameters | None = None,
) -> BackendModule:
    """Return a module with other values of its tuning parameters, and those of the compiler; its launches follow them.

    Parameters of the compiler with other values are named in the first line of a source, so that no line moves:

        // shadesmith 0.1.0, cuda 1f0c, p.py:3: fill(x: ndarray[f32, 1]), tuned: block_dim 128 -> 256, 0.83 of the time
    """
    values = setting.get(COMPILER, {})
    if compiler is not None and compiler.changes(values):
        turned = ", ".join([*compiler.changes(values), *([note] if note else [])])
        compiled = compiler.module(values)
        files = tuple(replace(file, text=_noted(file.text, f", {MARKER}{turned}")) for file in compiled.files)
        generated = module = replace(compiled, files=files)
    sources = {file.name: apply(file.text, setting.get(file.name, {}), note) for file in module.files}
    return edited_module(generated, sources)


def _noted(source: str, note: str) -> str:
    """Return a source with a note at the end of its first line, a comment."""
    first, end, rest = source.partition("\n")
    return f"{first.removesuffix(':')}{note}{':' * first.endswith(':')}{end}{rest}"


def space_of(compiler: CompilerParameters) -> TuningSpace:
    """Return the parameters that change a kernel's source as tuning parameters."""
    return TuningSpace(tuple(TuningParameter(one.name, one.values, one.value, 1) for one in compiler.offered()))


def spaces_of(
    module: BackendModule, tunable: Tunable, paths: Mapping[str, str] | None = None
) -> dict[str, TuningSpace]:
    """Return the tuning parameters by file, for files that have some. paths: of the user's files, for errors."""
    found = {
        file.name: find_tuning_parameters(
            file.text, (paths or {}).get(file.name, file.name), tunable.given, tunable.where
        )
        for file in module.files
    }
    return {name: space for name, space in found.items() if space.parameters}


def flat(setting: Setting) -> dict[str, str]:
    """Return values by name; if files disagree, by file and name."""
    found: dict[str, str] = {}
    for name, values in setting.items():
        for parameter, value in values.items():
            agrees = all(other.get(parameter, value) == value for other in setting.values())
            found[parameter if agrees else f"{name}:{parameter}"] = value
    return found


def source_digest(module: BackendModule, spaces: Mapping[str, TuningSpace]) -> str:
    """Return a digest of a module's sources that is the same for all values of its tuning parameters."""
    parts = [without_values(file.text, list(spaces[file.name].defined)) if file.name in spaces else file.text
             for file in module.files]  # fmt: skip
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:12]


# --- classes of shapes


def shape_class(module: BackendModule, args: Sequence[Any]) -> str:
    """Return the sizes of a call in powers of two: "a 2^11x2^11, n 2^20"; "any" if nothing varies.

    It counts the shapes of array arguments, and integers that are the extent of a parallel loop.
    """
    found = []
    for array in module.interface.arrays:
        if array.parameter is not None and array.ndim:
            shape = tuple(getattr(args[array.parameter], "shape", ()))[: array.ndim]
            found.append(f"{array.name} {'x'.join(f'2^{_power(extent)}' for extent in shape)}")
    members = module.interface.members
    for index in sorted(_members_of_extents(module)):
        source = members[index].source
        if source[0] == "argument" and isinstance(args[source[1]], Integral):
            found.append(f"{members[index].name} 2^{_power(int(args[source[1]]))}")
    return ", ".join(dict.fromkeys(found)) or "any"


def _power(extent: int) -> int:
    return round(log2(max(1, extent)))


def _members_of_extents(module: BackendModule) -> set[int]:
    found: set[int] = set()

    def walk(expression: Expression) -> None:
        if expression[0] == "member":
            found.add(expression[1])
        elif expression[0] != "const":
            for operand in expression[1:]:
                walk(operand)

    for task in module.tasks:
        for extent in task.extents or ():
            walk(extent)
    return found


def distance(one: str, other: str) -> int | None:
    """Return by how many powers of two the sizes of two classes differ, None if they are of other arrays."""
    powers = re.compile(r"2\^(\d+)")
    if powers.sub("2^", one) != powers.sub("2^", other):
        return None
    pairs = zip(powers.findall(one), powers.findall(other), strict=True)
    return sum(abs(int(first) - int(second)) for first, second in pairs)


def combinations(spaces: Mapping[str, TuningSpace]) -> int:
    """Return how many settings there are, whether conditions allow them or not."""
    return prod(space.count for space in spaces.values())
