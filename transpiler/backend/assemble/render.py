"""The Jinja environment, which only this module uses. Jinja is imported when the first source is rendered."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InternalError

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).resolve().parents[3] / "templates"


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Return the environment. The first call imports Jinja (30 ms); a session may do so in the background."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
        auto_reload=False,
    )


def render(template: str, data: dict[str, Any]) -> str:
    """Return the rendered template, named relative to `templates/`.

    Raises: InternalError with the template and the line if the template uses missing data.
    """
    from jinja2 import TemplateError

    try:
        return environment().get_template(template).render(data)
    except TemplateError as error:
        line = getattr(error, "lineno", None)
        location = f"templates/{template}" + (f", line {line}" if line else "")
        raise InternalError(f"{location}: {error}") from error
