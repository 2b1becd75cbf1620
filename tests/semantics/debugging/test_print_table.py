"""What `print` shows, statement by statement: as Taichi 1.7.4 does on its CPU (measured), the same on every target.

Where Taichi refuses or crashes, printf or Python says what is right: hexadecimal of signed numbers, `<`, `{{`, texts with
a width.
"""

from __future__ import annotations

import importlib.util

import pytest

import shadesmith as ti

HEAD = """
import shadesmith as ti

G, H, L = 7, "text", [1, 2.5]


@ti.kernel
def run(x: ti.f32, n: ti.i32, d: ti.f64, l: ti.i64, u: ti.u32, U: ti.u64, big: ti.f32, h: ti.f16):
    n8 = ti.cast(-n, ti.i8)
    u8 = ti.cast(n, ti.u8)
    n16 = ti.cast(-n, ti.i16)
    u16 = ti.cast(n, ti.u16)
    b = ti.cast(n, ti.u1)
    v = ti.Vector([x, 2.0, 3.0])
    v2 = ti.Vector([x, 2.0])
    m = ti.Matrix([[x, 2.0], [3.0, 4.0]])
    w = ti.Vector([n, 2])
"""
ARGUMENTS = (1.5, 7, 0.1, -(2**40), 2**32 - 1, 2**64 - 1, 3e38, 1.25)

TABLE = [
    (
        'print(f"{d:e}|{d:f}|{d:g}|{d:E}|{d:G}|{d:10e}|{d:+f}|{d:.3}|{d:8}|{d:08.3f}")',
        "1.000000000000e-01|0.100000000000|0.1|1.000000000000E-01|0.1|1.000000000000e-01|+0.100000000000|0.100|0.100000000000|0000.100\n",
    ),
    (
        'print(f"{x:e}|{x:f}|{x:g}|{x:E}|{x:G}|{x:10e}|{x:+f}|{x:.3}|{x:8}|{x:08.3f}")',
        "1.500000e+00|1.500000|1.5|1.500000E+00|1.5|1.500000e+00|+1.500000|1.500|1.500000|0001.500\n",
    ),
    ('print(f"{x:5.1f}|{x:-8.3f}|{x:<8}")', "  1.5|1.500   |1.5     \n"),
    ('print(f"{x:F}")', "1.500000\n"),
    ('print(f"{n:d}|{n:i}|{n:5d}|{n:-5d}|{n:05d}|{n:+d}")', "7|7|    7|7    |00007|+7\n"),
    ('print(f"{n:x}")', "7\n"),
    ('print(f"{n:X}")', "7\n"),
    ('print(f"{n:o}")', "7\n"),
    ('print(f"{n:u}")', "7\n"),
    ('print(f"{u:u}|{u:x}|{u:X}|{u:o}")', "4294967295|ffffffff|FFFFFFFF|37777777777\n"),
    ('print(f"{u:d}")', "4294967295\n"),
    ('print(f"{l:d}|{l:i}|{l:5}")', "-1099511627776|-1099511627776|-1099511627776\n"),
    ('print(f"{U:u}|{U:x}")', "18446744073709551615|ffffffffffffffff\n"),
    ('print(f"{U}|{u}|{l}|{n}|{x}|{d}")', "18446744073709551615|4294967295|-1099511627776|7|1.500000|0.100000000000\n"),
    ("print(n8, u8, n16, u16)", "-7 7 -7 7\n"),
    ('print(f"{n8} {u8:5} {n16:05d} {u16:x}")', "-7     7 -0007 7\n"),
    ("print(v, m)", "[1.500000, 2.000000, 3.000000] [[1.500000, 2.000000], [3.000000, 4.000000]]\n"),
    (
        'print(f"{v} {v:.1f} {m:.2e} {v:g}")',
        "[1.500000, 2.000000, 3.000000] [1.5, 2.0, 3.0] [[1.50e+00, 2.00e+00], [3.00e+00, 4.00e+00]] [1.5, 2, 3]\n",
    ),
    ('print(f"{w} {w:3d} {w:x}")', "[7, 2] [  7,   2] [7, 2]\n"),
    ('print("{} and {:.2f}".format(n, x))', "7 and 1.50\n"),
    ('print("{1} {0}".format(n, x))', "1.500000 7\n"),
    ('print("{a} {b:.1f}".format(a=n, b=x))', "7 1.5\n"),
    ('print("{:.2f}".format(v))', "[1.50, 2.00, 3.00]\n"),
    ('print(n, x, sep="")', "71.500000\n"),
    ('print(n, x, sep="-", end="|\\n")', "7-1.500000|\n"),
    ('print(n, x, sep=",", end="")', "7,1.500000"),
    ("print(n > 3, not n, n == 7)", "1 0 1\n"),
    ("print(b, ~b)", "1 0\n"),
    ('print("%", "%d", "%%", "{}", "}{")', "% %d %% {} }{\n"),
    ('print("tab\\tnew\\nline\\\\ \\"quoted\\" \'single\'")', "tab\tnew\nline\\ \"quoted\" 'single'\n"),
    ('print("é ü 漢字 🙂", n)', "é ü 漢字 🙂 7\n"),
    ('print("")', "\n"),
    ("print()", "\n"),
    ("print(G, H, L, 2.5, 10**9, -1)", "7 text [1, 2.500000] 2.500000 1000000000 -1\n"),
    ('print(f"{G:5d}|{H:>5}|{2.5:.3f}|{n}")', "    7| text|2.500|7\n"),
    ('print(f"{G=} {n=} {x = :.2f} {n+1=}")', "G=7 n=7 x = 1.50 n+1=8\n"),
    ('print(f"{n!r} {x!s}")', "7 1.500000\n"),
    ('print(f"{{{n}}} {{}}")', "{7} {}\n"),
    ('print("a" "b" f"{n}" "c")', "ab7c\n"),
    ("print(n + 1, -n, n * x, n / 2, n // 2, n % 3, n ** 2)", "8 -7 10.500000 3.500000 3 1 49\n"),
    ("print(ti.math.inf, -ti.math.inf, ti.math.nan, -0.0)", "inf -inf nan -0.000000\n"),
    ("print(x if n > 3 else d)", "1.500000000000\n"),
    ("print(min(n, 3), max(x, 2.0), abs(-n))", "3 2.000000 7\n"),
    (
        "print(v[0], v.xy, v + 1, v * 2.0, w // 2)",
        "1.500000 [1.500000, 2.000000] [2.500000, 3.000000, 4.000000] [3.000000, 4.000000, 6.000000] [3, 1]\n",
    ),
    (
        "print(m[0, 1], m @ v2, m.transpose(), m.determinant())",
        "2.000000 [6.250000, 12.500000] [[1.500000, 3.000000], [2.000000, 4.000000]] 0.000000\n",
    ),
    ("print([n, n + 1], [x, n], (n, 2))", "[7, 8] [1.500000, 7] [7, 2]\n"),
    ("print(v == v, w > 1)", "[1, 1, 1] [1, 1]\n"),
    ("print(ti.Vector([1, 2]), ti.Matrix([[1.5, 2.5]]))", "[1, 2] [[1.500000, 2.500000]]\n"),
    ("print(ti.Vector([n, x]))", "[7.000000, 1.500000]\n"),
    ("print(ti.cast(x, ti.i32), int(x), float(n), bool(n))", "1 1 7.000000 1\n"),
    ("print(1e20, 1e-20, 123456789.0, 0.1)", "100000002004087734272.000000 0.000000 123456792.000000 0.100000\n"),
    ('print(f"{1e20} {0.1} {d * 3}")', "1e+20 0.1 0.300000000000\n"),
    ("print(16777217.0, ti.cast(16777217, ti.f32))", "16777216.000000 16777216.000000\n"),
    (
        "print(big, -big)",
        "300000000549775575777803994281145270272.000000 -300000000549775575777803994281145270272.000000\n",
    ),
    ('print(f"{big:e} {big:g} {big:.0f}")', "3.000000e+38 3e+38 300000000549775575777803994281145270272\n"),
    ("print(5 if n else 6)", "5\n"),
    ("print(h, h * 2)", "1.250000 2.500000\n"),
    ('print(f"{h:.4f}")', "1.2500\n"),
]


@pytest.mark.parametrize(("statement", "shown"), TABLE, ids=[row[0] for row in TABLE])
def test_print_shows(target, capfd, tmp_path, statement, shown):
    path = tmp_path / "printing.py"
    path.write_text(f"{HEAD}    {statement}\n", encoding="utf-8")
    spec = importlib.util.spec_from_file_location("printing", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    capfd.readouterr()
    module.run(*ARGUMENTS)
    ti.sync()
    assert capfd.readouterr().out == shown
