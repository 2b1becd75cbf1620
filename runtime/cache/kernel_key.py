"""The keys of one specialization, each of which adds to the one before: see "Keys" in docs/cache.md.

    call              which launcher a call takes, a tuple of Python objects: `launch/arguments/keys.py`
    specialization    the definition's source, types of arguments, options, capabilities: `Specialization.key`
    frontend          and all that its functions read, but no target: `Fingerprint.frontend_key`, of the stage `ir`
    source            and the target: all that decides the emitted source, `Fingerprint.source_key`, of the stage `text`
    generated         and this shadesmith, the target's compiler, the device and its driver
    launch            and the edited source that runs in place of the generated one: `kernel.key()`

In: a specialization and the session. Out: `KernelKeys`, which makes a key when it is asked for, in microseconds and
without the frontend. The last two are 16 hexadecimal digits, equal in every process of this machine in which the same
would run.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from hashlib import sha256

from ...transpiler.frontend.source.specialization import Specialization
from ..config import Config
from ..devices.compiler_identity import compiler_identity
from ..session.session import Session
from ..store.own_sources import digest_of_sources
from .fingerprint import fingerprint
from .walk import Undescribable

LENGTH = 16


class KernelKeys:
    """The keys of a specialization for its target.

    content_key: gives what stands for the source key of a kernel that reads what has no description; it runs the
    frontend, and raises TaichiCompilationError for the user's mistakes.
    """

    def __init__(
        self,
        specialization: Specialization,
        config: Config,
        session: Session | None,
        content_key: Callable[[Specialization], str],
    ) -> None:
        self._specialization, self._config, self._session = specialization, config, session
        self._content_key = content_key

    @property
    def source(self) -> bytes:
        """What the stage `text` is found by; where that cannot be described, a digest of what the frontend read."""
        try:
            target = self._specialization.capabilities.target
            return fingerprint(self._specialization, target, self._config).source_key
        except Undescribable:
            return self._content_key(self._specialization).encode()

    @cached_property
    def generated(self) -> str:
        """The digest of the generated source and of what is made of it here."""
        parts = (self.source, *(part.encode() for part in self._made_by()))
        return sha256(b"\0".join(parts)).hexdigest()[:LENGTH]

    def launch(self, edit: str) -> str:
        """Return the digest of what a launch runs. edit: digest of the source that runs instead, "" for none."""
        return sha256(f"{self.generated} {edit}".encode()).hexdigest()[:LENGTH] if edit else self.generated

    def _made_by(self) -> tuple[str, ...]:
        """Return which shadesmith and which compiler there is, and the session's device with its driver."""
        session, target = self._session, self._specialization.capabilities.target
        store = None if session is None else session.store
        version = digest_of_sources() if store is None else store.version
        compiler = compiler_identity(target, store)
        if session is None or session.device.name != target:
            return version, compiler
        return version, compiler, session.device.title, session.device.driver
