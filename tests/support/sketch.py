"""A small kernel under construction, for tests of passes and of printers: the fixture `sketch`."""

from __future__ import annotations

from collections.abc import Callable

from bare_targets import bare

from shadesmith.transpiler.ir.builder import Builder
from shadesmith.transpiler.ir.functions import Function
from shadesmith.transpiler.ir.nodes import Block, Statement
from shadesmith.transpiler.ir.snodes import Node, Tree, top_of
from shadesmith.transpiler.ir.statements import Alloca, ArgLoad, Array, GlobalPtr, LoopIndex, Parameter, RangeFor
from shadesmith.transpiler.ir.tasks import Kernel
from shadesmith.transpiler.ir.text import print_kernel
from shadesmith.transpiler.ir.types import Tensor, f32, f64, i32, u1
from shadesmith.transpiler.ir.verify import verify
from shadesmith.transpiler.options import CompileOptions
from shadesmith.transpiler.passes import PassContext, Stage


class Sketch(Builder):
    """A builder with fields a, b (f32, 8 cells) and v (vec3), ndarrays m (2 axes), p and q (1 axis), which may alias,
    and parameters n (i32), w (f32), flag (u1), d (f64). trees, nodes: of the fields that `field_below` makes.
    tile: a shared array of 8 f32. functions: real functions of the kernel."""

    def __init__(self) -> None:
        super().__init__(Block())
        self.body = self.block
        self.a, self.b = Array("a", f32, 1, 0, (8,)), Array("b", f32, 1, 1, (8,))
        self.m = Array("m", f32, 2, 2, None, 0, True)
        self.v = Array("v", Tensor((3,), f32), 1, 3, (8,))
        self.p, self.q = Array("p", f32, 1, 4, None, 1, True), Array("q", f32, 1, 5, None, 2, True)
        self.parameters = [Parameter(*p) for p in (("n", i32, 3), ("w", f32, 4), ("flag", u1, 5), ("d", f64, 6))]
        self.tile = Array("tile", f32, 1, 0, (8,), is_shared=True)
        self.functions: list[Function] = []
        self.returns: list[object] = []
        self.trees: dict[Node, Tree] = {}
        self.nodes: dict[str, Node] = {}
        self.placed: list[Array] = []
        self.context = PassContext(CompileOptions(fast_math=False), bare("c"))

    def set_options(
        self, target: str = "c", /, capabilities: dict[str, object] | None = None, **options: object
    ) -> None:
        """Let passes see compile options, and capabilities of a target, other than the usual ones."""
        self.context = PassContext(CompileOptions(**options), bare(target, **(capabilities or {})))

    def field_below(self, *levels: tuple[str, str, int], name: str = "x") -> Array:
        """Return a field (f32) below a chain of nodes along one axis: kind, name and extent of each, from the top."""
        above, extent = None, 1
        for kind, called, cells in levels:
            node = self.nodes[called] = Node(kind, above, (0,), (cells,), chunk=4 if kind == "dynamic" else 0)
            if above is not None:
                above.children.append(node)
            above, extent = node, extent * cells
        place = Node("place", above, element=f32, name=name)
        above.children.append(place)
        names = {self.nodes[called]: called for _, called, _ in levels}
        self.trees[top_of(place)] = Tree(top_of(place), {**names, place: name}, {place: f32})
        self.placed.append(Array(name, f32, 1, 6 + len(self.placed), (extent,), place=place))
        return self.placed[-1]

    def arg(self, name: str) -> Statement:
        parameter = next(p for p in self.parameters if p.name == name)
        return self.add(ArgLoad(parameter, type=parameter.type))

    def ptr(self, array: Array, *indices: Statement | int) -> Statement:
        return self.add(
            GlobalPtr(array, [self.const(i) if isinstance(i, int) else i for i in indices], type=array.element)
        )

    def read(self, array: Array, *indices: Statement | int) -> Statement:
        return self.load(self.ptr(array, *indices))

    def var(self, name: str, value: Statement | None = None, type: object = f32) -> Statement:
        variable = self.add(Alloca(type=type if value is None else value.type, name=name))
        if value is not None:
            self.store(variable, value)
        return variable

    def loop(self, *ends: Statement | int, **options: object) -> RangeFor:
        bounds = [self.const(e) if isinstance(e, int) else e for e in ends]
        zeros, ones = [self.const(0) for _ in ends], [self.const(1) for _ in ends]
        return self.add(RangeFor(zeros, bounds, ones, ["i", "j", "k"][: len(ends)], **options))

    def index(self, loop: RangeFor, axis: int = 0) -> Statement:
        return self.add(LoopIndex(loop, axis, type=i32))

    def kernel(self) -> Kernel:
        arrays = [self.a, self.b, self.m, self.v, self.p, self.q, *self.placed]
        return Kernel(
            "k", self.parameters, arrays, self.returns, self.body,
            functions=self.functions, shared=[self.tile], trees=self.trees,
        )  # fmt: skip

    def apply(self, *steps: Callable[[Kernel, PassContext], bool], stage: Stage = Stage.LOWERED) -> str:
        """Apply the passes, verify, and return the kernel's text without ids of values that only shift."""
        kernel = self.kernel()
        for step in steps:
            step(kernel, self.context)
        verify(kernel, stage)
        self.result = kernel
        return print_kernel(kernel)
