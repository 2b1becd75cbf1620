"""The playground: its stand-in for NumPy changes no source, and its page shows three programs without the network."""

from __future__ import annotations

import functools
import http.server
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chromium
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES, SITE = ROOT / ".ci" / "playground", ROOT / "build" / "site" / "playground"
PROGRAM = """import shadesmith as ti

dt = 1e-3
x, v = ti.Vector.field(2, ti.f32, 100), ti.Vector.field(2, ti.f64, 100)

@ti.func
def pull(p):
    return -p / (p.norm() + 0.1) ** 1.5

@ti.kernel
def step(n: ti.i32) -> ti.f32:
    s = 0.0
    for i in x:
        v[i] += dt * pull(x[i]) * 0.1
        x[i] += ti.cast(v[i] * 2 * ti.math.pi, ti.f32)
        for k in ti.static(range(3)):
            s += x[i].x * (0.3 ** k) // 3 + ti.i8(100 + k) + (7 << k) % 5
    return s + ti.f16(0.1) + n * 1e-30
"""
BODIES = """import math
import shadesmith as ti

Body = ti.types.struct(p=ti.math.vec3, v=ti.math.vec3, mass=ti.f32)
bodies = Body.field(shape=64)

@ti.real_func
def pull(d: ti.math.vec3) -> ti.math.vec3:
    return d / (d.dot(d) + 1e-3) ** 1.5

@ti.kernel
def forces(dt: ti.f32):
    for i in bodies:
        for j in range(64):
            bodies[i].v += pull(bodies[j].p - bodies[i].p) * bodies[j].mass * dt
    for i in bodies:
        bodies[i].p += bodies[i].v * dt * math.tau
"""
COUNTS = """import taichi as ti
import numpy as np

image = ti.types.ndarray(ti.u8, 2)
WEIGHTS = np.array([0.25, 0.5, 0.25])

@ti.kernel
def histogram(picture: image, counts: ti.types.ndarray(ti.i32, 1), ranges: ti.template()) -> ti.f64:
    total = ti.f64(0)
    for i, j in ti.ndrange((1, picture.shape[0] - 1), picture.shape[1]):
        blurred = 0.0
        for k in ti.static(range(3)):
            blurred += picture[i + k - 1, j] * WEIGHTS[k]
        counts[ti.min(ti.i32(blurred) // ranges, 15)] += 1
        total += blurred
    return total

histogram(ti.ndarray(ti.u8, (8, 8)), ti.ndarray(ti.i32, 16), 16)
"""
SOURCES = """
import json, sys
sys.path.insert(0, sys.argv[1])
import shadesmith as ti
import numpy
ti.init(arch=ti.python, log_level="error", offline_cache=False)
namespace = {"__name__": "program"}
exec(compile(open(sys.argv[2]).read(), sys.argv[2], "exec"), namespace)
sources = [namespace["step"].source(arch=arch) for arch in ("vulkan", "cuda", "cpu")]
print(json.dumps([numpy.__file__, *sources]))
"""


@pytest.mark.exhaustive
@pytest.mark.one_target
def test_the_stand_in_of_numpy_changes_no_source(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "shadesmith").symlink_to(ROOT)
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "packages"), "PYTHONDONTWRITEBYTECODE": "1"}
    found = []
    for folder in (PAGES, tmp_path):
        command = [sys.executable, "-W", "ignore", "-c", SOURCES, str(folder), str(program)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout))
    assert str(PAGES) in found[0][0] and str(PAGES) not in found[1][0]
    assert found[0][1:] == found[1][1:]


class Server(http.server.SimpleHTTPRequestHandler):
    """Serves the site, and says nothing."""

    extensions_map = http.server.SimpleHTTPRequestHandler.extensions_map | {".mjs": "text/javascript"}

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def page() -> Iterator[chromium.Browser]:
    if not chromium.find() or not (SITE / "compiler.zip").exists():
        pytest.skip("needs Chromium, and `make docs` with npm")
    handler = functools.partial(Server, directory=str(SITE.parent))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    browser = chromium.Browser()
    browser._navigate(f"http://127.0.0.1:{server.server_port}/playground/index.html")
    yield browser
    browser.close()
    server.shutdown()


def shown_after(page: chromium.Browser, action: str) -> tuple[str, str]:
    """Do something that compiles; return the page of kernels and what is said below it."""
    page.run(f"document.getElementById('state').textContent = ''; {action}")
    end = time.monotonic() + 240
    while not page.run("document.getElementById('state').textContent").startswith("compiled"):
        assert time.monotonic() < end, page.messages
        time.sleep(0.2)
    return page.run("document.getElementById('page').srcdoc"), page.run("document.getElementById('said').textContent")


@pytest.mark.exhaustive
@pytest.mark.one_target
def test_three_programs_are_shown_without_the_network(page: chromium.Browser) -> None:
    typed = "p => { const t = document.getElementById('program'); t.value = p; t.dispatchEvent(new Event('input')); }"
    shown, said = shown_after(page, "")
    assert all(part in shown for part in ("jacobi.comp", "jacobi.cu", "jacobi.c", "Passes")) and said == ""
    for name, part in (("Advection of fields", "bilerp"), ("Bodies and a sum", "energy")):
        select = f"const e = document.getElementById('example'); e.value = {json.dumps(name)};"
        shown, said = shown_after(page, f"(() => {{ {select} e.dispatchEvent(new Event('change')); }})()")
        assert part in shown and said == ""
    shown, said = shown_after(page, f"({typed})({json.dumps(PROGRAM)})")
    assert "step.cu" in shown
    for program, file in ((BODIES, "forces"), (COUNTS, "histogram.c")):
        shown, said = shown_after(page, f"({typed})({json.dumps(program)})")
        assert file in shown and said == "", said
    _, said = shown_after(page, f"({typed})({json.dumps(COUNTS.rpartition(chr(10) * 2)[0])})")
    assert "Missing argument `ranges`" in said and "A call of the kernel" in said
    _, said = shown_after(page, f"({typed})({json.dumps(PROGRAM.replace('pull(x[i])', 'missing'))})")
    assert 'Name "missing" is not defined' in said
    assert page.run("document.querySelector('#numbers .wrong').textContent").strip() == "14"
    assert [url for url in page.requests if "//127.0.0.1:" not in url and not url.startswith(("data:", "about:"))] == []
