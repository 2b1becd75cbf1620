"""Mistakes in edited C: each is refused before anything runs, at its line, in its own words."""

from __future__ import annotations

import shutil

import pytest
from golden_kernels import compiled
from seeded_edits import Seed, changed, diagnostics_of, expect_refusal

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
SWAPPED = (r"(    float w;.*?\n)(    int n;.*?\n)", r"\2\1")
HEAD = r"void jacobi_0\(const struct Args \*arguments\)"
MISTAKES = (
    Seed("another type", "jacobi", (("float w;", "double w;"),), "double w", "`w` of `Args` has another type: expected `float`, found `double`"),
    Seed("another sign", "jacobi", (("int n; ", "unsigned n; "),), "unsigned n", "`n` of `Args` has another type: expected `int`, found `unsigned`"),
    Seed("moved", "jacobi", (SWAPPED,), "float w", "`w` of `Args` is at another offset: expected byte 16, found byte 20"),
    Seed("missing", "jacobi", ((r"    int m;.*?\n", ""), (r"args\.m\b", "8"), (r"args\.m\b", "8")), "struct Args {", "`m` of `Args` is missing"),
    Seed("missing, used by nothing", "saxpy", ((r"    int x_n;.*?\n", ""), (r"args\.x_n", "8"), (r"args\.x_n", "8")), "struct Args {", "`x_n` of `Args` is missing"),
    Seed("renamed", "jacobi", (("int b_n1; ", "int stride; "), (r"args\.b_n1", "args.stride")), "int stride", "`b_n1` of `Args` is missing, found `stride` in its place"),
    Seed("extra", "jacobi", (("int b_n1; ", "int b_n1, more; "),), "more", "`Args` has a member `more`"),
    Seed("extra in a gap", "saxpy", (("(    int x_n;.*?\n)", r"\1    int more;\n"),), "int more", "`Args` has a member `more`"),
    Seed("packed", "particles", ((r"bool alive;\n\} Particle;\n_Static_assert[^\n]*", "bool alive;\n} __attribute__((packed)) Particle;"),), "Particle", "`Particle` has another size: expected 28 bytes"),
    Seed("other elements", "jacobi", (("float .b_data", "double *b_data"),), "double *b_data", "`b_data` of `Args` points to elements of another type: expected `float`, found `double`"),
    Seed("array of structs", "particles", ((r"Particle \*restrict x_data", "Plane *x_data"),), "Plane *x_data", "`pos` of `Plane` is missing|points to elements of another type"),
    Seed("pointer lost", "jacobi", (("float .b_data", "long b_data"), (r"\) args\.b_data\[", ") ((float *)args.b_data)[")), "long b_data", "`b_data` of `Args` has another type"),
    Seed("const dropped", "jacobi", (("const float .a_data", "float *a_data"),), "float *a_data", "`a_data` of `Args` lost its `const`"),
    Seed("store to read-only", "jacobi", ((r"b\(i, j\) = a", "a(i, j) = a"),), "a(i, j) = a", "`a` is stored to here, but the kernel in Python only reads it"),
    Seed("const lost on the way", "jacobi", (("float s = ", "float *p = args.a_data; p[0] = 1; float s = "),), "float *p", "`a` loses its `const` here"),
    Seed("const cast away", "jacobi", (("float s = ", "float *p = (float *)&a(0, 0); p[0] = 1; float s = "),), "float *p", "`a` loses its `const` here"),
    Seed("entry renamed", "jacobi", (("void jacobi_0", "void jacobi_step"),), "jacobi_step", "the function `jacobi_0` is missing, found `jacobi_step`"),
    Seed("entry missing", "normalize", ((r"void normalize_0.*?\n}\n", ""),), "void normalize_1", "the function `normalize_0` is missing"),
    Seed("entry hidden", "jacobi", (("void jacobi_0", "static void jacobi_0"),), "static void", "`jacobi_0` is not exported"),
    Seed("more parameters", "jacobi", ((HEAD, "void jacobi_0(const struct Args *arguments, int turns)"),), "int turns", "`jacobi_0` has other parameters or another result"),
    Seed("arguments by value", "jacobi", ((HEAD, "void jacobi_0(struct Args given)"), (r"\*arguments", "given")), "given) {", "`jacobi_0` has other parameters or another result"),
    Seed("a result", "jacobi", (("void jacobi_0", "int jacobi_0"),), "int jacobi_0", "`jacobi_0` has other parameters or another result"),
    Seed("struct moved", "particles", (("vec3 pos, vel;", "vec3 vel, pos;"),), "vec3 vel, pos", "`pos` of `Particle` is at another offset: expected byte 0, found byte 12"),
    Seed("struct member retyped", "particles", (("bool alive", "int alive"),), "int alive", "`alive` of `Particle` has another type: expected `bool`, found `int`"),
    Seed("temporaries retyped", "normalize", (("float total;", "double total;"),), "double total", "`total` of `Temporaries` has another type"),
    Seed("vector grown", "particles", (("float x, y, z;", "float x, y, z, w;"),), "float x, y, z, w", "`vec3` has a member `w`"),
    Seed("cells of a tree", "blocks", ((r"Cell cells\[12\]", "Cell cells[16]"), (r"_Static_assert\(sizeof\(Block\)[^\n]*\n", "")), "cells[16]", r"`cells` of `Block` has another type: expected `Cell\[12\]`, found `Cell\[16\]`"),
    Seed("arguments renamed", "jacobi", ((r"struct Args \{", "struct Arguments {"),), "struct Arguments", "the struct `Args` is missing"),
    Seed("function without body", "jacobi", (("static inline void task", "float smooth(int i);\n\nstatic inline void task"), ("float s = ", "float s = smooth(i) + ")), "float smooth(int i)", "`smooth` is declared, but not defined"),
    Seed("undeclared function", "jacobi", (("float s = ", "float s = smooth(i) + "),), "smooth(i)", "function `smooth` is not declared"),
)  # fmt: skip


@pytest.mark.parametrize("seed", MISTAKES, ids=lambda seed: seed.name)
def test_each_mistake_is_refused_at_its_line(seed: Seed) -> None:
    expect_refusal("c", seed)


@pytest.mark.parametrize(
    ("changes", "at", "says"),
    [
        ((("float s = ", "float s = q + "),), "q + a", r"error: 'q' undeclared"),
        (((r"(float s = [^;]*);", r"\1"),), "b(i, j) = ", "error: expected .*';'"),
        (((r"int n;", "int n"),), "int n", "error: `;` is missing after member `n` of `Args`"),
        ((("0[.]25f", "(0.25f"),), "b(i, j) = ", r"error: expected '\)'"),
        (((r"\}\n\Z", ""),), "void jacobi_0", "error: the source ends before all brackets are closed"),
        (((r"\Z", "}\n"),), "}", "error: expected"),
        ((("float s = ", '\n#line 900 "else.c"\nfloat s = q + '),), "q + a", r"error: 'q' undeclared"),
        ((("float s = ", "\tfloat s = q + "),), "q + a", r"error: 'q' undeclared"),
    ],
)
def test_a_syntax_error_is_shown_on_the_users_file(changes: tuple[tuple[str, str], ...], at: str, says: str) -> None:
    expect_refusal("c", Seed("", "jacobi", changes, at, says))


def test_an_error_in_a_macro_is_shown_where_it_is_used() -> None:
    said = expect_refusal(
        "c", Seed("", "jacobi", ((r"b\(i, j\) = a\(i, j\)", "b(i) = a(i, j)"),), "b(i) = ", "error: ")
    )
    assert "requires 2 arguments" in said


def test_all_mistakes_are_told_in_the_order_of_their_lines() -> None:
    text = compiled("particles", "c").files[0].text
    text = changed(
        text,
        (("float dt; ", "double dt; "), ("bool alive", "int alive"), ("void particles_1", "static void particles_1")),
    )
    said = diagnostics_of("c", {0: text}, "particles")
    found = [line.split(": ", 1)[1] for line in said.split("\n") if line.startswith("edits/")]
    assert [text[:28] for text in found] == ["member `alive` of `Particle`", "member `dt` of `Args` has an"]
    fixed = changed(text, (("double dt; ", "float dt; "), ("int alive", "bool alive")))
    assert "is not exported" in diagnostics_of("c", {0: fixed}, "particles")


def test_an_empty_text_lacks_the_arguments() -> None:
    assert "the struct `Args` is missing" in diagnostics_of("c", {0: "\n"}, "jacobi")
