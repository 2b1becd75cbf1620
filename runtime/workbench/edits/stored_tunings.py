"""What searches have found, stored in `tuned.json` of a slot, and the texts with those values in them.

In: a slot, a device, the shapes of a call. Out: the best values known for them, and a module whose texts have them.
The file is plain JSON with sorted keys, for version control: one entry a device, class of shapes and variant.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log2, prod
from numbers import Integral
from typing import TYPE_CHECKING, Any

from ....transpiler.errors import warn_user
from ...launch.tuning import Tunable
from ...store.atomic_files import write_text
from ..check.edit_error import EditError
from .edited_module import edited_module
from .tuning_parameters import TuningSpace, apply, find_tuning_parameters, without_values
from .slots import Slot, read_text

if TYPE_CHECKING:
    from ....transpiler.backend.module.interface import BackendModule, Expression

STORE = "tuned.json"
VERSION = 1

Setting = Mapping[str, Mapping[str, str]]
"""Values of knobs, by file of the module and name."""


@dataclass(slots=True)
class Entry:
    """What is known for one device, class of shapes and variant.

    text: digest of the texts without their knobs' values; trials hold for these. best: the fastest values; None: those
    in the text. ratio: of their time to the text's. trials: as `tune.Trial` writes them.
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


def read_entries(slot: Slot) -> list[Entry]:
    """Return all that is stored. Raises: EditError at the line of what is no JSON of ours."""
    path = slot.folder / STORE
    text = read_text(path)
    if text is None:
        return []
    hint = "delete it; `kernel.tune(...)` writes it anew"
    try:
        data = json.loads(text)
        if data["version"] != VERSION:
            raise EditError(f"{path}:1: version {data['version']} is not known to this shadesmith", hint)
        return [Entry(**entry) for entry in data["tunings"]]
    except json.JSONDecodeError as error:
        raise EditError(f"{path}:{error.lineno}: {error.msg}", hint) from None
    except (KeyError, TypeError):
        raise EditError(f"{path}:1: this is no file of tuned values", hint) from None


def write_entry(slot: Slot, entry: Entry) -> None:
    """Store what is known for one device, class of shapes and variant; the others stay. Raises: OSError."""
    others = [found for found in read_entries(slot) if _key(found) != _key(entry)]
    entries = sorted([*others, entry], key=_key)
    data = {"version": VERSION, "tunings": [found.to_json() for found in entries]}
    write_text(slot.folder / STORE, json.dumps(data, indent=1, sort_keys=True) + "\n")


def _key(entry: Entry) -> tuple[str, str, str]:
    return entry.device, entry.shapes, entry.variant


def winner(slot: Slot, device: str, shapes: str, variant: str) -> Entry | None:
    """Return what was found for a device and shapes: for this class, else for the nearest that was tuned.

    Near are shapes that differ by few powers of two.
    """
    here = [found for found in read_entries(slot) if found.device == device and found.variant == variant]
    ranked = [(distance(found.shapes, shapes), found.shapes, found) for found in here if found.trials]
    near = [rank for rank in ranked if rank[0] is not None]
    return min(near, key=lambda rank: rank[:2])[2] if near else None


def tuned_module(
    slot: Slot, generated: BackendModule, module: BackendModule, variant: str, device: str, shapes: str,
    tunable: Tunable | None = None,
) -> tuple[BackendModule, dict[str, str]]:  # fmt: skip
    """Return a module with the best values known in its texts, and these values; itself and {} where none are known.

    Values that the text or Python no longer list are left out with a warning.
    """
    entry = winner(slot, device, shapes, variant)
    if entry is None or entry.best is None:
        return module, {}
    offers = offered(module, tunable or Tunable())
    for name, values in entry.best.items():
        if name not in offers or not offers[name].allow(values) or set(values) - set(offers[name].written):
            shown = ", ".join(f"{knob}={value}" for knob, value in values.items())
            warn_user(
                f"{slot.folder / STORE}:1: {shown} in {name} is no longer among the values to tune for kernel "
                f"`{module.kernel}`, so the text runs as it is written. Hint: call `kernel.tune(...)` again"
            )
            return module, {}
    return with_values(generated, module, entry.best, f"{entry.ratio:.3g} of the time"), flat(entry.best)


def with_values(generated: BackendModule, module: BackendModule, setting: Setting, note: str = "") -> BackendModule:
    """Return a module with other values of its knobs; its launches follow them."""
    texts = {file.name: apply(file.text, setting.get(file.name, {}), note) for file in module.files}
    return edited_module(generated, texts)


def offered(module: BackendModule, tunable: Tunable, paths: Mapping[str, str] | None = None) -> dict[str, TuningSpace]:
    """Return the knobs by file, for files that have some. paths: of the user's files, for errors."""
    found = {
        file.name: find_tuning_parameters(file.text, (paths or {}).get(file.name, file.name), tunable.given, tunable.where)
        for file in module.files
    }
    return {name: knobs for name, knobs in found.items() if knobs.knobs}


def flat(setting: Setting) -> dict[str, str]:
    """Return values by name alone; where files disagree, with the file's."""
    found: dict[str, str] = {}
    for name, values in setting.items():
        for knob, value in values.items():
            agrees = all(other.get(knob, value) == value for other in setting.values())
            found[knob if agrees else f"{name}:{knob}"] = value
    return found


def text_digest(module: BackendModule, offers: Mapping[str, TuningSpace]) -> str:
    """Return a digest of a module's texts that is the same for all values of its knobs."""
    parts = [without_values(file.text, list(offers[file.name].written)) if file.name in offers else file.text
             for file in module.files]  # fmt: skip
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:12]


# --- classes of shapes


def shape_class(module: BackendModule, args: Sequence[Any]) -> str:
    """Return the sizes of a call in powers of two: "a 2^11x2^11, n 2^20"; "any" where nothing varies.

    Counted are the shapes of array arguments, and integers that say how long a parallel loop is.
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
    """Return by how many powers of two the sizes of two classes differ, None where they are of other arrays."""
    powers = re.compile(r"2\^(\d+)")
    if powers.sub("2^", one) != powers.sub("2^", other):
        return None
    pairs = zip(powers.findall(one), powers.findall(other), strict=True)
    return sum(abs(int(first) - int(second)) for first, second in pairs)


def combinations(offers: Mapping[str, TuningSpace]) -> int:
    """Return how many settings there are, whether conditions allow them or not."""
    return prod(knobs.count for knobs in offers.values())
