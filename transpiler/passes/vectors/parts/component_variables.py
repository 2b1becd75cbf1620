"""Replaces local vectors by a variable for each component.

`lane_whiles` and `lane_loops` make these arrays of lanes.

    s: vec2                                    s_x, s_y: f32
    s = vec2(s[1], x)          ->              t = s_y; s_x = t; s_y = x

Neighbouring numbers of one component are a vector of the processor.
"""

from __future__ import annotations

import numpy as np

from ....ir.builder import AXES, flat_index
from ....ir.functions import Call
from ....ir.nodes import Block, Statement
from ....ir.statements import Alloca, Const, LocalLoad, LocalStore, MatrixInit, MatrixPtr, Operation
from ....ir.types import Tensor
from ...rewrite import DROPPED, Rewriter, Rule


class ComponentVariables:
    """Replaces local vectors by a variable for each component. parts: these variables."""

    def __init__(self) -> None:
        self.parts: dict[Statement, list[Alloca]] = {}

    def run(self, body: Block) -> None:
        """Replace those of a body and of the blocks inside it."""
        rules: dict[type[Statement], Rule] = {
            Alloca: self.variable,
            MatrixPtr: self.element,
            LocalLoad: self.load,
            LocalStore: self.store,
        }
        Rewriter(rules).block(body)

    def variable(self, rewriter: Rewriter, variable: Alloca) -> Statement | None:
        """Declare the components."""
        if not isinstance(variable.type, Tensor):
            return None
        letters = AXES if len(variable.type.shape) == 1 else "0123"
        self.parts[variable] = [
            Alloca(type=variable.type.element, name=f"{variable.name or 'v'}_{letter}", location=variable.location)
            for letter in letters[: variable.type.size]
        ]
        rewriter.out += self.parts[variable]
        return DROPPED

    def element(self, rewriter: Rewriter, pointer: MatrixPtr) -> Statement | None:
        """Return the component that a pointer to an element points to."""
        if pointer.origin not in self.parts:
            return None
        assert isinstance(pointer.origin.type, Tensor)
        numbers = [int(index.value) for index in pointer.indices if isinstance(index, Const)]
        return self.parts[pointer.origin][flat_index(pointer.origin.type.shape, numbers)]

    def load(self, rewriter: Rewriter, load: LocalLoad) -> Statement | None:
        """Return the vector of the components."""
        if load.pointer not in self.parts:
            return None
        builder = rewriter.builder(load)
        vector = MatrixInit([builder.load(part) for part in self.parts[load.pointer]], type=load.type)
        vector.hint = load.pointer.name
        return builder.add(vector)

    def store(self, rewriter: Rewriter, store: LocalStore) -> Statement | None:
        """Store each component; all are computed before the first is stored."""
        if store.pointer not in self.parts:
            return None
        builder = rewriter.builder(store)
        assert isinstance(store.pointer.type, Tensor)
        if isinstance(store.value, (Operation, Call)) and store.value.name is None:
            store.value.hint = store.value.hint or store.pointer.name
        places = [[builder.const(k) for k in index] for index in np.ndindex(*store.pointer.type.shape)]
        values = [builder.element(store.value, place) for place in places]
        for part, value in zip(self.parts[store.pointer], values, strict=True):
            builder.store(part, value)
        return DROPPED
