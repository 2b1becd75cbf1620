"""`ti.init(templates_dir=...)`: templates of a program in place of shadesmith's, for all its kernels.

In: a folder whose files have the names of templates, `c/range_for.c.j2`. Out: compile options with their text, which is
so part of every key.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..transpiler.options import CompileOptions, OwnTemplate
from .close_names import close_names

TEMPLATES = Path(__file__).resolve().parents[1] / "templates"
NOT_OF_KERNELS = ("report", "repro")
MAX_BYTES = 1 << 20


def with_templates(options: CompileOptions, folder: str) -> CompileOptions:
    """Return options with the templates of a folder.

    Raises: ValueError for a folder that does not exist, and for a file that replaces no template.
    """
    root = Path(folder).expanduser().absolute()
    if not root.is_dir():
        raise ValueError(f"option `templates_dir` of ti.init names a folder, and {root} is none")
    known = [path.relative_to(TEMPLATES).as_posix() for path in sorted(TEMPLATES.rglob("*.j2"))]
    known = [name for name in known if not name.startswith(NOT_OF_KERNELS)]
    found = []
    for path in sorted(root.rglob("*.j2")):
        name = path.relative_to(root).as_posix()
        if name not in known and not _is_part(path, root):
            close = close_names(name, known)
            hint = f"did you mean `{close[0]}`?" if close else f"there are {', '.join(known)}"
            raise ValueError(f"{path}: shadesmith has no template `{name}`. Hint: {hint}")
        found.append(OwnTemplate(name, _text(path), str(path)))
    return replace(options, own_templates=tuple(found))


def _is_part(path: Path, root: Path) -> bool:
    """Return whether other templates of the program include a file: one in `parts/`."""
    return path.relative_to(root).parts[0] == "parts"


def _text(path: Path) -> str:
    """Return a template. Raises: ValueError if it is not UTF-8 text."""
    try:
        data = path.read_bytes()
        if len(data) > MAX_BYTES:
            raise ValueError(f"{path}: {len(data)} bytes are more than any template")
        return data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise ValueError(f"{path}: the template is not UTF-8 text") from None
    except OSError as error:
        raise ValueError(f"{path}: the template cannot be read: {error.strerror}") from None
