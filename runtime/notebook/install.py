"""What `import shadesmith` installs for notebooks; without IPython that is one look into `sys.modules`."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from .. import viewed


def _html(value: Any) -> str:
    page: str = importlib.import_module(".html", __package__).html_of(value)
    return page


def install() -> None:
    """Let objects be shown as HTML, and, if Python runs below IPython, errors name cells."""
    viewed.use(_html)
    ipython = sys.modules.get("IPython")
    shell = getattr(ipython, "get_ipython", lambda: None)()
    if shell is not None:
        importlib.import_module(".shell", __package__).install(shell)
