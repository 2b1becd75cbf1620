"""Which source of a kernel runs: the generated one or an edit of it.

In: a session, a specialization and its generated module. Out: `Choice`, the module that runs and the `Variant` with the
reason. An unchanged copy is no edit. If the generated source has changed since an edit was started, a merge of the two
is proposed, which runs once it is accepted (`proposals.py`).

An edit that cannot be merged, compiled or launched is refused or left out, by `ti.init(edits=...)`; no work is lost.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....transpiler.backend.module.interface import BackendModule
from ....transpiler.errors import TaichiCompilationError, warn_user
from ....transpiler.frontend.source.specialization import Specialization
from ...launch.tuning import tunable_of
from ...session.module_source import RESERVED, Choice
from ..check.block_sizes import check_block_sizes
from ..check.check_edit import check_edit
from ..check.edit_error import EditError
from ..compiler_parameters import CompilerParameters
from ..macros.expand import check_macros, without_macros
from .active_macros import expanded
from .bases import Bases
from .edited_module import edited_module
from .header import base_digest, header_of, with_header, without_header
from .identity import without_checks
from .ir_edits import ir_name, is_ir, load_edit
from .merge import merge
from .other_sizes import carried_over
from .proposals import Proposal, accepted_by, merged_edit, refused
from .rules import Rule, refuse_rule, rule_of
from .slots import OTHER_NAME, Slot, is_writable, python_file, read_text, slot_of
from .stored_tunings import shape_class, tuned_module
from .variants import EDIT, GENERATED, TUNED, Variants, digest_of, unknown_variant, variant_of
from .watching import stamp_of

if TYPE_CHECKING:
    from ....transpiler.backend.module.compilation import Compilation
    from ...session.session import Session

NAMED_ONLY = "`kernel.edit(..., variant='mine')` writes one with a name, and `kernel.use('mine')` runs it"

_VARIANT = re.compile(r"@[\w-]+(?=\.\w+$)")


def choose(
    session: Session,
    specialization: Specialization,
    module: BackendModule,
    args: Sequence[object] = (),
    wanted: str | None = None,
    compared: Callable[[str], str] | None = None,
    is_awaited: bool = False,
) -> Choice:
    """Return what a launch runs, built and checked.

    args: of the launch; the values tuned for their shapes are used. wanted: the variant that `kernel.use` names.
    compared: compares a variant on those arguments; returns what differs, or "". is_awaited: launches watch for a slot.

    The device has compiled the module then, so that building it again costs nothing. Raises: TaichiCompilationError for
    an edit that cannot run, unless the policy is fallback; TaichiRuntimeError for a variant that does not exist.
    """
    policy = session.config.edits
    if not module.files:
        return Choice(module, variant_of(module))
    slot = slot_of(specialization, session.config.edits_dir)
    reason = ""
    if wanted is None and compared is not None and policy != "strict" and not _has_edit(slot, module):
        reason = _carry_over(specialization, module, session.config.edits_dir, compared)
        slot = slot_of(specialization, session.config.edits_dir)
    if not os.path.lexists(slot.folder):
        if wanted not in (None, EDIT, GENERATED):
            raise unknown_variant(module, wanted, (), slot.folder)
        _warn_of_debug(session, specialization, module)
        return Choice(module, variant_of(module, reason=reason), slot.awaited if is_awaited else ())
    watched = _watched(slot, module, GENERATED)
    seen = {path: stamp_of(path) for path in watched[1:]}
    try:
        found = select(specialization, slot, module, wanted)
        watched = _watched(slot, module, found.name)
        if found.dispatch is not None:
            return Choice(module, variant_of(module), watched, found.dispatch)
        proposals: list[Proposal] | None = None if policy == "strict" or compared is None else []
        stored, paths = module, tuple[Path, ...]()
        if found.name != GENERATED:
            stored, paths = load(slot, module, found.name, Bases(specialization, module), proposals, keeps_macros=True)
        variant = GENERATED if stored is module else found.name or EDIT
        if proposals and compared is not None:
            _accept_compared(proposals, compared(variant))
            seen = {}  # the accepted merge has been written
        edited, values = _tuned(session, specialization, slot, module, stored, variant, args)
        if edited is module:
            return Choice(module, variant_of(module, reason=found.reason), watched, seen=seen)
        written, named = edited, {_VARIANT.sub("", path.name): path for path in paths}
        edited, active = expanded(session, module, written, named)
        build(session, module, edited if active is None else active, paths, written=written)
    except TaichiCompilationError as error:
        if policy != "fallback":
            raise
        warn_user(f"{error}\nThe generated source of kernel `{module.kernel}` runs instead (edits='fallback')")
        return Choice(module, variant_of(module, reason="the edit was left out"), watched, seen=seen)
    by = accepted_by(slot, module, found.name) if variant != GENERATED else ""
    reason = "; ".join(filter(None, (found.reason, f"merged, accepted by {by}" if by else "")))
    described = replace(variant_of(edited, variant, paths, reason), knobs=values)
    return Choice(edited, described, watched, active=active, seen=seen)


def _has_edit(slot: Slot, module: BackendModule) -> bool:
    return any(os.path.lexists(slot.path(name)) for name in _files(module))


def _carry_over(
    specialization: Specialization, module: BackendModule, edits_dir: str, compared: Callable[[str], str]
) -> str:
    """Accept the merge of an edit for other sizes or values, if it computes the same; return why not, or ""."""
    proposals = carried_over(specialization, module, edits_dir)
    difference = compared(EDIT) if proposals else ""
    if difference:
        return f"the edit {proposals[0].origin} does not compute the same for these sizes and values: {difference}"
    for proposal in proposals:
        proposal.accept("a comparison on the arguments of a launch")
    return ""


def add_carried_over(variants: Variants) -> None:
    """Add the merges of edits for other sizes or values to the proposals, where these arguments have no edit."""
    module = variants.generated
    if EDIT in variants.edits or EDIT in variants.errors or not module.files:
        return
    proposals = carried_over(variants.specialization, module, variants.session.config.edits_dir)
    if proposals:
        sources = {merge.name: merge.text for merge in proposals}
        variants.edits[EDIT] = without_macros(edited_module(module, sources))
        variants.paths[EDIT] = tuple(merge.path for merge in proposals)
        variants.proposals[EDIT] = proposals


def _accept_compared(proposals: Sequence[Proposal], difference: str) -> None:
    """Accept merges that a comparison has passed. Raises: EditError for others."""
    if difference:
        raise refused(proposals, f", and it does not compute the same: {difference}")
    for proposal in proposals:
        proposal.accept("a comparison on the arguments of a launch")


def _watched(slot: Slot, module: BackendModule, name: str) -> tuple[Path, ...]:
    """Return the files that a launch checks, and the folder, whose time shows new files."""
    if not is_writable(slot.folder):
        return ()
    names = dict.fromkeys((name if name != GENERATED else "", *slot.variants(_files(module))))
    return (slot.folder, *(slot.path(file, name) for name in names for file in _files(module)))


@dataclass(frozen=True, slots=True)
class _Selection:
    """name: "" for the unnamed edit. reason: the rule that holds. dispatch: as in `Choice`."""

    name: str
    reason: str = ""
    dispatch: Callable[[Sequence[Any]], str] | None = None


def select(specialization: Specialization, slot: Slot, module: BackendModule, wanted: str | None = None) -> _Selection:
    """Return which text of a slot runs: the variant asked for, else the first by name whose `@when` holds, else the
    unnamed text. All shells of a folder share their slots; there a source runs only if the program names it.

    Raises: EditError for a rule that is none; TaichiRuntimeError for a variant that does not exist.
    """
    names = slot.variants(_files(module))
    for name in RESERVED:
        if name in names:
            path = next(path for file in _files(module) if os.path.lexists(path := slot.path(file, name)))
            raise EditError(f"{path}:1: `{name}` cannot name a variant: `kernel.use` means something else", OTHER_NAME)
    is_nameless = python_file(specialization.definition) is None
    if wanted is not None:
        if wanted == EDIT and is_nameless:
            raise EditError(f"kernel `{module.kernel}` was typed into a shell, which has no unnamed edits", NAMED_ONLY)
        if wanted in (EDIT, GENERATED):
            return _Selection("" if wanted == EDIT else GENERATED, "requested")
        if wanted not in names:
            raise unknown_variant(module, wanted, names, slot.folder)
        return _Selection(wanted, "requested")
    if is_nameless:
        return _Selection(GENERATED)
    parameter_names = [parameter.name for parameter in specialization.definition.flat_parameters]
    shapes = {array.name: _Shape(array.shape) for array in module.interface.arrays if array.shape is not None}
    facts = {"target": module.target, "device": "", "arch": "", **dict(specialization.capabilities.extra), **shapes}
    rules: list[tuple[str, Rule]] = []
    for name in names:
        for file in _files(module):
            path = slot.path(file, name)
            rule = rule_of(read_text(path) or "", path, frozenset((*parameter_names, *shapes)))
            if rule is not None and not (rule.names <= facts.keys() and not rule.holds(facts)):
                rules.append((name, rule))
                break
    first = rules[0] if rules else None
    if first is None:
        return _Selection("")
    if first[1].names <= facts.keys():
        return _Selection(first[0], f"@when {first[1].text}")

    def decide(args: Sequence[Any]) -> str:
        values = {**facts, **dict(zip(parameter_names, args))}
        return next((name for name, rule in rules if rule.holds(values)), EDIT)

    return _Selection("", dispatch=decide)


def rule_for(variants: Variants, name: str) -> Rule | None:
    """Return the `@when` rule of a named variant, None if it has none."""
    if name in (EDIT, GENERATED, TUNED):
        return None
    parameters = [parameter.name for parameter in variants.specialization.definition.flat_parameters]
    arrays = [array.name for array in variants.generated.interface.arrays if array.shape is not None]
    texts = [(path, read_text(path) or "") for path in variants.paths.get(name, ())]
    rules = (rule_of(text, path, frozenset((*parameters, *arrays))) for path, text in texts)
    return next((rule for rule in rules if rule is not None), None)


@dataclass(frozen=True, slots=True)
class _Shape:
    """A captured field in a rule."""

    shape: tuple[int, ...]

    @property
    def ndim(self) -> int:
        return len(self.shape)


def _files(module: BackendModule) -> tuple[str, ...]:
    """Return the names of the files of a slot that an edit may have: the sources, and the IR."""
    return (*(file.name for file in module.files), ir_name(module))


def build(
    session: Session,
    generated: BackendModule,
    edited: BackendModule,
    paths: Sequence[Path],
    load: Callable[[BackendModule], object] | None = None,
    written: BackendModule | None = None,
) -> None:
    """Check an edit against the generated interface and compile it. Raises: TaichiCompilationError for a bad edit.

    written: see `check_edit`. load: compiles it; None: this session does, which loads it into this process.
    """
    names = {_VARIANT.sub("", path.name): path for path in paths}
    if paths and not any(map(is_ir, paths)):  # what is printed, from IR or with other parameters, has the interface
        check_edit(generated, edited, session.device.capabilities, names, written)
    try:
        if load is None:  # sites of macros: the source has an address of this process
            session.programs.find(edited, keep=edited.interface.reports == generated.interface.reports)
        else:
            load(edited)
    except EditError:
        raise
    except TaichiCompilationError as error:  # the driver's compiler reports neither file nor line
        location = next((f"{path}:1" for path in paths), generated.kernel)
        raise EditError(f"{location}: the driver refuses this source, which its compiler accepts: {error}") from error


def load(
    slot: Slot,
    module: BackendModule,
    variant: str = "",
    bases: Bases | None = None,
    proposals: list[Proposal] | None = None,
    keeps_macros: bool = False,
) -> tuple[BackendModule, tuple[Path, ...]]:
    """Return the module with the edits of a slot, and their files; the module itself if none is changed.

    bases: what is generated for other devices; None: only what this module has. proposals: takes the merges that
    somebody has to accept before the module may run, but for a comparison; None: they are refused. keeps_macros: the
    sources have their macros; else blanks are in place of them.
    Raises: EditError for an unreadable file, for an edit of another source than the one generated now, and for blocks
        of a size for which the kernel is not written.
    """
    sources: dict[str, str] = {}
    paths: list[Path] = []
    slot.check()
    if bases is not None:
        specialization = bases.specialization
        found = load_edit(
            slot,
            module,
            variant,
            specialization,
            lambda name, text: _current(slot, name, text, module.kernel, variant, None, proposals),
        )
        if found is not None:
            _refuse_two(slot, module, variant, found[1])
            check_block_sizes(specialization, module, found[0], {found[1]: read_text(found[1]) or ""})
            return found[0], (found[1],)
    for file in module.files if module.program is None else ():
        source = _current(slot, file.name, file.text, module.kernel, variant, bases, proposals)
        if source is not None:
            check_macros(source, slot.path(file.name, variant))
            if not variant:
                refuse_rule(source, slot.path(file.name))
            sources[file.name] = source
            paths.append(slot.path(file.name, variant))
    if not sources:
        return module, ()
    edited = edited_module(module, sources)
    if bases is not None:
        check_block_sizes(bases.specialization, module, edited, dict(zip(paths, sources.values())))
    return edited if keeps_macros else without_macros(edited), tuple(paths)


def _refuse_two(slot: Slot, module: BackendModule, variant: str, path: Path) -> None:
    """Raise EditError if a source is edited too, in addition to the IR that it is printed from."""
    for file in module.files:
        source = read_text(slot.path(file.name, variant))
        if source is not None and base_digest(without_header(source)) != header_of(source).base:
            raise EditError(
                f"{path}:1: the IR of kernel `{module.kernel}` is edited, and {slot.path(file.name, variant).name} too",
                "delete one of them, or give it a name: `kernel.edit(..., variant='mine')`",
            )


def digest_of_edit(specialization: Specialization, generated: Callable[[], BackendModule], edits_dir: str) -> str:
    """Return a digest of the edits that run instead of the generated sources, "" if none does.

    generated: returns the generated module; it is called if there is a slot.
    Raises: EditError for an edit that cannot be read or merged.
    """
    slot = slot_of(specialization, edits_dir)
    if not slot.folder.is_dir():
        return ""
    module = generated()
    name = select(specialization, slot, module).name
    edited, _ = load(slot, module, name, Bases(specialization, module)) if name != GENERATED else (module, ())
    return "" if edited is module else digest_of(edited)


def archived(specialization: Specialization, module: BackendModule, edits_dir: str) -> tuple[BackendModule, str]:
    """Return the module for an archive for another device than the session's, and the digest of the edit in it, or "".

    Raises: EditError for an edit that cannot be read, merged or launched.
    """
    slot = slot_of(specialization, edits_dir)
    if not module.files or not slot.folder.is_dir():
        return module, ""
    found = select(specialization, slot, module)
    if found.dispatch is not None:
        warn_user(
            f"which edit of kernel `{module.kernel}` runs depends on each launch's arguments (`@when`); the generated "
            "source is archived. Hint: `kernel.use(...)` selects one"
        )
        return module, ""
    bases = Bases(specialization, module)
    edited, paths = load(slot, module, found.name, bases) if found.name != GENERATED else (module, ())
    if edited is module:
        return module, ""
    if not any(map(is_ir, paths)):
        check_edit(module, edited, specialization.capabilities, {_VARIANT.sub("", path.name): path for path in paths})
    return edited, digest_of(edited)


def gather(
    session: Session,
    specialization: Specialization,
    compilation: Compilation,
    argument_kinds: Sequence[str],
    args: tuple[object, ...],
) -> Variants:
    """Return all sources of one specialization. Edits that cannot be loaded are in `errors`."""
    module = compilation.module
    slot = slot_of(specialization, session.config.edits_dir, may_be_new=True)
    bases = Bases(specialization, module)
    found = Variants(
        session, specialization, compilation, argument_kinds, args, slot, module, {}, {}, variant_of(module)
    )
    if session.config.edits != "off" and slot.folder.is_dir():
        for name in ("", *slot.variants(_files(module))):
            try:
                edited, paths = load(slot, module, name, bases, found.proposals.setdefault(name or EDIT, []))
            except TaichiCompilationError as error:
                found.errors[name or EDIT] = error
                continue
            if edited is not module:
                found.edits[name or EDIT], found.paths[name or EDIT] = edited, paths
        chosen = select(specialization, slot, module).name or EDIT
        if chosen in found.edits:
            found.chosen = variant_of(found.edits[chosen], chosen, found.paths[chosen])
        elif chosen in found.errors:
            found.chosen = replace(found.chosen, variant=chosen)
            return found
        _gather_tuned(found)
    return found


def _tuned(
    session: Session,
    specialization: Specialization,
    slot: Slot,
    module: BackendModule,
    stored: BackendModule,
    variant: str,
    args: Sequence[object],
) -> tuple[BackendModule, dict[str, str]]:
    """Return a variant's module with the values tuned for this device and these shapes, and these values."""
    tunable, shapes = tunable_of(specialization.definition.function), shape_class(module, args)
    compiler = CompilerParameters(specialization, module) if variant == GENERATED else None
    return tuned_module(slot, module, stored, variant, session.device.title, shapes, tunable, compiler)


def _gather_tuned(found: Variants) -> None:
    """Add the source with the tuned values, as `tuned`, unless a variant has that name."""
    name = found.chosen.variant
    stored = found.module(name)
    tuned, values = _tuned(found.session, found.specialization, found.slot, found.generated, stored, name, found.args)
    if tuned is not stored and TUNED not in found.edits:
        found.edits[TUNED], found.paths[TUNED] = tuned, found.paths.get(name, ())
        found.chosen = replace(found.chosen, digest=digest_of(tuned), knobs=values)


def _current(
    slot: Slot,
    name: str,
    generated: str,
    kernel: str,
    variant: str,
    bases: Bases | None = None,
    proposals: list[Proposal] | None = None,
) -> str | None:
    """Return the edit of one file if it is of the source generated now; None if there is no edit.

    proposals: see `load`. Raises: EditError for an edit of another source.
    """
    path = slot.path(name, variant)
    text, base = read_text(path), read_text(slot.base(name, variant))
    if text is None:
        return None
    header, bare = header_of(text), without_header(text)
    digest = header.base or ("" if base is None else base_digest(base))
    if bare == generated or (digest and base_digest(bare) == digest):
        return None
    if not digest:
        raise _of_unknown_base(path, generated, kernel)
    if digest == base_digest(generated):
        return text
    wanted = None if bases is None else bases.source(name, header.device)
    if bases is not None and wanted is not None and digest == base_digest(wanted):
        return _for_this_device(path, text, wanted, generated, bases)
    if base is None or base_digest(base) != digest:
        raise _stale(path, kernel)
    return merged_edit(slot, name, variant, text, base, generated if wanted is None else wanted, kernel, proposals)


def _of_unknown_base(path: Path, generated: str, kernel: str) -> EditError:
    return EditError(
        f"{path}:1: this file does not say which generated source of kernel `{kernel}` it is an edit of, so nothing "
        "shows that it still computes the same",
        f"if it is an edit of the source generated now, add the line `// @base {base_digest(generated)}` to it; "
        "`kernel.edit(...)` or `shadesmith edit` starts one that has the line",
    )


def _stale(path: Path, kernel: str) -> EditError:
    return EditError(
        f"{path}:{_line_of_base(path)}: this edit was made for another generated source of kernel `{kernel}` than the "
        "present one, and the source from which it was made is not in `.base` here, so it cannot be merged",
        "merge it where it is developed, or run with ti.init(edits='fallback')",
    )


def _line_of_base(path: Path) -> int:
    lines = (read_text(path) or "").splitlines()
    return next((number for number, line in enumerate(lines, 1) if line.startswith("// @base ")), 1)


def _for_this_device(path: Path, text: str, base: str, generated: str, bases: Bases) -> str:
    """Return an edit of the source for another device with what the present device changes in that source.

    The file stays as it is. Where an edit changed the same lines, it runs as it is, unless the driver has a fault that
    these lines avoid. Raises: EditError for such a driver.
    """
    header = header_of(text)
    merged = merge(base, without_header(text), generated)
    if not merged.conflicts:
        return with_header(merged.text, header)
    if not bases.avoids_faults(header.device):
        raise EditError(
            f"{path}:{_line_of_base(path)}: this edit changes lines in which the source for this device avoids a fault "
            "of its driver",
            "start an edit on this device, `kernel.edit(..., variant=...)`, or run with ti.init(edits='fallback')",
        )
    return text


def _warn_of_debug(session: Session, specialization: Specialization, module: BackendModule) -> None:
    """Warn that an edit is left out, since it is one of the source without checks."""
    options = without_checks(specialization.options)
    if options == specialization.options:
        return
    plain = replace(specialization, options=options)
    slot = slot_of(plain, session.config.edits_dir)
    if any(slot.path(file.name).is_file() for file in module.files):
        warn_user(
            f"{slot.folder} has edits of kernel `{module.kernel}` without checks; with debug the generated source runs"
            ". Hint: `kernel.edit(...)` under debug=True starts an edit of the source with checks"
        )
