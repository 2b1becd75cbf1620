"""A real window of `ti.GUI` on a virtual display (Xvfb): what it shows, its events, closing, several windows.

Events come through Tk, as from a person: names and order are those that Taichi 1.7.4 gave on Xvfb for the same keys.
"""

from __future__ import annotations

import mmap
import os
import shutil
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import shadesmith as ti

try:
    import tkinter
except ImportError:
    tkinter = None

pytestmark = pytest.mark.skipif(
    shutil.which("Xvfb") is None or tkinter is None, reason="needs Xvfb and tkinter: apt install xvfb python3-tk"
)
SCREEN = (800, 600)


@pytest.fixture(scope="module")
def display(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Start a display, and return the file that holds its screen."""
    folder = tmp_path_factory.mktemp("screen")
    read, write = os.pipe()
    screen = f"{SCREEN[0]}x{SCREEN[1]}x24"
    command = ["Xvfb", "-displayfd", str(write), "-screen", "0", screen, "-fbdir", str(folder), "-nolisten", "tcp"]
    server = subprocess.Popen(command, pass_fds=[write], stderr=subprocess.DEVNULL)
    os.close(write)
    with os.fdopen(read) as answer:
        number = answer.readline().strip()
    before = os.environ.get("DISPLAY")
    os.environ["DISPLAY"] = f":{number}"
    yield folder / "Xvfb_screen0"
    if before is None:
        del os.environ["DISPLAY"]
    else:
        os.environ["DISPLAY"] = before
    server.terminate()
    server.wait()


def screenshot(path: Path) -> np.ndarray:
    """Return the screen, (height, width, 3); the file is in the format of xwd."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        header = struct.unpack(">25I", data[:100])
        size, width, height, line, colors = header[0], header[4], header[5], header[12], header[19]
        begin = size + 12 * colors
        rows = np.frombuffer(data[begin : begin + line * height], np.uint8).reshape(height, line // 4, 4)
        return rows[:, :width, 2::-1].copy()


@pytest.fixture
def gui(display: Path) -> Iterator[ti.GUI]:
    with ti.GUI("window", (200, 100)) as gui:
        root(gui).geometry("+0+0")
        root(gui).focus_force()
        for _ in range(3):
            gui.show()
        list(gui.get_events())
        yield gui


def root(gui: ti.GUI):
    return gui._window._root


def label(gui: ti.GUI):
    return gui._window._label


def events(gui: ti.GUI) -> list[tuple]:
    return [(event.type.name, event.key, tuple(event.modifier)) for event in gui.get_events()]


def test_it_shows_the_canvas(gui: ti.GUI, display: Path) -> None:
    image = np.random.default_rng(0).random((200, 100, 3), np.float32)
    gui.set_image(image)
    gui.circle((0.5, 0.5), 0xFF0000, 20)
    expected = (gui.get_image()[:, :, :3] * 255).astype(np.uint8).transpose(1, 0, 2)[::-1]
    gui.show()
    root(gui).update()
    x, y = label(gui).winfo_rootx(), label(gui).winfo_rooty()
    deadline = time.monotonic() + 100  # a busy machine's screen may lag
    while not (matches := np.array_equal(screenshot(display)[y : y + 100, x : x + 200], expected)):
        if time.monotonic() > deadline:
            break
        root(gui).update()
    assert matches


KEYS = {
    "<KeyPress-a>": "a", "<KeyPress-space>": " ", "<KeyPress-Return>": "Return", "<KeyPress-Escape>": "Escape",
    "<KeyPress-Tab>": "Tab", "<KeyPress-BackSpace>": "BackSpace", "<KeyPress-Up>": "Up", "<KeyPress-F1>": "F1",
    "<KeyPress-1>": "1", "<KeyPress-comma>": ",", "<KeyPress-slash>": "/", "<KeyPress-minus>": "-",
    "<KeyPress-bracketleft>": "[", "<KeyPress-grave>": "`", "<KeyPress-Shift_L>": "Shift_L",
    "<KeyPress-Control_R>": "Control_R", "<KeyPress-Alt_L>": "Alt_L", "<KeyPress-Caps_Lock>": "Caps_Lock",
    "<KeyPress-KP_Enter>": "KP_Enter", "<KeyPress-KP_End>": "KP_End", "<KeyPress-Delete>": "Delete",
}  # fmt: skip


@pytest.mark.parametrize("pressed", KEYS)
def test_keys_bear_taichis_names(gui: ti.GUI, pressed: str) -> None:
    root(gui).event_generate(pressed)
    gui.show()
    assert gui.is_pressed(KEYS[pressed])
    root(gui).event_generate(pressed.replace("Press", "Release"))
    assert [event[:2] for event in events(gui)] == [("Press", KEYS[pressed]), ("Release", KEYS[pressed])]
    assert gui.key_pressed == set()


def test_shifted_keys_are_the_keys_themselves(gui: ti.GUI) -> None:
    for key in ("Shift_L", "A", "exclam", "plus"):
        root(gui).event_generate(f"<KeyPress-{key}>")
    gui.show()
    assert gui.is_pressed(ti.GUI.SHIFT) and gui.is_pressed("a") and gui.is_pressed("x", "1") and not gui.is_pressed("A")
    for key in ("Shift_L", "a", "1", "equal"):
        root(gui).event_generate(f"<KeyRelease-{key}>")
    shift = ("Shift",)
    assert events(gui) == [
        ("Press", "Shift_L", ()), ("Press", "a", shift), ("Press", "1", shift), ("Press", "=", shift),
        ("Release", "Shift_L", shift), ("Release", "a", ()), ("Release", "1", ()), ("Release", "=", ()),
    ]  # fmt: skip
    assert gui.key_pressed == set()


def test_the_mouse(gui: ti.GUI) -> None:
    label(gui).event_generate("<Motion>", x=50, y=25)
    label(gui).event_generate("<ButtonPress-1>", x=100, y=49)
    gui.show()
    assert gui.is_pressed(ti.GUI.LMB) and gui.get_cursor_pos() == (0.5, 0.5)
    label(gui).event_generate("<ButtonRelease-1>", x=199, y=99)
    label(gui).event_generate("<ButtonPress-3>", x=0, y=0)
    label(gui).event_generate("<ButtonRelease-3>", x=0, y=0)
    found = [(event.type.name, event.key, event.pos) for event in gui.get_events()]
    assert found == [
        ("Move", "Motion", (0.25, 0.74)), ("Press", "LMB", (0.5, 0.5)), ("Release", "LMB", (0.995, 0)),
        ("Press", "RMB", (0, 0.99)), ("Release", "RMB", (0, 0.99)),
    ]  # fmt: skip
    assert gui.get_cursor_pos() == (0, 0.99) and gui.key_pressed == set()


def test_the_wheel(gui: ti.GUI) -> None:
    if root(gui).tk.call("info", "patchlevel").split(".")[0] != "8":
        pytest.skip("Tk 9 gives the wheel otherwise")
    for number in (4, 5):
        label(gui).event_generate(f"<ButtonPress-{number}>", x=100, y=49)
        label(gui).event_generate(f"<ButtonRelease-{number}>", x=100, y=49)
    found = [(event.type.name, event.key, event.delta.y) for event in gui.get_events()]
    assert found == [("Move", "Wheel", 120), ("Move", "Wheel", -120)]


def test_the_close_button(gui: ti.GUI) -> None:
    root(gui).tk.call(*root(gui).protocol("WM_DELETE_WINDOW").split())
    assert not gui.running and gui.get_event(ti.GUI.EXIT) and gui.event.type == ti.GUI.PRESS
    for _ in range(5):
        gui.show()
    with pytest.raises(RuntimeError, match="Window close button clicked, exiting... \\(use `while gui.running`"):
        gui.show()


def test_closing_by_the_program(display: Path) -> None:
    gui = ti.GUI("closing", 50)
    gui.close()
    gui.close()
    assert not gui.running and not gui.has_key_event()


def test_two_windows_have_their_own_canvases_and_events(gui: ti.GUI) -> None:
    with ti.GUI("other", (50, 40)) as other:
        other.clear(0xFF)
        other.show()
        gui.show()
        for one, key in ((other, "b"), (gui, "a")):
            root(one).focus_force()
            one.show()
            root(one).event_generate(f"<KeyPress-{key}>")
            assert [event.key for event in one.get_events(ti.GUI.PRESS)] == [key]
        assert not list(other.get_events(ti.GUI.PRESS))
    assert gui.running and not other.running


def test_widgets_in_a_window(gui: ti.GUI) -> None:
    slider, text, button = gui.slider("Speed", 1, 10, step=2), gui.label("Count"), gui.button("Push", "pushed")
    slider.value, text.value = 5, 3.25
    gui.show()
    children = root(gui).winfo_children()
    scale = next(child for child in children if child.winfo_class() == "Scale")
    assert scale.get() == 5 and any(
        "Count: 3.25" in str(c.cget("text")) for c in children if c.winfo_class() == "Label"
    )
    scale.set(9)
    next(child for child in children if child.winfo_class() == "Button").invoke()
    gui.show()
    assert slider.value == 9 and gui.get_event((ti.GUI.PRESS, button)) and gui.event.key == "pushed"


def test_frames_come_at_the_pace_asked_for(gui: ti.GUI) -> None:
    gui.fps_limit = 50
    gui.show()
    start = time.perf_counter()
    for _ in range(10):
        gui.show()
    assert time.perf_counter() - start >= 0.19


def test_the_whole_screen(display: Path) -> None:
    with ti.GUI("full", (100, 50), fullscreen=True) as gui:
        gui.clear(0xFF0000)
        gui.show()
        assert str(root(gui).attributes("-fullscreen")) == "1" and label(gui).winfo_width() == 100


def test_a_picture_is_shown_until_escape(display: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []

    def show(window, pixels, seconds, plain=type(ti.GUI("for its class", 2)._window).show):
        shown.append(pixels.copy())
        window._root.focus_force()
        if len(shown) >= 3:
            window._root.event_generate("<KeyPress-Escape>")
        if len(shown) >= 50:
            window.close()
        return plain(window, pixels, 0)

    monkeypatch.setattr("shadesmith.runtime.gui.window.Window.show", show)
    ti.tools.imshow(np.linspace(0, 1, 60, dtype=np.float32).reshape(10, 6), "picture")
    assert (
        3 <= len(shown) < 50 and shown[0].shape == (6, 10, 3) and shown[0][-1, 0, 0] == 0 and shown[0][0, -1, 0] == 255
    )


def test_the_canvas_of_ui_in_a_window(display: Path) -> None:
    window = ti.ui.Window("ui", (60, 40))
    window.get_canvas().circles(np.array([[0.5, 0.5]]), radius=0.2)
    window.show()
    top = window._gui._window._root
    top.focus_force()
    top.event_generate("<KeyPress-Shift_R>")
    top.event_generate("<KeyPress-Caps_Lock>")
    window.show()
    assert window.is_pressed(ti.ui.SHIFT, "x") and window.is_pressed(ti.ui.CAPSLOCK)
    assert [event.key for event in window.get_events(ti.ui.PRESS)] == [ti.ui.SHIFT, ti.ui.CAPSLOCK]
    assert not window.get_event() and window.running
    window.destroy()
    assert not window.running


def test_without_tkinter_frames_go_to_files(
    display: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "tkinter", None)
    monkeypatch.setenv("SHADESMITH_GUI_DIR", str(tmp_path))
    gui = ti.GUI("none", 8)
    gui.show()
    assert len(list(tmp_path.iterdir())) == 1
    assert "tkinter is not installed" in caplog.text and "Hint: `apt install python3-tk`" in caplog.text


def test_a_display_that_is_not_there(
    display: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("DISPLAY", ":987")
    monkeypatch.setenv("SHADESMITH_GUI_DIR", str(tmp_path))
    gui = ti.GUI("none", 8)
    gui.show()
    assert len(list(tmp_path.iterdir())) == 1 and ":987" in caplog.text
