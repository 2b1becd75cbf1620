"""Generates random kernels like those of the frontend, for tests that compare passes on and off."""

from __future__ import annotations

import random

from shadesmith.transpiler.ir.builder import Builder
from shadesmith.transpiler.ir.nodes import Block, Statement
from shadesmith.transpiler.ir.statements import (
    Alloca,
    ArgLoad,
    Array,
    ArrayShape,
    Break,
    Continue,
    GlobalPtr,
    If,
    IfExp,
    LoopIndex,
    Parameter,
    RangeFor,
    Return,
    StructFor,
    While,
)
from shadesmith.transpiler.ir.tasks import Kernel
from shadesmith.transpiler.ir.types import Tensor, f32, i32, u1

SIZE = 5


class RandomKernel:
    """Builds one kernel from a seed: two fields, an ndarray, vectors, variables, all control flow, early returns."""

    def __init__(self, seed: int, statements: int = 40) -> None:
        self.random = random.Random(seed)
        self.budget = statements
        self.arrays = [
            Array("a", i32, 1, 0, (SIZE,)),
            Array("b", f32, 1, 1, (SIZE,)),
            Array("c", i32, 2, 2, None, 0, True),
            Array("v", Tensor((2,), f32), 1, 3, (SIZE,)),
        ]
        self.parameters = [Parameter("n", i32, 1), Parameter("w", f32, 2)]
        self.builder = Builder(Block())
        self.scopes: list[list[Statement]] = [[]]
        self.values: list[list[Statement]] = [[]]
        self.loops: list[str] = []
        self.count = 0
        self.parallel = False
        self.returns = self.random.random() < 0.5

    def kernel(self) -> Kernel:
        body = self.builder.block
        while self.budget > 0:
            self.statement(top=True)
        if self.returns:
            self.builder.add(Return([self.builder.cast(self.value(), i32)]))
        return Kernel("k", self.parameters, self.arrays, [i32] if self.returns else [], body)

    def name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def value(self, depth: int = 0) -> Statement:
        b, choice = self.builder, self.random.random()
        variables = [v for scope in self.scopes for v in scope]
        named = [v for scope in self.values for v in scope]
        if depth > 2 or choice < 0.2:
            if self.random.random() < 0.5:
                return b.const(self.random.randint(-2, 3))
            return b.const(self.random.choice([-1.5, 0.0, 1.0, 2.0]), f32)
        if choice < 0.45 and variables:
            variable = self.random.choice(variables)
            if isinstance(variable.type, Tensor):
                return b.load(b.element_ptr(variable, [b.const(self.random.randint(0, 1))]))
            return b.load(variable)
        if choice < 0.6 and named:
            return self.random.choice(named)
        if choice < 0.65:
            parameter = self.random.choice(self.parameters)
            return b.add(ArgLoad(parameter, type=parameter.type))
        if choice < 0.7:
            return b.add(ArrayShape(self.random.choice(self.arrays), 0, type=i32))
        if choice < 0.8:
            return self.read(depth)
        if choice < 0.85:
            return self.if_expression(depth)
        op = self.random.choice(["add", "sub", "mul", "min", "max", "add", "floordiv", "select", "pow"])
        if op == "select":
            return b.op(op, self.condition(depth + 1), self.value(depth + 1), self.value(depth + 1))
        if op == "pow":
            return b.op("pow", self.value(depth + 1), b.const(self.random.randint(0, 3)))
        return self.bounded(b.op(op, self.value(depth + 1), self.value(depth + 1)))

    def bounded(self, value: Statement) -> Statement:
        """Keep numbers small, so that float sums are exact in any order."""
        b = self.builder
        return b.op("max", b.op("min", value, b.const(64)), b.const(-64))

    def read(self, depth: int) -> Statement:
        array = self.random.choice(self.arrays)
        pointer = self.pointer(array, depth)
        if isinstance(array.element, Tensor):
            pointer = self.builder.element_ptr(pointer, [self.builder.const(self.random.randint(0, 1))])
        return self.builder.load(pointer)

    def if_expression(self, depth: int) -> Statement:
        b = self.builder
        condition = self.condition(depth + 1)
        blocks = []
        for _ in range(2):
            with b.into(Block()) as block:
                self.scopes.append([])
                block.result = b.cast(self.value(depth + 1), f32)
                if self.random.random() < 0.3:
                    self.assign()
                self.scopes.pop()
            blocks.append(block)
        return b.add(IfExp(condition, *blocks, type=f32))

    def condition(self, depth: int) -> Statement:
        b = self.builder
        if self.random.random() < 0.1:
            return b.const(self.random.random() < 0.5, u1)
        test = b.op(self.random.choice(["lt", "le", "eq", "ne", "gt"]), self.value(depth), self.value(depth))
        if self.random.random() < 0.2:
            test = b.op("logical_not", test)
        return test

    def index(self, depth: int) -> Statement:
        b = self.builder
        value = b.cast(self.value(depth + 1), i32)
        return b.op("mod", value, b.const(SIZE)) if self.random.random() < 0.5 else b.const(self.random.randrange(SIZE))

    def pointer(self, array: Array, depth: int) -> Statement:
        return self.builder.add(GlobalPtr(array, [self.index(depth) for _ in range(array.ndim)], type=array.element))

    def assign(self) -> None:
        b = self.builder
        variables = [v for scope in self.scopes for v in scope]
        if not variables:
            return
        variable = self.random.choice(variables)
        if isinstance(variable.type, Tensor) and self.random.random() < 0.6:
            pointer = b.element_ptr(variable, [b.const(self.random.randint(0, 1))])
            b.store(pointer, self.bounded(self.value(1)))
        else:
            b.store(variable, self.bounded(self.value(1)))

    def statement(self, top: bool = False) -> None:
        self.budget -= 1
        b, choice = self.builder, self.random.random()
        if choice < 0.15:
            type = self.random.choice([i32, f32, Tensor((2,), f32)])
            variable = b.add(Alloca(type=type, name=self.name("x")))
            if self.random.random() < 0.8:
                b.store(variable, self.bounded(self.value(1)))
            self.scopes[-1].append(variable)
        elif choice < 0.3:
            value = self.bounded(self.value())
            if value.name is None:
                value.name = self.name("y")
            self.values[-1].append(value)
        elif choice < 0.5:
            self.assign()
        elif choice < 0.7:
            self.write()
        elif choice < 0.82:
            self.branch()
        elif choice < 0.95:
            self.loop(top)
        else:
            self.leave()

    def write(self) -> None:
        b = self.builder
        array = self.random.choice(self.arrays)
        pointer = self.pointer(array, 1)
        if self.random.random() < 0.5:
            b.store(pointer, self.bounded(self.value(1)))
        else:
            old = b.atomic(self.random.choice(["add", "sub", "max", "min"]), pointer, self.bounded(self.value(1)))
            if not isinstance(old.type, Tensor) and self.random.random() < 0.5:
                self.values[-1].append(self.bounded(old))

    def suite(self, block: Block) -> None:
        with self.builder.into(block):
            self.scopes.append([])
            self.values.append([])
            for _ in range(self.random.randint(1, 4)):
                self.statement()
                last = block.statements[-1] if block.statements else None
                if isinstance(last, (Break, Continue, Return)):
                    break
            self.scopes.pop()
            self.values.pop()

    def branch(self) -> None:
        statement = self.builder.add(If(self.condition(1)))
        self.suite(statement.then)
        if self.random.random() < 0.4:
            statement.otherwise = Block()
            self.suite(statement.otherwise)

    def loop(self, top: bool) -> None:
        b = self.builder
        parallel = top and self.random.random() < 0.6
        kind = self.random.random()
        if kind < 0.25:
            loop: RangeFor | StructFor = b.add(StructFor(self.random.choice(self.arrays), []))
            loop.names = ["i", "j"][: loop.array.ndim]
        elif kind < 0.5 and not parallel:
            self.while_loop()
            return
        else:
            axes = self.random.randint(1, 2)
            ends = [b.cast(self.value(2), i32) for _ in range(axes)]
            ends = [b.op("min", end, b.const(4)) for end in ends]
            starts, steps = [b.const(0) for _ in ends], [b.const(1) for _ in ends]
            loop = b.add(RangeFor(starts, ends, steps, ["i", "j"][:axes]))
        loop.serialize = top and not parallel
        self.loops.append("parallel" if parallel else "for")
        with b.into(loop.body):
            indices = [b.add(LoopIndex(loop, axis, type=i32)) for axis in range(len(loop.names))]
        self.values.append(list(indices))
        self.suite(loop.body)
        self.values.pop()
        self.loops.pop()

    def while_loop(self) -> None:
        b = self.builder
        count = b.add(Alloca(type=i32, name=self.name("count")))
        loop = b.add(While(Block()))
        with b.into(loop.condition):
            loop.condition.result = b.op("lt", b.load(count), b.const(3))
        with b.into(loop.body):
            b.store(count, b.op("add", b.load(count), b.const(1)))
        self.loops.append("while")
        self.suite(loop.body)
        self.loops.pop()

    def leave(self) -> None:
        b = self.builder
        if self.loops and self.random.random() < 0.6:
            b.add(Continue() if self.loops[-1] == "parallel" or self.random.random() < 0.5 else Break())
        elif self.returns and "parallel" not in self.loops:
            b.add(Return([b.cast(self.value(), i32)]))
        elif not self.returns:
            b.add(Return([]))
