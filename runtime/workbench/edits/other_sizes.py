"""An edit for other sizes or values becomes one for the present ones: a merge, and so a proposal.

Extents of fields and captured numbers are named constants at the top of a source. So the sources generated for two
sizes differ in these lines, and what a person changed elsewhere is true for both. The edit is merged with the source
generated now, into the slot of the present arguments; the edit for the other size stays as it is. Nothing runs before
somebody accepts the merge (`proposals.py`).

In: a specialization without an edit. Out: `Proposal`s.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from ....transpiler.backend.module.interface import BackendModule
from ....transpiler.frontend.source.specialization import Specialization
from ..check.edit_error import EditError
from .bases import Bases
from .header import Header, base_digest, header_of, with_header, without_header
from .identity import OPTION, recorded_values
from .merge import merge
from .proposals import Proposal
from .slots import Slot, exact_slot, kernel_folder, python_file, read_text
from .start import facts_of


def carried_over(
    specialization: Specialization, module: BackendModule, edits_dir: str, variant: str = "", bases: Bases | None = None
) -> list[Proposal]:
    """Return the merges that make an edit for other sizes or values one for these; [] if there is none.

    Of several edits it is the one that differs in the fewest values. One that conflicts, or whose generated source is
    unknown, is left out.
    """
    folder = kernel_folder(specialization, edits_dir)
    if not folder.is_dir() or python_file(specialization.definition) is None:
        return []
    values, own = recorded_values(specialization), exact_slot(specialization, edits_dir)
    found, facts = bases or Bases(specialization, module), facts_of(specialization, module)
    for slot in _by_difference(folder, own, module, variant, dict(values)):
        merges = [_merged(slot, own, file.name, variant, module, values, found, facts) for file in module.files]
        if any(merges) and all(merge is not False for merge in merges):
            return [merge for merge in merges if isinstance(merge, Proposal)]
    return []


def _by_difference(
    folder: os.PathLike[str], own: Slot, module: BackendModule, variant: str, values: dict[str, str]
) -> Iterator[Slot]:
    """Yield the slots with an edit for the same options, those with the fewest other values first."""
    ordered: list[tuple[int, str, Slot]] = []
    for name in sorted(os.listdir(folder)):
        slot = Slot(own.folder.with_name(name))
        if slot.folder == own.folder or not slot.folder.is_dir():
            continue
        try:
            slot.check()
            texts = [text for file in module.files if (text := read_text(slot.path(file.name, variant))) is not None]
        except EditError:
            continue
        headers = [dict(header_of(text).values) for text in texts]
        if texts and all(_options(header) == _options(values) for header in headers):
            ordered.append((sum(headers[0].get(name) != value for name, value in values.items()), name, slot))
    yield from (slot for _, _, slot in sorted(ordered, key=lambda entry: entry[:2]))


def _options(values: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in values.items() if name.startswith(OPTION)}


def _merged(
    slot: Slot,
    own: Slot,
    name: str,
    variant: str,
    module: BackendModule,
    values: tuple[tuple[str, str], ...],
    bases: Bases,
    facts: Mapping[str, object],
) -> Proposal | None | bool:
    """Return the merge of one file, None if it was not edited, False if it cannot be merged."""
    text, base = read_text(slot.path(name, variant)), read_text(slot.base(name, variant))
    if text is None:
        return None
    header, bare = header_of(text), without_header(text)
    if base_digest(bare) == header.base:
        return None
    generated = bases.source(name, header.device)
    if base is None or generated is None or base_digest(base) != header.base:
        return False
    merged = merge(base, bare, generated)
    if merged.conflicts:
        return False
    new = with_header(merged.text, Header(base_digest(generated), values, header.device))
    path = slot.path(name, variant)
    return Proposal(own, name, variant, module.kernel, text, new, generated, merged.user_lines, path, facts)
