"""Whether the macros of an edit are active in a session, and the module that runs then.

In: a session and an edited module. Out: the module without macros, and the one whose macros write records to the
session's report buffer.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from ....transpiler.backend.module.interface import BackendModule
from ....transpiler.errors import warn_user
from ...launch.printing import report_buffer
from ..macros.expand import Expansion, macros_of, without_macros

if TYPE_CHECKING:
    from ...session.session import Session

_WARNED: WeakKeyDictionary[Session, set[Path]] = WeakKeyDictionary()
"""By session, the edits of which a warning said that their macros are off."""


def expanded(
    session: Session, generated: BackendModule, edited: BackendModule, paths: Mapping[str, Path]
) -> tuple[BackendModule, BackendModule | None]:
    """Return an edit without its macros, and with active ones; None if it has none or they are off.

    paths: the users' files by the names of the module's files.
    """
    found, option = macros_of(edited), session.config.edit_macros
    is_on = session.config.debug if option == "auto" else bool(option)
    if not found or not is_on:
        if found and option == "auto":
            file, use = found[0]
            _warn(session, generated.kernel, f"{paths[file.name]}:{use.line}: `{use.name}`", len(found), paths)
        return without_macros(edited), None
    expansion = Expansion(generated, report_buffer(session).address)
    return without_macros(edited), expansion.expand(edited, paths)


def _warn(session: Session, kernel: str, first: str, count: int, paths: Mapping[str, Path]) -> None:
    warned = _WARNED.setdefault(session, set())
    if warned.issuperset(paths.values()):
        return
    warned.update(paths.values())
    more = f" and {count - 1} more" if count > 1 else ""
    verb = "compile" if count > 1 else "compiles"
    warn_user(
        f"{first}{more} in this edit of kernel `{kernel}` {verb} to nothing. Hint: ti.init(edit_macros=True) or "
        "SHADESMITH_EDIT_MACROS=1 makes macros active, and edit_macros=False is silent"
    )
