"""Finds the variables of a function that need memory; this runs once per function.

A variable that is bound once is a value; one that is assigned again, or element by element, becomes an `Alloca`.
Scopes are those of Taichi: a name is visible in the block that first assigns it and in the blocks inside.
"""

from __future__ import annotations

import ast


class _Variable:
    """A variable of one scope: the node that declares it, and whether something changes it later."""

    __slots__ = ("changed", "node")

    def __init__(self, node: ast.AST) -> None:
        self.node = node
        self.changed = False


class _Finder:
    """Walks statements with a stack of scopes."""

    def __init__(self) -> None:
        self.scopes: list[dict[str, _Variable]] = [{}]
        self.variables: list[_Variable] = []

    def declare(self, name: str, node: ast.AST) -> None:
        variable = _Variable(node)
        self.variables.append(variable)
        self.scopes[-1][name] = variable

    def find(self, name: str) -> _Variable | None:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def change(self, target: ast.AST) -> None:
        """Record a change of the root variable of `target` (`v` of `v[0].x`)."""
        while isinstance(target, (ast.Subscript, ast.Attribute)):
            target = target.value
        if isinstance(target, ast.Name) and (scope := self.find(target.id)) is not None:
            scope.changed = True

    def assign(self, target: ast.AST) -> None:
        if isinstance(target, ast.Name):
            if self.find(target.id) is None:
                self.declare(target.id, target)
            else:
                self.change(target)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for element in target.elts:
                self.assign(element)
        else:
            self.change(target)

    def loop_target(self, target: ast.AST) -> None:
        if isinstance(target, ast.Name):
            self.declare(target.id, target)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for element in target.elts:
                self.loop_target(element)

    def case(self, case: ast.match_case) -> None:
        """Declare the names that a pattern binds, or record that they change, and visit the body of the case."""
        self.scopes.append({})
        for pattern in ast.walk(case.pattern):
            if isinstance(pattern, (ast.MatchAs, ast.MatchStar)) and pattern.name is not None:
                if self.find(pattern.name) is None:
                    self.declare(pattern.name, pattern)
                else:
                    self.change(ast.Name(pattern.name))
        self.block(case.body)
        self.scopes.pop()

    def block(self, statements: list[ast.stmt]) -> None:
        self.scopes.append({})
        self.statements(statements)
        self.scopes.pop()

    def statements(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            match statement:
                case ast.Assign(targets=targets):
                    for target in targets:
                        self.assign(target)
                case ast.AnnAssign(target=target):
                    self.assign(target)
                case ast.AugAssign(target=target):
                    self.change(target)
                case ast.If(body=body, orelse=otherwise) | ast.While(body=body, orelse=otherwise):
                    self.block(body)
                    self.block(otherwise)
                case ast.Match(cases=cases):
                    for case in cases:
                        self.case(case)
                case ast.For(target=target, body=body):
                    self.scopes.append({})
                    self.loop_target(target)
                    self.block(body)
                    self.scopes.pop()


def find_mutable(function: ast.FunctionDef) -> set[ast.AST]:
    """Return the nodes (names and parameters) that declare a variable which is changed after its declaration."""
    finder = _Finder()
    arguments = function.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        finder.declare(argument.arg, argument)
    finder.statements(function.body)
    return {variable.node for variable in finder.variables if variable.changed}
