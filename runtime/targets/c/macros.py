"""Macros of edited sources in C."""

from __future__ import annotations

from ...workbench.macros.c_family import c_header, c_statement, place
from ...workbench.macros.macro_tools import MacroTools

TOOLS = MacroTools(header=c_header, place=place, statement=c_statement, has_threads=False)
