"""`kernel.key()`: a digest of all that decides what a launch runs, in microseconds and without the frontend.

In: a specialization and the session. Out: a text of 16 digits, equal in every process of this machine in which the same
would run: the material of the text stage, shadesmith's own sources and templates, the compiler of the target, and the
device and its driver.
"""

from __future__ import annotations

from hashlib import sha256

from ...transpiler.frontend.source.specialization import Specialization
from ..cache.compiler import content_key
from ..cache.fingerprint import fingerprint
from ..cache.walk import Undescribable
from ..config import Config
from ..devices.compiler_identity import compiler_identity
from ..session.session import Session
from ..store.own_sources import digest_of_sources

LENGTH = 16


def generated_key(specialization: Specialization, target: str, config: Config, session: Session | None) -> str:
    """Return the key of the generated text and of what is made of it here.

    What has no description is read by the frontend. Raises: TaichiCompilationError, then, for the user's mistakes.
    """
    try:
        text = fingerprint(specialization, target, config).material
    except Undescribable:
        text = content_key(specialization).encode()
    return sha256(b"\0".join((text, *(part.encode() for part in _made_by(target, session))))).hexdigest()[:LENGTH]


def _made_by(target: str, session: Session | None) -> tuple[str, ...]:
    """Return which shadesmith and which compiler there is, and the device with its driver, if it is the session's."""
    store = None if session is None else session.store
    version = digest_of_sources() if store is None else store.version
    compiler = compiler_identity(target, store)
    if session is None or session.device.name != target:
        return version, compiler
    return version, compiler, session.device.title, session.device.driver
