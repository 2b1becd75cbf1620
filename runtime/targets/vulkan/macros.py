"""Macros of edited sources in GLSL."""

from __future__ import annotations

from ...workbench.macros.glsl import additions, header, place, statement
from ...workbench.macros.macro_tools import MacroTools

TOOLS = MacroTools(header=header, place=place, statement=statement, additions=additions)
