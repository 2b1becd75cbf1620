"""Worker processes by target: started once, restarted when a program ends or hangs them."""

from __future__ import annotations

import itertools
import os
import pickle
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from .other_forms import unfolded

HERE = Path(__file__).parent
PACKAGE = HERE.parents[1]
"""The folder that is the package shadesmith."""
TAICHI = os.environ.get("FUZZ_TAICHI", "/work/taichi/bin/python")
"""A Python that has Taichi 1.7.4."""
SECONDS_TO_START = 120.0
FLOOR = "import shadesmith as ti"
ENDLESS_COMPILATION = "NVRTC has not compiled"
"""A part of the message."""
OUT_OF_TIME = "out of time", "the run has ended"
"""The result of what had not ended when the run did; no failure."""
NUMBERS = itertools.count()
"""Of files: several threads have workers for one target."""


class Worker:
    """A process for one target. run() gives (kind, result): ok, error, died, hung, or `OUT_OF_TIME`.

    seconds: limit of a program. end: of the run, by `time.monotonic()`.
    """

    def __init__(self, target: str, folder: Path, seconds: float = 60.0, end: float = float("inf")) -> None:
        self.target, self.folder, self.seconds, self.end = target, folder, seconds, end
        self.process: subprocess.Popen[bytes] | None = None
        self.faults = folder / f"{target}_faults_{next(NUMBERS)}"

    def run(self, text: str) -> tuple[str, Any]:
        """Run a program."""
        if time.monotonic() >= self.end or (self.process is None and not self.start()):
            return OUT_OF_TIME
        path = self.folder / f"{self.target}_{next(NUMBERS)}.py"
        path.write_text(self.written(text))
        process = self.process
        assert process is not None and process.stdin is not None
        process.stdin.write(f"{path}\n".encode())
        process.stdin.flush()
        result = self.receive(self.seconds)
        if result[0] == "error" and ENDLESS_COMPILATION in result[1]:
            self.stop()  # its compiler goes on
        path.unlink()
        return result

    def written(self, text: str) -> str:
        """Return the program as this target runs it."""
        if not self.target.startswith("taichi"):
            return text
        return (unfolded(text) if self.target.endswith("_unfolded") else text).replace(FLOOR, "import taichi as ti")

    def start(self) -> bool:
        """Start the process; return whether the run has time for it."""
        folders = [PACKAGE.parent, *(Path(f).absolute() for f in os.environ.get("PYTHONPATH", "").split(":") if f)]
        environment = {
            **os.environ,
            "SHADESMITH_OFFLINE_CACHE": "0",
            "OMP_NUM_THREADS": "2",
            "FUZZ_FAULTS": str(self.faults),
            "PYTHONPATH": ":".join(map(str, folders)),
        }
        python = TAICHI if self.target.startswith("taichi") else sys.executable
        self.process = subprocess.Popen(
            [python, str(HERE / "worker.py"), self.target],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if not os.environ.get("FUZZ_LOUD") else None,
            env=environment,
            cwd=self.folder,
            start_new_session=True,
        )
        kind, _ = self.receive(SECONDS_TO_START)
        if kind not in ("ready", OUT_OF_TIME[0]):
            raise RuntimeError(f"The worker of {self.target} does not start ({kind}); FUZZ_LOUD=1 shows why.")
        return kind == "ready"

    def receive(self, seconds: float) -> tuple[str, Any]:
        """Return the next result."""
        assert self.process is not None and self.process.stdout is not None
        left = max(0.0, self.end - time.monotonic())
        ready, _, _ = select.select([self.process.stdout], [], [], min(seconds, left))
        if not ready:
            self.stop()
            if left < seconds:
                return OUT_OF_TIME
            return "hung", f"no result after {seconds:.0f} s"
        try:
            result: tuple[str, Any] = pickle.load(self.process.stdout)  # noqa: S301
            return result
        except (EOFError, pickle.UnpicklingError):
            code = self.process.wait()
            self.stop()
            name = signal.Signals(-code).name if code < 0 else f"exit status {code}"
            return "died", name + self.place_of_death()

    def place_of_death(self) -> str:
        """Return " in `function`", of the innermost one of Python when a signal came, "" if it is not known."""
        faults = self.faults.read_text() if self.faults.exists() else ""
        found = re.search(r'most recent call first\):\n  File "[^"]*", line \d+ in (\S+)', faults)
        return f" in `{found[1]}`" if found else ""

    def stop(self) -> None:
        """End the process and what it started."""
        if self.process is not None:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.process.wait()
            self.process = None
