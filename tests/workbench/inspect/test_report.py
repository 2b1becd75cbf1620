"""The report page: what stands in it, that it is safe and small, and how it behaves in a browser."""

from __future__ import annotations

import html
import linecache
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import Browser, find

import shadesmith as ti
from shadesmith.runtime.commands.command_line import main
from shadesmith.runtime.workbench.inspect.report import (
    KernelReport,
    Page,
    Pane,
    Text,
    anchors,
    counting_runs,
    equal_runs,
    render,
    visible,
)
from shadesmith.runtime.workbench.inspect.report_content import describe_kernel

ROOT = Path(ti.__file__).resolve().parent
EXAMPLES = ("heat3d", "julia", "mpm88", "nbody", "pi")
MAX_BYTES = 2_000_000


@pytest.fixture(autouse=True)
def _reset() -> Iterator[None]:
    yield
    ti.reset()


def report(tmp_path: Path, program: str | Path, *words: str) -> str:
    page = tmp_path / "page.html"
    assert main(["report", str(program), "-o", str(page), *words]) == 0
    return page.read_text(encoding="utf-8")


def texts_of(page: str) -> list[str]:
    return [html.unescape(text) for text in re.findall(r"<pre[^>]*>\n(.*?)</pre>", page, re.S)]


@ti.func
def squared(x):
    return x * x


@ti.kernel
def smooth(x: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 1)):
    for i in x:
        if i % 2 == 1:
            y[i] = squared(x[i - 1]) + x[i]


def page_of(*kernels: KernelReport) -> Page:
    return Page("kernels.py", "a page", kernels)


# --- what stands in it


def test_holds_every_form_as_it_is() -> None:
    texts = texts_of(render(page_of(describe_kernel(smooth, (), "smooth"))))
    for arch in (ti.vulkan, ti.cuda, ti.cpu):
        assert smooth.source(arch=arch).rstrip("\n") in texts
    assert smooth.ir("final").rstrip("\n") in texts and smooth.ir("frontend").rstrip("\n") in texts
    assert texts[0].startswith("@ti.kernel\ndef smooth(") and "def squared(x):\n    return x * x" in texts[0]


def test_every_line_of_a_body_has_its_line_of_python() -> None:
    described = describe_kernel(smooth, (), "smooth")
    panes = {pane.key: pane.content for pane in described.panes}
    python = panes["python"].text.split("\n")
    for key in ("ir", "glsl", "cuda", "c"):
        lines = panes[key].text.split("\n")
        assert len(panes[key].rows) == len(lines)
        came_from = {python[row - 1].strip() for row in panes[key].rows if row}
        assert {"for i in x:", "if i % 2 == 1:"} <= came_from, key
        assert any("squared(x[i - 1])" in line for line in came_from), key
        assert panes[key].rows[0] == 0
        if key == "ir":
            assert "return x * x" in came_from


def test_passes_that_changed_nothing_are_left_out() -> None:
    (history,) = describe_kernel(smooth, (), "smooth").histories
    changing = history.stages[2:]
    assert changing
    for stage in changing:
        assert stage.is_changes and re.search(r"^[+-]", stage.text, re.M), stage.title
        assert re.fullmatch(r"\d\d \w+", stage.title) and re.fullmatch(r"\+\d+ −\d+", stage.subtitle)


def test_a_target_that_refuses_says_why_in_its_pane() -> None:
    @ti.real_func
    def down(n: ti.i32) -> ti.i32:
        result = 0
        if n > 0:
            result = down(n - 1) + 1
        return result

    @ti.kernel
    def depth(n: ti.i32) -> ti.i32:
        return down(n)

    panes = {pane.key: pane for pane in describe_kernel(depth, (), "depth").panes}
    assert panes["glsl"].content is None and "recurs" in panes["glsl"].note.lower()
    assert panes["cuda"].content is not None


@pytest.mark.exhaustive
def test_equal_programs_give_equal_bytes(tmp_path: Path) -> None:
    pages = []
    for seed in ("1", "2"):
        folder = tmp_path / seed
        folder.mkdir()
        program = folder / "nbody.py"
        program.write_text((ROOT / "examples" / "nbody.py").read_text())
        command = [sys.executable, "-m", "shadesmith", "report", str(program), "-o", str(folder / "page.html")]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run(command, env=environment, check=True, capture_output=True, timeout=300)
        pages.append((folder / "page.html").read_bytes())
    assert pages[0] == pages[1]
    assert str(tmp_path).encode() not in pages[0]


@pytest.mark.exhaustive
def test_examples_are_small_and_load_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And so are twenty kernels in one page, at the size of these seven, without checks."""
    monkeypatch.delenv("SHADESMITH_DEBUG", raising=False)
    texts = [report(tmp_path, ROOT / "examples" / f"{name}.py") for name in EXAMPLES]
    assert max(len(text.encode()) for text in texts) < MAX_BYTES
    articles = [article for text in texts for article in re.findall(r"<article.*?</article>", text, re.S)]
    assert len(articles) == 7 and sum(len(article.encode()) for article in articles) / 7 * 20 < MAX_BYTES
    for text in texts:
        assert not re.search(r"<(?:link|img|iframe|object|embed)\b|\ssrc=|@import|url\(", text)
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
        assert policy and policy[1].startswith("default-src 'none'; style-src 'sha256-")


def test_kernels_without_arguments_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "two.py"
    program.write_text(
        "import shadesmith as ti\n\n@ti.kernel\ndef one(n: ti.i32) -> ti.i32:\n    return n\n\n"
        "@ti.kernel\ndef other(x: ti.template()):\n    for i in x:\n        x[i] = 0\n"
    )
    text = report(tmp_path, program)
    assert "1 kernel as GLSL, CUDA and C" in text and "<dt>other</dt>" in text
    assert "shadesmith report two.py:other --args" in capsys.readouterr().err


def test_edits_are_shown_with_their_variants(tmp_path: Path) -> None:
    program = tmp_path / "half.py"
    program.write_text(
        "import shadesmith as ti\n\n@ti.kernel\ndef half(x: ti.types.ndarray(ti.f32, 1)):\n    for i in x:\n        x[i] *= 0.5\n"
    )
    assert "No hand edits" in report(tmp_path, program)
    runpy.run_path(str(program))["half"].edit(arch=ti.cpu)
    assert "No hand edits" in report(tmp_path, program), "a copy that nobody touched is no edit"
    (path,) = tmp_path.glob("edits/*/*/half.c")
    text = path.read_text()
    path.write_text(text.replace("0.5f", "0.25f"))
    path.with_name("half@plain.c").write_text(text + "// mine\n")
    page = report(tmp_path, program)
    assert "No hand edits" not in page and str(tmp_path) not in page
    edit, variant = texts_of(page[page.index('<section class="edits">') : page.index('<section class="passes"')])
    assert re.search(r"^-.*0\.5f", edit, re.M) and re.search(r"^\+.*0\.25f", edit, re.M)
    assert variant.endswith("+// mine") and "half@plain.c" in page and "edits/half.half/" in page


def test_times_are_measured_on_request_only(tmp_path: Path) -> None:
    program = tmp_path / "twice.py"
    program.write_text(
        "import shadesmith as ti\n\nti.init(arch=ti.cpu)\n\n@ti.kernel\ndef twice(x: ti.template()):\n    for i in x:\n"
        "        x[i] *= 2.0\n\nx = ti.field(ti.f32, 1000)\nx.fill(1)\ntwice(x)\n"
    )
    assert "Nothing was measured yet" in report(tmp_path, program)
    page = report(tmp_path, program, "--bench")
    assert re.search(r"<td>generated</td><td>[\d.]+ [nu]s</td>", page) and "Times of the compiler" in page


def test_edits_made_before_the_file_changed_find_their_lines(tmp_path: Path) -> None:
    program = tmp_path / "half.py"
    text = "import shadesmith as ti\n\n@ti.kernel\ndef half(x: ti.types.ndarray(ti.f32, 1)):\n    for i in x:\n        x[i] *= 0.5\n"
    program.write_text(text)
    kernel = runpy.run_path(str(program))["half"]
    path = kernel.edit(arch=ti.cpu)
    path.write_text(path.read_text().replace("0.5f", "0.25f"))
    program.write_text("# one\n# two\n# three\n" + text)
    linecache.checkcache()
    described = describe_kernel(runpy.run_path(str(program))["half"], (), "half")
    (edit,) = described.edits
    row = next(row for row, line in zip(edit.rows, edit.text.split("\n")) if "0.25f" in line)
    assert described.panes[0].content.text.split("\n")[row - 1] == "        x[i] *= 0.5"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--gpu", "fast"], "`--gpu fast` is not an architecture of NVIDIA"),
        (["--arch", "cudda"], "did you mean `cuda`?"),
        (["-o", "."], ". is a folder"),
        (["-o", "nowhere/page.html"], "nowhere/page.html: No such file or directory"),
    ],
)
def test_mistakes_are_said_in_a_line(capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    assert main(["report", str(ROOT / "examples" / "pi.py"), *words]) == 2
    assert said in capsys.readouterr().err


# --- hostile texts

HOSTILE = "</pre></script><script>alert(1)</script><img src=x onerror=alert(1)>&amp;\"' \r\x00\u202e{{ 1 }}\ud800"


def hostile_page() -> str:
    text = Text(HOSTILE, "python", f"# {HOSTILE}\n\n\n", (1, 2, 0, 0), (1, 2, 3, 4), HOSTILE)
    change = Text(HOSTILE, "ir", f"+{HOSTILE}", (1,), subtitle=HOSTILE, is_changes=True)
    panes = (Pane("python", HOSTILE, text), Pane("glsl", HOSTILE, None, HOSTILE))
    kernel = KernelReport(HOSTILE, HOSTILE, HOSTILE, panes, edits=(change,))
    return render(Page(HOSTILE, HOSTILE, (kernel, kernel), ((HOSTILE, HOSTILE),)))


def test_hostile_texts_stay_texts() -> None:
    page = hostile_page()
    assert page.count("<script>") == page.count("</script>") == 1 and "<img" not in page
    assert "\r" not in page and "\x00" not in page and "\u202e" not in page
    assert "<U+202E>" in html.unescape(page) and "␍␀" in page and "{{ 1 }}" in page
    page.encode()


def test_signs_in_place_of_what_is_not_visible() -> None:
    assert visible("a\tb\nc") == "a\tb\nc"
    assert visible("\x1b[31m\x7f\u200b") == "␛[31m␡<U+200B>"
    assert visible("θ − 平方") == "θ − 平方"


def test_runs() -> None:
    assert equal_runs([0, 0, 5, 6, 6]) == "0*2 5 6*2"
    assert counting_runs([7, 8, 9, 0, 0, 3]) == "7+3 0 0 3"
    assert equal_runs([]) == counting_runs([]) == ""
    assert anchors(["a", "θ", "a", "A.b"]) == ["a", "_", "a-3", "A.b"]


# --- in a browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if find() is None:
        pytest.skip("no Chromium: apt-get install chromium, or name one by SHADESMITH_CHROMIUM")
    opened = Browser()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def julia(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("julia")
    report(folder, ROOT / "examples" / "julia.py")
    return folder / "page.html"


LIT = """[...document.querySelectorAll('.pane')].map(pane =>
    [pane.dataset.pane, [...pane.querySelectorAll('.lit')].map(line => line.textContent.trim())])"""


def lit(browser: Browser) -> dict[str, list[str]]:
    return dict(browser.run(LIT))


def test_hovering_a_python_line_lights_its_lines_in_every_pane(browser: Browser, julia: Path) -> None:
    browser.open(julia, "#paint;python,ir,glsl,cuda,c,spirv,ptx,sass")
    assert lit(browser)["python"] == []
    browser.mouse('.pane[data-pane="python"] .line[data-row="6"]')
    found = lit(browser)
    assert found["python"] == ["iterations = 0"]
    for pane in ("glsl", "cuda"):
        assert re.fullmatch(r"int iterations = 0;  // :\d+", found[pane][0])
    assert "iterations = 0" in found["c"][0]  # in C neighbouring pixels run together, each with its own
    assert any("const 0" in line for line in found["ir"])
    browser.mouse('.pane[data-pane="python"] .line[data-row="8"]')
    found = lit(browser)
    assert any("OpCompositeConstruct" in line for line in found["spirv"])
    assert any(line.startswith("fma") for line in found["ptx"]) and any("FFMA" in line for line in found["sass"])
    assert browser.messages == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("pane", ["ir", "glsl", "cuda", "c", "spirv", "ptx", "sass"])
def test_hovering_any_line_lights_its_python(browser: Browser, julia: Path, pane: str) -> None:
    browser.open(julia, f"#paint;python,{pane}")
    browser.mouse(f'.pane[data-pane="{pane}"] .line[data-row="8"]')
    found = lit(browser)
    assert len(found["python"]) == 1 and found["python"][0].startswith("z = ti.Vector([z[0] ** 2")
    assert found["glsl"] and found["cuda"] and found["c"] and found["ir"]


def test_functions_are_linked_with_the_lines_that_call_them(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(render(page_of(describe_kernel(smooth, (), "smooth"))), encoding="utf-8")
    browser.open(page, "#smooth;python,ir,cuda")
    row = "[...document.querySelectorAll('.pane[data-pane=\"python\"] .line')].find(l => l.textContent.includes('{}')).dataset.row"
    call, inner = browser.run(row.format("squared(x[i - 1])")), browser.run(row.format("return x * x"))
    browser.mouse(f'.pane[data-pane="python"] .line[data-row="{call}"]')
    assert {"return x * x", "y[i] = squared(x[i - 1]) + x[i]"} <= set(lit(browser)["python"])
    assert any("= mul " in line for line in lit(browser)["ir"])
    browser.mouse(f'.pane[data-pane="python"] .line[data-row="{inner}"]')
    found = lit(browser)
    assert found["python"] == ["return x * x"] and [line for line in found["ir"] if "= mul " in line] == found["ir"]
    assert any("x(i - 1) * x(i - 1)" in line for line in found["cuda"]), "it went into the line of its caller"


def test_no_request_leaves(browser: Browser, julia: Path) -> None:
    browser.open(julia)
    browser.mouse('.pane[data-pane="python"] .line[data-row="3"]', "click")
    assert browser.requests == [julia.as_uri()]
    blocked = "fetch('data:text/plain,x').then(() => 'loaded', () => 'blocked')"
    assert browser.run(blocked) == "blocked"


def test_a_click_holds_and_escape_lets_go(browser: Browser, julia: Path) -> None:
    browser.open(julia)
    browser.mouse('.pane[data-pane="python"] .line[data-row="6"]', "click")
    browser.mouse("h1")
    assert lit(browser)["python"] == ["iterations = 0"]
    assert browser.run("location.hash").endswith(";6")
    browser.run("document.querySelector('.pane pre').focus()")
    browser.press("ArrowDown")
    assert lit(browser)["python"] == ["while z.norm() < 20 and iterations < 50:"]
    browser.press("Escape")
    assert lit(browser)["python"] == []


def test_panes_can_be_chosen_and_the_address_keeps_them(browser: Browser, julia: Path) -> None:
    shown = "[...document.querySelectorAll('.pane')].filter(p => p.offsetWidth).map(p => p.dataset.pane)"
    browser.open(julia, "#paint;python,c")
    assert browser.run(shown) == ["python", "c"]
    browser.mouse('.bar button[data-pane="glsl"]', "click")
    assert browser.run(shown) == ["python", "glsl", "c"]
    fragment = browser.run("location.hash")
    browser.open(julia, fragment)
    assert browser.run(shown) == ["python", "glsl", "c"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("fragment", ["#%E0%A4%A", "#nothing;none;x", "#paint;;999", "#;;;", "#paint;python,python"])
def test_addresses_that_name_nothing_show_the_first_kernel(browser: Browser, julia: Path, fragment: str) -> None:
    browser.open(julia, fragment)
    assert browser.run("[...document.querySelectorAll('article')].filter(a => a.offsetHeight).map(a => a.id)") == [
        "paint"
    ]
    assert browser.messages == []


def test_every_form_of_the_ir_can_be_shown_whole(browser: Browser, tmp_path: Path) -> None:
    """The page holds only what each pass changed; the script makes the forms from that."""
    page = tmp_path / "page.html"
    page.write_text(render(page_of(describe_kernel(smooth, (), "smooth"))), encoding="utf-8")
    browser.open(page, "#smooth;python,ir")
    inspection = smooth.inspect(arch=ti.vulkan)
    shown = browser.run(
        """(() => { const select = document.querySelector('.pane[data-pane="ir"] select'), found = {};
        [...select.options].forEach((option, i) => { select.value = i; select.onchange();
            found[option.textContent] = document.querySelector('.pane[data-pane="ir"] pre').textContent; });
        return found; })()"""
    )
    assert shown.pop("final") == inspection.ir("final")
    assert shown.pop("frontend") == inspection.ir("frontend")
    for title, text in shown.items():
        assert text == inspection.ir(f"pass:{title.replace(' ', ':')}"), title
    assert len(shown) > 3


def test_lines_keep_their_texts(browser: Browser, julia: Path) -> None:
    before = texts_of(julia.read_text(encoding="utf-8"))
    browser.open(julia)
    after = browser.run("[...document.querySelectorAll('.pane pre')].map(pre => pre.textContent)")
    assert len(after) >= 5
    panes = before[: len(after)]  # behind them, those of the stages
    for text, shown in zip(panes, after, strict=True):  # listings are set in columns
        assert [line.split() for line in shown.rstrip("\n").split("\n")] == [line.split() for line in text.split("\n")]
    assert after[:5] == [f"{text}\n" for text in before[:5]]


def test_both_themes(browser: Browser, julia: Path) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    browser.open(julia)
    light = browser.run(background)
    browser.mouse(".theme", "click")
    assert browser.run(background) != light
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    browser.open(julia)
    assert browser.run(background) != light
    browser.call("Emulation.setEmulatedMedia", features=[])


def test_without_javascript_all_texts_can_be_read(browser: Browser, julia: Path) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(julia)
        found = browser.call("DOMSnapshot.captureSnapshot", computedStyles=["display"])
        laid_out = set(found["documents"][0]["layout"]["nodeIndex"])
        names = [found["strings"][index] for index in found["documents"][0]["nodes"]["nodeName"]]
        pres = [index for index, name in enumerate(names) if name == "PRE"]
        assert len(pres) >= 8 and set(pres) <= laid_out
        assert "BUTTON" not in names
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


def test_hostile_texts_do_nothing_in_a_browser(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "hostile.html"
    page.write_text(hostile_page(), encoding="utf-8")
    browser.open(page)
    assert browser.messages == [] and browser.requests == [page.as_uri()]
    assert browser.run("document.querySelectorAll('img').length") == 0
    assert browser.run("document.querySelectorAll('.pane .line').length") == 4
    blocked = "(() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s); return window.ran || 0; })()"
    assert browser.run(blocked) == 0


def test_several_kernels_are_shown_one_at_a_time(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        render(page_of(*(describe_kernel(smooth, (), name) for name in ("kick", "drift")))), encoding="utf-8"
    )
    browser.open(page)
    shown = "[...document.querySelectorAll('article')].filter(a => a.offsetHeight).map(a => a.id)"
    assert browser.run(shown) == ["kick"]
    browser.mouse("nav a:nth-child(2)", "click")
    assert browser.run(shown) == ["drift"]
    assert browser.messages == []
