"""Check and launch edited sources in GLSL."""

from __future__ import annotations

import re
from dataclasses import replace
from math import prod

from ....transpiler.backend.module.interface import TaskSource
from ...workbench.check.constants import constants, evaluate, items_of, without_comments
from ...workbench.check.edit_tools import EditTools
from ...workbench.check.glsl import check_glsl

_LOCAL_SIZE = re.compile(r"\blocal_size_([xyz])\s*=\s*([^,)]+)")
_STRIDES = re.compile(r"\bgl_NumWorkGroups\b")
_ROWS = re.compile(r"\bgl_(?:WorkGroup|GlobalInvocation)ID\b(?!\s*\.\s*x\b)")


def _launch_shape(task: TaskSource, text: str) -> TaskSource:
    bare = without_comments(text)
    folded = bool(_ROWS.search(bare))
    strided = task.strided and not folded and bool(_STRIDES.search(bare))
    return replace(task, block_dim=_block_of(task, text), items=items_of(text), strided=strided, folded=folded)


def _block_of(task: TaskSource, text: str) -> int:
    """Return the threads per block of a source; the generated number if it declares none."""
    sizes = [evaluate(size, constants(text)) for _, size in _LOCAL_SIZE.findall(without_comments(text))]
    known = [size for size in sizes if size]
    return prod(known) if known else task.block_dim


TOOLS = EditTools(check=check_glsl, launch_shape=_launch_shape)
