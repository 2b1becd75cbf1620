"""Check and launch edited sources in CUDA C."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ....transpiler.backend.module.interface import TaskSource
from ...workbench.check.check_input import EditedFile
from ...workbench.check.constants import constant, items_of, without_comments
from ...workbench.check.cuda import check_cuda
from ...workbench.check.edit_tools import EditTools

_READ_SIZE = re.compile(r"\bblockDim\s*\.\s*x\b")
_STRIDES = re.compile(r"\bgridDim\s*\.\s*x\b")


def _check(edits: Sequence[EditedFile]) -> None:
    for edit in edits:
        check_cuda(edit)


def _launch_shape(task: TaskSource, text: str) -> TaskSource:
    strided = task.strided and bool(_STRIDES.search(without_comments(text)))
    few_block = task.few_block if _READ_SIZE.search(without_comments(text)) else 0
    block_dim, items = _block_of(task, text), items_of(text)
    return replace(task, block_dim=block_dim, items=items, strided=strided, folded=True, few_block=few_block)


def _block_of(task: TaskSource, text: str) -> int:
    """Return the threads per block of a source; the generated number if it declares none."""
    return next((n for name in task.block_names if (n := constant(text, name)) is not None and n > 0), task.block_dim)


TOOLS = EditTools(check=_check, launch_shape=_launch_shape)
