"""The caching frontend: kernels before any pass as entries of the stage "ir", which are independent of the target.

In: a specialization and its fingerprint. Out: the result of the frontend, from the cache if possible: a kernel that was
compiled for one target does not run the frontend again for another.

The frontend queries a target only by `Dependencies.allows`, to refuse what a device lacks: `max_block_dim`
(`ti.loop_config`), `max_shared_bytes` (shared arrays), `subgroup_features` and `subgroup_size` (functions of subgroups
and warps). An entry records the kernel's requirements and serves all targets that satisfy them.
"""

from __future__ import annotations

from typing import Any

from ...transpiler.errors import SourceText, warn_user
from ...transpiler.frontend.builders.build import build
from ...transpiler.frontend.context.dependencies import is_satisfied
from ...transpiler.frontend.source.specialization import Specialization
from ...transpiler.ir.forms import FrontendResult
from ...transpiler.ir.serialize.serialize import parse, serialize, sources_of
from ..store.entries import Entry
from ..store.stats import COUNTS
from ..store.store import Store
from .fingerprint import Fingerprint
from .positions import UnknownLocation, join_warning, split_warning
from .source_entries import Uncacheable, captured_from, function_locations, value_of

STAGE = "ir"
PART = "kernel"
RELATIONS = {"at least": "is at least", "at most": "is at most", "has": "has"}


class CachingFrontend:
    """Replaces `frontend.builders.build` in one compilation."""

    def __init__(self, store: Store, fingerprint: Fingerprint, name: str) -> None:
        self._store, self._fingerprint, self._name = store, fingerprint, name
        self._entry: tuple[dict[str, Any], dict[str, bytes]] | None = None

    def __call__(self, specialization: Specialization) -> FrontendResult:
        """Return the kernel. Raises: TaichiCompilationError and its subclasses, as the frontend does."""
        found = self._find(specialization)
        if found is not None:
            return found
        COUNTS.frontend_ran()
        result = build(specialization)
        try:
            self._entry = to_entry(result, self._fingerprint)
        except Uncacheable as error:
            COUNTS.miss(STAGE, self._name, f"not cached: {error}")
        return result

    def store_result(self) -> None:
        """Store the frontend's result, if it ran; call this once all that it read is known to be described."""
        if self._entry is not None:
            self._store.put(STAGE, self._fingerprint.frontend_key, *self._entry, self._name)

    def _find(self, specialization: Specialization) -> FrontendResult | None:
        entry = self._store.get(STAGE, self._fingerprint.frontend_key, self._name)
        if entry is None:
            return None
        try:
            for name, relation, value in entry.header["needs"]:
                if not is_satisfied((name, relation, value), specialization.capabilities):
                    COUNTS.miss(STAGE, self._name, f"it needs a target whose {name} {RELATIONS[relation]} {value}")
                    return None
            return from_entry(entry, self._fingerprint)
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            warn_user(f"The entry of kernel `{self._name}` in the cache cannot be read: {error}. It is made again")
            COUNTS.miss(STAGE, self._name, f"damaged: {error}")
            return None


def to_entry(result: FrontendResult, fingerprint: Fingerprint) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return header and parts. Raises: Uncacheable."""
    text = serialize(result.kernel)
    functions = {(source.file, source.first_line): number for number, (_, source) in enumerate(fingerprint.functions)}
    places = function_locations(fingerprint)
    sources = sources_of(text)
    numbers = [functions.get((source.file, source.first_line)) for source in sources]
    if None in numbers:
        raise Uncacheable(f"{sources[numbers.index(None)].file} has a function that the dependency walk did not reach")
    numbers_of_trees = {id(top): number for number, (top, _) in enumerate(fingerprint.trees)}
    if any(id(top) not in numbers_of_trees for top in result.trees):
        raise Uncacheable("it reads a tree that the dependency walk did not reach")
    try:
        warnings = [split_warning(warning, places) for warning in result.warnings]
    except UnknownLocation as error:
        raise Uncacheable(str(error)) from None
    header = {
        "sources": numbers,
        "trees": [numbers_of_trees.get(id(top)) for top in result.kernel.trees],
        "owned": [number for number, top in enumerate(result.kernel.trees) if top in result.trees],
        "fields": [_number_of(field, fingerprint) for field in result.fields],
        "captured": {path: value_of(found.value, fingerprint, path) for path, found in result.captured.items()},
        "warnings": warnings,
        "needs": [list(need) for need in result.required_capabilities],
    }
    return header, {PART: text.encode("utf-8", "surrogatepass")}


def from_entry(entry: Entry, fingerprint: Fingerprint) -> FrontendResult:
    """Return the frontend's result with the present lines of its functions and the objects of this process.

    Raises: ValueError, KeyError, IndexError, TypeError for what `to_entry` did not write.
    """
    header = entry.header
    text = entry.parts[PART].decode("utf-8", "surrogatepass")
    places = function_locations(fingerprint)
    functions = [fingerprint.functions[number][1] for number in header["sources"]]
    sources = [
        SourceText(now.file, now.first_line, stored.lines)
        for now, stored in zip(functions, sources_of(text), strict=True)
    ]
    trees = header["trees"]
    tops = {index: fingerprint.trees[number][0] for index, number in enumerate(trees) if number is not None}
    kernel = parse(text, sources, tops)
    return FrontendResult(
        kernel,
        [None if number is None else fingerprint.objects[number] for number in header["fields"]],
        {path: captured_from(found, fingerprint) for path, found in header["captured"].items()},
        [join_warning(pieces, places) for pieces in header["warnings"]],
        {tops[index]: fingerprint.trees[trees[index]][1] for index in header["owned"]},
        required_capabilities=[(name, relation, value) for name, relation, value in header["needs"]],
    )


def _number_of(field: Any, fingerprint: Fingerprint) -> int | None:
    if field is None:
        return None
    number = fingerprint.numbers.get(id(field))
    if number is None:
        raise Uncacheable(f"the array {field!r:.60} was not reached by the dependency walk")
    return number
