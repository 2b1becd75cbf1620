"""Architecture and extension constants (`ti.cpu`, `ti.extension.sparse`), which need no device.

The session maps `Arch` objects to targets; extensions list the targets that support them. Only what every start of
Python has imported is imported here: a driver begins to open a GPU when this module has been imported.
"""

from __future__ import annotations

import os


class _Constant:
    """A constant of this module, which does not change; a copy, also one in another process, is the same object."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"cannot delete field {name!r}")


class Arch(_Constant):
    """One of Taichi's architectures.

    target: the target that runs it, or None if there is none. source_target: the target whose source can be
    emitted even if it cannot run.
    """

    name: str
    target: str | None
    source_target: str | None

    __slots__ = ("name", "source_target", "target")

    def __init__(self, name: str, target: str | None = None, source_target: str | None = None) -> None:
        for member, value in zip(("name", "target", "source_target"), (name, target, source_target), strict=True):
            object.__setattr__(self, member, value)

    def __reduce__(self) -> str:
        return self.name

    def __str__(self) -> str:
        return f"Arch.{self.name}"

    def __repr__(self) -> str:
        return f"<Arch.{self.name}>"


x64 = Arch("x64", "c")
arm64 = Arch("arm64", "c")
cc = Arch("cc", "c")
python = Arch("python", "python")
cuda = Arch("cuda", "cuda")
vulkan = Arch("vulkan", "vulkan")
opengl = Arch("opengl")
gles = Arch("gles")
metal = Arch("metal")
amdgpu = Arch("amdgpu", source_target="hip")
dx11 = Arch("dx11")
dx12 = Arch("dx12")

_machine = os.uname().machine if hasattr(os, "uname") else os.environ.get("PROCESSOR_ARCHITECTURE", "")
cpu = arm64 if _machine.lower() in ("aarch64", "arm64") else x64
x86_64 = x64
gpu: list[Arch] = [cuda, metal, vulkan, opengl, dx11, dx12, gles, amdgpu]
"""Taichi's order of preference; a session takes the first that opens."""

ARCHES: dict[str, Arch] = {
    arch.name: arch
    for arch in (x64, arm64, cc, python, cuda, vulkan, opengl, gles, metal, amdgpu, dx11, dx12)
} | {"cpu": cpu, "x86_64": x64}  # fmt: skip
"""Architectures by their names in `TI_ARCH` and `ti.init(arch="...")`, without "gpu", which is a list."""


class Extension(_Constant):
    """A feature that a program may query. targets: those that support it."""

    name: str
    targets: frozenset[str]

    __slots__ = ("name", "targets")

    def __init__(self, name: str, targets: frozenset[str] = frozenset()) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "targets", targets)

    def __reduce__(self) -> str:
        return f"extension.{self.name}"

    def __str__(self) -> str:
        return f"Extension.{self.name}"

    def __repr__(self) -> str:
        return f"<Extension.{self.name}>"


EVERYWHERE = frozenset({"c", "cuda", "vulkan", "python"})


class extension:  # noqa: N801 - Taichi's public name
    """Namespace `ti.extension`.

    Example:
        >>> ti.extension.sparse
        <Extension.sparse>
    """

    adstack = Extension("adstack", EVERYWHERE)
    assertion = Extension("assertion", EVERYWHERE)
    bls = Extension("bls", EVERYWHERE)
    data64 = Extension("data64", EVERYWHERE)
    extfunc = Extension("extfunc")
    mesh = Extension("mesh", EVERYWHERE)
    quant = Extension("quant", EVERYWHERE)
    quant_basic = Extension("quant_basic", EVERYWHERE)
    sparse = Extension("sparse", EVERYWHERE)


def is_extension_supported(arch: Arch, ext: Extension) -> bool:
    """Return whether the target of `arch` supports `ext`; False for architectures without a target."""
    return arch.target in ext.targets


def host_arches() -> list[Arch]:
    """Return the architecture of this machine's processor, as a list."""
    return [cpu]
