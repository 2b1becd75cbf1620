"""`ti.export` writes what a kernel becomes to files of the program's choice; `ti.kernel_from_source` runs such files.

In: a kernel and arguments, or a file and the kernel that it replaces. Out: files; or a kernel that runs their source
with the arguments of the other. The source is checked as an edit is: its interface has to be the generated one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...transpiler.backend.module.interface import BackendModule
from ...transpiler.errors import TaichiRuntimeError
from ...transpiler.frontend.source.specialization import Specialization
from ...transpiler.lang.arch import Arch
from ..launch.kernel import Kernel
from ..session.module_source import EDIT, Choice, variant_of
from ..session.session import Session
from ..session.tracebacks import hides_own_frames
from ..store.atomic_files import write_text
from .check.block_sizes import check_block_sizes
from .check.check_edit import check_edit
from .check.edit_error import EditError
from .edits.edited_module import edited_module
from .edits.slots import source_text


@hides_own_frames
def export(kernel: Kernel, path: str | os.PathLike[str], *args: Any, arch: Arch | str | None = None) -> list[Path]:
    """Write the source that a kernel becomes for these arguments; nothing is launched and no device is needed.

    path: the file; for a kernel of several files (loops of GLSL) a folder, which is made. args, arch: as for
    `kernel.source`. Returns the files.
    Raises: TaichiRuntimeError for a kernel of several files and a path with another suffix; OSError.

    Example:
        >>> @ti.kernel
        ... def double(x: ti.types.ndarray(ti.f32, 1)):
        ...     for i in x:
        ...         x[i] *= 2
        >>> [file.name for file in ti.export(double, "double.cu", arch=ti.cuda)]
        ['double.cu']
    """
    module, place = _kernel(kernel).inspect(*args, arch=arch).module, Path(path)
    suffix = Path(module.files[0].name).suffix if module.files else place.suffix
    if place.suffix not in ("", suffix):
        raise TaichiRuntimeError(f"`{module.kernel}` becomes {suffix} here, found {place}", f"name it *{suffix}")
    if len(module.files) == 1 and place.suffix:
        files = {place: module.files[0].text}
    elif place.suffix:
        message = f"`{module.kernel}` has {len(module.files)} files, found the name of one, {place}"
        raise TaichiRuntimeError(message, "name a folder")
    else:
        files = {place / file.name: file.text for file in module.files}
    for file, text in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, text)
    return list(files)


@hides_own_frames
def kernel_from_source(path: str | os.PathLike[str], like: Kernel) -> Kernel:
    """Return a kernel that runs the source in a file in place of what `like` becomes.

    path: the file, or a folder with all files of the kernel. like: the kernel whose arguments it takes. It is launched,
    compared and timed like any kernel. The files are read and checked when it is compiled: for a session of another
    target, and for arguments of other types, their interface is another.
    Raises: TaichiRuntimeError if there are no such files.

    Example:
        >>> @ti.kernel
        ... def double(x: ti.types.ndarray(ti.f32, 1)):
        ...     for i in x:
        ...         x[i] *= 2
        >>> x = ti.ndarray(ti.f32, 2)
        >>> x.fill(1.0)
        >>> files = ti.export(double, "sources", x)
        >>> ti.kernel_from_source("sources", like=double)(x)
        >>> x[0]
        2.0
    """
    place = Path(path)
    if not place.exists():
        raise TaichiRuntimeError(f"there is no {place}", "write it by `ti.export(kernel, path, *args)`, and edit it")
    made = _kernel(like).renewed()
    made.given = lambda session, specialization, module: _choose(session, specialization, module, place)
    return made


def _kernel(kernel: Any) -> Kernel:
    if not isinstance(kernel, Kernel):
        raise TaichiRuntimeError(f"found {kernel!r}, which is no kernel", "pass what `@ti.kernel` made")
    return kernel


def _choose(session: Session, specialization: Specialization, module: BackendModule, place: Path) -> Choice:
    """Return the module with the sources in a file or folder, checked and built. Raises: TaichiCompilationError."""
    if not module.files:
        return Choice(module)
    paths = _paths(module, place)
    sources = {name: source_text(path) for name, path in paths.items()}
    edited = edited_module(module, sources)
    check_block_sizes(specialization, module, edited, {paths[name]: source for name, source in sources.items()})
    check_edit(module, edited, session.device.capabilities, paths)
    session.programs.find(edited)
    return Choice(edited, variant_of(edited, EDIT, tuple(paths.values()), "kernel_from_source"))


def _paths(module: BackendModule, place: Path) -> dict[str, Path]:
    """Return the user's file for each of the module's. Raises: EditError."""
    names: Sequence[str] = [file.name for file in module.files]
    paths = {name: place / name for name in names} if place.is_dir() else dict.fromkeys(names, place)
    for name, path in paths.items():
        if not path.is_file():
            raise EditError(f"{place} lacks {name}, a file of `{module.kernel}` here", "`ti.export` writes all of them")
        if path.suffix != Path(name).suffix:
            hint = "write the source of this target by `ti.export`, or start the session of the file's"
            raise EditError(f"{path} is not of this target, for which `{module.kernel}` becomes {name}", hint)
    if len(names) > 1 and not place.is_dir():
        raise EditError(f"`{module.kernel}` has {len(names)} files, found one: {place}", "name the folder of them")
    return paths
