"""A headless Chromium, asked over its pipe (DevTools protocol): no driver, no port, no package."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
    "--remote-debugging-pipe", "--force-color-profile=srgb",
)  # fmt: skip


def find() -> str | None:
    """Return the path of a Chromium, or None; SHADESMITH_CHROMIUM names another."""
    named = os.environ.get("SHADESMITH_CHROMIUM")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One browser with one page. requests: the addresses of all it asked for. messages: console output and errors."""

    def __init__(self, width: int = 1500, height: int = 950) -> None:
        self.profile = tempfile.mkdtemp(prefix="shadesmith-chromium-")
        self.requests: list[str] = []
        self.messages: list[str] = []
        self.count = 0
        self.buffer = b""
        parent_in, its_out = os.pipe()
        its_in, parent_out = os.pipe()
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (its_in, its_out)]  # 3 and 4 are free for its ends then

        def take_places() -> None:
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        command = [find(), *FLAGS, f"--user-data-dir={self.profile}", f"--window-size={width},{height}", "about:blank"]
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=take_places, pass_fds=(3, 4),
        )  # fmt: skip
        for fd in (its_in, its_out, *high):
            os.close(fd)
        self.input, self.output = parent_in, parent_out
        self.session = ""
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def close(self) -> None:
        os.close(self.output)
        os.close(self.input)
        self.process.terminate()
        self.process.wait(20)
        shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send one command and return its result."""
        self.count += 1
        message: dict[str, Any] = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.output, data) :]
        while True:
            answer = self._read()
            if answer.get("id") == self.count:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]

    def open(self, page: Path, fragment: str = "") -> None:
        """Load a file and wait until it is there."""
        self._navigate("about:blank")  # so that an address with another fragment loads anew
        self.requests.clear()
        self.messages.clear()
        self._navigate(page.resolve().as_uri() + fragment)

    def _navigate(self, address: str) -> None:
        self.loaded = False
        self.call("Page.navigate", url=address)
        while not self.loaded:
            self._read()

    def run(self, expression: str) -> Any:
        """Return the value of a JavaScript expression, awaited if it is a promise."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def mouse(self, selector: str, kind: str = "mouseMoved") -> None:
        """Move the mouse over the first element that matches, or click there by kind="click"."""
        x, y = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'nearest'}});"
            " const b = e.getBoundingClientRect(); return [b.left + Math.min(90, b.width / 2), b.top + b.height / 2]; })()"
        )
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        if kind == "click":
            for name in ("mousePressed", "mouseReleased"):
                self.call("Input.dispatchMouseEvent", type=name, x=x, y=y, button="left", clickCount=1)
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def press(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self.buffer:
            part = os.read(self.input, 1 << 16)
            assert part, "Chromium ended"
            self.buffer += part
        text, _, self.buffer = self.buffer.partition(b"\0")
        answer: dict[str, Any] = json.loads(text)
        self._note(answer)
        return answer

    def _note(self, answer: dict[str, Any]) -> None:
        parameters = answer.get("params", {})
        match answer.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(parameters["request"]["url"])
            case "Page.loadEventFired":
                self.loaded = True
            case "Runtime.exceptionThrown":
                self.messages.append(str(parameters["exceptionDetails"].get("exception", {}).get("description")))
            case "Log.entryAdded":
                self.messages.append(parameters["entry"]["text"])
            case "Runtime.consoleAPICalled":
                self.messages.append(str(parameters["args"]))
