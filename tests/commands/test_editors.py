"""`shadesmith editors`: compile_commands.json, the header for CUDA C, files for VS Code."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from shadesmith.runtime.workbench.edits.editor_files import ARGUMENTS, CUDA_HEADER

GOLDEN = sorted((Path(__file__).resolve().parents[1] / "golden" / "expected").glob("*.cu"))
CLANGD = shutil.which("clangd") or shutil.which("clangd-14")
SCALE = """
    @ti.kernel
    def scale(x: ti.types.ndarray(ti.f32, 1), factor: ti.f32):
        for i in x:
            x[i] = x[i] * factor
"""


@pytest.fixture
def edited(command, program) -> dict[str, Path]:
    """Return edits of a kernel by suffix, in a project that has the files for editors."""
    file = program(SCALE)
    paths = {}
    for number, arch in enumerate(("cuda", "cpu", "vulkan")):
        path = Path(command("edit", f"{file}:scale", "--arch", arch).text.strip())
        paths[path.suffix] = path
        if number == 0:
            assert command("editors", file.parent).status == 0
    return paths


def entries_of(path: Path) -> dict[str, Any]:
    found = json.loads((path.parents[2] / "compile_commands.json").read_text())
    return {entry["file"]: entry["arguments"] for entry in found}


def test_each_source_that_clangd_reads_has_an_entry_also_those_that_come_later(edited) -> None:
    entries = entries_of(edited[".cu"])
    assert entries == {
        str(edited[suffix]): [*arguments, str(edited[suffix])] for suffix, arguments in ARGUMENTS.items()
    }


def test_settings_for_vscode_are_added_to_those_of_the_user(command, edited) -> None:
    folder = edited[".cu"].parents[3]
    (folder / ".vscode").mkdir()
    (folder / ".vscode" / "settings.json").write_text('{"editor.tabSize": 2}')
    assert command("editors", folder, "--vscode").status == 0
    settings = json.loads((folder / ".vscode" / "settings.json").read_text())
    assert settings["editor.tabSize"] == 2 and settings["files.associations"]


def test_files_for_vscode_leave_what_the_user_has(command, edited) -> None:
    folder = edited[".cu"].parents[3]
    (folder / ".vscode").mkdir()
    mine = {"label": "mine", "command": "ls"}
    (folder / ".vscode" / "tasks.json").write_text(json.dumps({"tasks": [mine, {"label": "shadesmith: diff"}]}))
    (folder / ".vscode" / "settings.json").write_text('{"files.associations": {"*.x": "y"}, "editor.tabSize": 2}')
    for _ in range(2):
        assert command("editors", folder, "--vscode").status == 0
    tasks = json.loads((folder / ".vscode" / "tasks.json").read_text())
    labels = [task["label"] for task in tasks["tasks"]]
    assert labels[0] == "mine" and labels.count("shadesmith: diff") == 1 and len(tasks["inputs"]) == 2
    settings = json.loads((folder / ".vscode" / "settings.json").read_text())
    assert settings["editor.tabSize"] == 2 and settings["files.associations"]["*.x"] == "y"
    assert settings["files.associations"]["*.comp"] == "glsl"
    assert settings["clangd.arguments"] == ["--compile-commands-dir=${workspaceFolder}/edits"]


@pytest.mark.exhaustive
def test_settings_with_comments_are_left_as_they_are(command, edited) -> None:
    folder = edited[".cu"].parents[3]
    (folder / ".vscode").mkdir()
    (folder / ".vscode" / "settings.json").write_text("// mine\n{}")
    said = command("editors", folder, "--vscode")
    assert said.status == 2 and "is left as it is" in said.notes
    assert (folder / ".vscode" / "settings.json").read_text() == "// mine\n{}"


def test_without_edits_the_command_says_how_to_begin(command, tmp_path: Path) -> None:
    said = command("editors", tmp_path)
    assert said.status == 2 and "shadesmith edit FILE:KERNEL" in said.notes


@pytest.mark.sampled(16)
@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_the_header_declares_what_emitted_sources_use(path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    command = ["g++", "-x", "c++", "-std=c++17", "-fsyntax-only", "-w", "-include", str(CUDA_HEADER), str(path)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr


class Server:
    """A language server, spoken to over its pipe."""

    def __init__(self, folder: Path) -> None:
        assert CLANGD is not None
        command = [CLANGD, f"--compile-commands-dir={folder}", "--log=error", "-j=1"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.number = 0
        self.request("initialize", processId=None, rootUri=None, capabilities={})

    def send(self, **message: Any) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        size = 0
        while line := self.process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            size = int(value) if name == b"Content-Length" else size
        found: dict[str, Any] = json.loads(self.process.stdout.read(size))
        return found

    def request(self, method: str, **params: Any) -> Any:
        self.number += 1
        self.send(id=self.number, method=method, params=params)
        while (answer := self.receive()).get("id") != self.number:
            pass
        return answer["result"]

    def diagnostics(self) -> list[str]:
        """Return the messages about the document that was opened last."""
        while (found := self.receive()).get("method") != "textDocument/publishDiagnostics":
            pass
        return [one["message"] for one in found["params"]["diagnostics"]]


@pytest.mark.exhaustive
@pytest.mark.skipif(CLANGD is None, reason="clangd is not installed")
@pytest.mark.parametrize("suffix", [".c", ".cu"])
def test_clangd_finds_no_error_and_completes_the_names_of_the_interface(edited, suffix: str) -> None:
    path = edited[suffix]
    server = Server(path.parents[2])
    try:
        text = path.read_text()
        document = {"uri": path.as_uri(), "languageId": "cpp", "version": 1, "text": text}
        server.send(method="textDocument/didOpen", params={"textDocument": document})
        assert server.diagnostics() == []
        lines = text.split("\n")
        row = next(k for k, line in enumerate(lines) if "args.factor" in line)
        at = {"line": row, "character": lines[row].index("args.factor") + len("args.")}
        found = server.request("textDocument/completion", textDocument={"uri": path.as_uri()}, position=at)
        names = {item["label"].strip() for item in found["items"]}
        assert {"factor", "x_data", "x_n"} <= names
        if suffix == ".cu":
            row = next(k for k, line in enumerate(lines) if "threadIdx" in line)
            at = {"line": row, "character": lines[row].index("threadIdx") + len("thread")}
            found = server.request("textDocument/completion", textDocument={"uri": path.as_uri()}, position=at)
            assert any("threadIdx" in item["label"] for item in found["items"])
    finally:
        server.process.kill()
        server.process.wait()
