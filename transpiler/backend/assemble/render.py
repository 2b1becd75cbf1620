"""The Jinja environment, which only this module uses. Jinja is imported when the first source is rendered.

A program may have templates of its own in place of some (`OwnTemplate`); `shadesmith/NAME` is the one that it replaces.
The code of our templates is cached next to them in `__pycache__`, as that of modules is: to compile them takes
30 ms of each start.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ...errors import InternalError, TaichiCompilationError
from ...options import OwnTemplate

if TYPE_CHECKING:
    from jinja2 import BytecodeCache, Environment
    from jinja2.bccache import Bucket

TEMPLATES = Path(__file__).resolve().parents[3] / "templates"
CODE = TEMPLATES / "__pycache__"
REPLACED = "shadesmith/"
"""Before the name of a template that a template of the program extends or includes."""


@lru_cache(maxsize=8)
def environment(own: tuple[OwnTemplate, ...] = ()) -> Environment:
    """Return the environment. The first call imports Jinja (30 ms); a session may do so in the background."""
    from jinja2 import ChoiceLoader, Environment, FileSystemLoader, FunctionLoader, PrefixLoader, StrictUndefined

    plain = FileSystemLoader(TEMPLATES)
    replaced = {template.name: template for template in own}

    def find(name: str) -> tuple[str, str, Callable[[], bool]] | None:
        found = replaced.get(name)
        return None if found is None else (found.text, found.path, lambda: True)

    loaders = [FunctionLoader(find), PrefixLoader({REPLACED.rstrip("/"): plain})] if own else []
    made = Environment(
        loader=ChoiceLoader([*loaders, plain]) if own else plain,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
        auto_reload=False,
        bytecode_cache=None if own else _cached_code(),
    )
    if not own:
        made.globals.clear()  # `range` and others, which ours do not use, and which Jinja copies for each file
    return made


def _cached_code() -> BytecodeCache:
    """Return Jinja's cache of code; a file that is damaged, or of another Python or source, is made anew."""
    import jinja2

    class CodeCache(jinja2.BytecodeCache):
        def load_bytecode(self, bucket: Bucket) -> None:
            with suppress(OSError), _code_file(bucket.key, jinja2.__version__).open("rb") as file:
                bucket.load_bytecode(file)

        def dump_bytecode(self, bucket: Bucket) -> None:
            if sys.dont_write_bytecode:
                return
            path = _code_file(bucket.key, jinja2.__version__)
            written = path.with_suffix(f".{os.getpid()}")
            with suppress(OSError):  # the package may be installed where a user cannot write
                CODE.mkdir(exist_ok=True)
                written.write_bytes(bucket.bytecode_to_string())
                written.replace(path)

    return CodeCache()


def _code_file(key: str, version: str) -> Path:
    """Return the file of a template's code. version: of Jinja."""
    return CODE / f"{key}.{sys.implementation.cache_tag}-jinja{version.replace('.', '_')}.pyc"


def render(template: str, data: dict[str, Any], own: tuple[OwnTemplate, ...] = ()) -> str:
    """Return the rendered template, named relative to `templates/`. own: templates of the program.

    Raises: InternalError with the template and the line if the template uses missing data; TaichiCompilationError with
        the file and the line for a template of the program.
    """
    from jinja2 import TemplateError

    for one in own:
        with suppress(TemplateError):  # which rendering names
            _check_blocks(one, own)
    try:
        return environment(own).get_template(template).render(data)
    except TemplateError as error:
        raise _located(error, template, own) from error
    except Exception as error:  # what expressions of a template raise
        if not own:
            raise
        raise _located(error, template, own) from error


@lru_cache(maxsize=64)
def _check_blocks(template: OwnTemplate, own: tuple[OwnTemplate, ...]) -> None:
    """Check that the template that one of the program extends has its blocks: Jinja ignores others in silence.

    Raises: TaichiCompilationError with the line of a block that replaces none.
    """
    from jinja2.nodes import Block, Const, Extends

    tree = environment(own).parse(template.text, template.name, template.path)
    extended = next(tree.find_all(Extends), None)
    if extended is None or not isinstance(extended.template, Const):
        return
    known: set[str] = set()
    name: str | None = extended.template.value
    while name is not None and name.startswith(REPLACED):
        base = environment(own).parse((TEMPLATES / name.removeprefix(REPLACED)).read_text("utf-8"))
        known |= {block.name for block in base.find_all(Block)}
        above = next(base.find_all(Extends), None)
        name = f"{REPLACED}{above.template.value}" if above is not None and isinstance(above.template, Const) else None
    for block in tree.find_all(Block):
        if known and block.name not in known:
            close = get_close_matches(block.name, sorted(known), 1)
            hint = f"did you mean `{close[0]}`?" if close else f"there are {', '.join(sorted(known))}"
            message = f"{template.path}:{block.lineno}: `{extended.template.value}` has no block `{block.name}`"
            raise TaichiCompilationError(message, hint)


def _located(error: Exception, template: str, own: tuple[OwnTemplate, ...]) -> Exception:
    """Return the error of a template with its file and line."""
    from jinja2 import TemplateNotFound

    name, line = getattr(error, "filename", None), getattr(error, "lineno", None)
    paths = {one.path for one in own}
    place: TracebackType | None = error.__traceback__ if name is None else None
    while place is not None:  # the innermost frame of the program's templates, else of any
        file = place.tb_frame.f_code.co_filename
        if file in paths or (name not in paths and file.startswith(str(TEMPLATES))):
            name, line = file, place.tb_lineno
        place = place.tb_next
    message = str(error).splitlines()[0] if str(error) else type(error).__name__
    if isinstance(error, TemplateNotFound):
        message = f"there is no template `{error.name}`"
    elif isinstance(error, RecursionError):
        message = "it includes itself"
    if name in paths or own:
        where = f"{name or template}:{line or 1}"
        hint = "a template extends `shadesmith/NAME` to change only some of its blocks; see docs/templates.md"
        return TaichiCompilationError(f"{where}: the template cannot be rendered: {message}", hint)
    location = f"templates/{template}" + (f", line {line}" if line else "")
    return InternalError(f"{location}: {message}")
