"""Statements that move out of a branch, before it."""

from __future__ import annotations

from collections.abc import Collection

from ....ir.nodes import Block, Statement
from ....ir.statements import If
from ...analysis.speculation import continues


def move_before(block: Block, branch: If, statements: Collection[Statement]) -> None:
    """Move some of the statements that a branch of a block decides about before it."""
    (block if continues(branch) else branch.then).drop(set(statements))
    block.insert_before(branch, statements)
