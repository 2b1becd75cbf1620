"""Macros of edited sources in CUDA C."""

from __future__ import annotations

from ...workbench.macros.c_family import cuda_header, cuda_statement, place
from ...workbench.macros.macro_tools import MacroTools

TOOLS = MacroTools(header=cuda_header, place=place, statement=cuda_statement)
