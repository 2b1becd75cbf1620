"""The keys of one specialization, each of which includes the one before: see "Keys" in docs/cache.md.

    call              the launcher of a call, a tuple of Python objects: `launch/arguments/keys.py`
    specialization    the definition's source, types of arguments, options, capabilities: `Specialization.key`
    frontend          and all that its functions read, but no target: `Fingerprint.frontend_key`, of the stage `ir`
    source            and the target, so all that determines the emitted source: `Fingerprint.source_key`, stage `text`
    generated         and this shadesmith, the target's compiler, the device and its driver
    launch            and the edited source that replaces the generated one: `kernel.key()`

In: a specialization and the session. Out: `KernelKeys`, which computes a key on demand, in microseconds and without the
frontend. The last two are 16 hexadecimal digits, equal in every process of this machine that would run the same code.
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

    content_key: computes the substitute for the source key of a kernel that reads objects without a description; it
      runs the frontend and raises TaichiCompilationError for user errors.
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
        """The key of the stage `text`; for a kernel that cannot be described, a digest of what the frontend read."""
        try:
            target = self._specialization.capabilities.target
            return fingerprint(self._specialization, target, self._config).source_key
        except Undescribable:
            return self._content_key(self._specialization).encode()

    @cached_property
    def generated(self) -> str:
        """The digest of the generated source and of the tools that compile it on this machine."""
        parts = (self.source, *(part.encode() for part in self._toolchain()))
        return sha256(b"\0".join(parts)).hexdigest()[:LENGTH]

    def launch(self, edit: str) -> str:
        """Return the digest of what a launch runs. edit: digest of the edited source, "" for none."""
        return sha256(f"{self.generated} {edit}".encode()).hexdigest()[:LENGTH] if edit else self.generated

    def _toolchain(self) -> tuple[str, ...]:
        """Return the identities of shadesmith and the compiler, and of the session's device with its driver."""
        session, target = self._session, self._specialization.capabilities.target
        store = None if session is None else session.store
        version = digest_of_sources() if store is None else store.version
        compiler = compiler_identity(target, store)
        if session is None or session.device.name != target:
            return version, compiler
        return version, compiler, session.device.title, session.device.driver
