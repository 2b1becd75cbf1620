"""`shadesmith profile`: the device's clock, recorded CSV of Nsight Compute and Nsight Systems, missing tools."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from shadesmith.runtime.workbench.profile.read_csv import read_metrics

PROGRAM = """
    @ti.kernel
    def scale(x: ti.types.ndarray(ti.f32, 1), factor: ti.f32):
        for i in x:
            x[i] = x[i] * factor
        for i in x:
            x[i] = x[i] + 1.0

    if __name__ == "__main__":
        ti.init(arch=ti.cpu, log_level="warn")
        x = np.ones(300, np.float32)
        for _ in range(3):
            scale(x, 2.0)
"""
DETAILS = """==PROF== Connected to process 4711
==PROF== Profiling "scale_0": 0%....50%....100% - 40 passes
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC",\
"Section Name","Metric Name","Metric Unit","Metric Value"
"0","4711","python3.12","127.0.0.1","scale_0(Args)","1","7","(128, 1, 1)","(782, 1, 1)","0","9.0",\
"GPU Speed Of Light Throughput","Duration","us","3.42"
"0","4711","python3.12","127.0.0.1","scale_0(Args)","1","7","(128, 1, 1)","(782, 1, 1)","0","9.0",\
"GPU Speed Of Light Throughput","DRAM Throughput","%","41.70"
"1","4711","python3.12","127.0.0.1","scale_1(Args)","1","7","(128, 1, 1)","(782, 1, 1)","0","9.0",\
"Occupancy","Achieved Occupancy","%","88.10"
"""
RAW = """"ID","Process ID","Kernel Name","Block Size","dram__bytes.sum","sm__cycles_active.avg"
"","","","","Mbyte","cycle"
"0","4711","scale_0","(128, 1, 1)","0.80","4,211"
"""
SOURCE = """"Kernel Name","scale_0"
"File Path","/home/me/.cache/shadesmith/sources/scale-1a2b/scale.cu"
"#","Source","Live Registers","Warp Stall Sampling (All Samples)","# Samples","Instructions Executed"
"1","// shadesmith","","0","0","0"
"{multiply}","x(i) = x(i) * args.factor;","12","30","30","3,128"
"{add}","x(i) = x(i) + 1.0f;","8","10","10","1,564"
"""
SYSTEMS = """Processing [p.sqlite] with [cuda_gpu_kern_sum.py]...

Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
 72.5,10260,3,3420.0,3400.0,3300,3560,131.1,scale_0
"""


def lines_of(command, file: Path) -> dict[str, int]:
    """Return the lines of the emitted CUDA C that multiply and add."""
    text = command("inspect", f"{file}:scale", "--arch", "cuda", "--stage", "source").text.split("\n")
    return {
        "multiply": next(k for k, line in enumerate(text, 1) if "x(i)" in line and "args.factor" in line),
        "add": next(k for k, line in enumerate(text, 1) if "x(i)" in line and "1.0f" in line),
    }


def test_the_clock_of_the_device_needs_no_profiler(command, program, tmp_path: Path) -> None:
    said = command("profile", program(PROGRAM), "--arch", "python")
    assert said.status == 0 and re.search(r"^scale +\S* +3 ", said.text, re.MULTILINE)
    assert "SHADESMITH_KERNEL_PROFILER" not in os.environ


@pytest.mark.exhaustive
def test_each_task_has_its_line_and_its_share(command, program, tmp_path: Path) -> None:
    said = command("profile", program(PROGRAM), "--json")
    assert said.status == 0
    tasks = said.data["tasks"]
    assert {task["task"] for task in tasks} == {"scale_0", "scale_1"} and {task["launches"] for task in tasks} == {"3"}
    assert {task["Python"] for task in tasks} == {"program.py:7", "program.py:9"}
    assert all(float(task["GB/s"]) > 0 for task in tasks)


SPARSE = """
    ti.init(arch=ti.cpu)
    cells = ti.field(ti.i32)
    ti.root.pointer(ti.i, 8).dense(ti.i, 8).place(cells)

    @ti.kernel
    def mark():
        for i in range(8):
            cells[i * 5] += 1
        for i in cells:
            cells[i] += 2

    mark()
"""


def test_a_loop_that_lists_cells_has_no_line_of_python(command, program) -> None:
    said = command("profile", program(SPARSE), "--json")
    lines = [task["Python"] for task in said.data["tasks"]]
    assert {"", "program.py:11", "program.py:13"} == set(lines)


@pytest.mark.exhaustive
def test_the_page_has_the_times_of_the_clock(command, program, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert command("profile", program(PROGRAM), "-o", page).status == 0
    assert "Profile: tasks" in page.read_text() and "program.py:7" in page.read_text()


@pytest.mark.exhaustive
def test_recorded_metrics_stand_at_the_lines_of_the_sources(command, program, tmp_path: Path) -> None:
    file = program(PROGRAM)
    (tmp_path / "details.csv").write_text(DETAILS)
    (tmp_path / "source.csv").write_text(SOURCE.format(**lines_of(command, file)))
    page = tmp_path / "page.html"
    files = ("--metrics", tmp_path / "details.csv", "--metrics", tmp_path / "source.csv")
    said = command("profile", f"{file}:scale", *files, "-o", page, "--json")
    tasks, lines = said.data["tables"]
    assert tasks["header"] == ["metric", "scale_0", "scale_1"]
    assert ["Duration", "3.42 us", ""] in tasks["rows"] and ["Achieved Occupancy", "", "88.10 %"] in tasks["rows"]
    assert [row[1:3] for row in lines["rows"]] == [["program.py:8", "75.0 %"], ["program.py:10", "25.0 %"]]
    assert lines["rows"][0][-1].startswith("x(i) ")
    text = page.read_text()
    assert "Profile: lines" in text and "75.0 %" in text and "3,128" in text


def test_each_form_of_csv_is_read() -> None:
    assert read_metrics(RAW).kernels == {"scale_0": {"dram__bytes.sum": "0.80", "sm__cycles_active.avg": "4,211"}}
    assert read_metrics(SYSTEMS).kernels["scale_0"]["Instances"] == "3"
    assert set(read_metrics(SOURCE.format(multiply=3, add=4)).lines) == {("scale.cu", 3), ("scale.cu", 4)}
    instructions = '"#","Address","Source","# Samples"\n"1","0x10","FADD R1, R2, R3 ;","7"\n'
    assert read_metrics(instructions).lines == {}
    for text in ("", "==ERROR== no kernel\n", "a,b\n1,2\n"):
        with pytest.raises(ValueError, match="no table"):
            read_metrics(text)


DATA = Path(__file__).resolve().parents[1] / "data"


def test_what_ncu_printed_on_an_h200_is_read() -> None:
    """Rows of ncu 2025.3.1: without the empty fields at the end, and with quotation marks inside of fields."""
    details = read_metrics((DATA / "ncu_details.csv").read_text("utf-8")).kernels
    assert set(details) == {"scale_0", "scale_1"}
    assert details["scale_0"]["Memory Throughput"] == "14.93 %"
    assert details["scale_0"]["Memory Throughput [Gbyte/s]"] == "664.14 Gbyte/s"
    assert details["scale_0"]["Duration"].endswith(" us") and "Achieved Occupancy" in details["scale_1"]
    raw = read_metrics((DATA / "ncu_raw.csv").read_text("utf-8")).kernels
    assert float(raw["scale_1"]["launch__registers_per_thread"]) == 18
    lines = read_metrics((DATA / "ncu_source.csv").read_text("utf-8")).lines
    assert [number for _, number in lines] == [19, 22, 24, 25, 26, 28, 33, 36, 38, 39, 40, 42]
    assert lines["scale.cu", 19]["# Samples"] == 418 and lines["scale.cu", 22]["Instructions Executed"] == 32768


FAKE = """#!/bin/sh
case "$*" in
    *"--page details"*) cat {folder}/details.csv ;;
    *"--page source"*) cat {folder}/source.csv ;;
    *) echo "$SHADESMITH_PROFILE_SOURCE $*" > {folder}/called ;;
esac
"""


@pytest.mark.skipif(os.name != "posix", reason="the profiler of this test is a shell script")
def test_ncu_runs_the_program_with_lines_and_its_pages_are_joined(command, program, tmp_path, monkeypatch) -> None:
    file = program(PROGRAM)
    (tmp_path / "details.csv").write_text(DETAILS)
    (tmp_path / "source.csv").write_text(SOURCE.format(**lines_of(command, file)))
    (tmp_path / "ncu").write_text(FAKE.format(folder=tmp_path))
    (tmp_path / "ncu").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    said = command("profile", f"{file}:scale", "--tool", "ncu", "--", "--size", "8")
    assert said.status == 0 and "Duration" in said.text and "75.0 %" in said.text
    called = (tmp_path / "called").read_text()
    assert called.startswith("1 ") and "--export program.ncu-rep" in called and called.endswith("--size 8\n")


def test_a_missing_tool_is_named_with_where_to_get_it(command, program, tmp_path: Path, monkeypatch) -> None:
    file = program(PROGRAM)
    monkeypatch.setenv("PATH", str(tmp_path))
    for tool, url in (("ncu", "nsight-compute"), ("nsys", "nsight-systems")):
        said = command("profile", file, "--tool", tool)
        assert said.status == 2 and f"`{tool}`" in said.notes and url in said.notes and "--tool clock" in said.notes
    for name, viewer in (("a.ncu-rep", "ncu-ui"), ("a.nsys-rep", "nsys-ui"), ("a.rdc", "qrenderdoc")):
        said = command("profile", tmp_path / name)
        assert said.status == 2 and f"`{viewer}`" in said.notes


def test_metrics_of_other_kernels_and_other_files_are_errors(command, program, tmp_path: Path) -> None:
    file = program(PROGRAM)
    (tmp_path / "other.csv").write_text(DETAILS.replace("scale", "other"))
    said = command("profile", f"{file}:scale", "--metrics", tmp_path / "other.csv")
    assert said.status == 2 and "there are metrics of other_0, other_1" in said.notes
    (tmp_path / "notes.csv").write_text("to do\n")
    said = command("profile", f"{file}:scale", "--metrics", tmp_path / "notes.csv")
    assert said.status == 2 and "no table of Nsight Compute" in said.notes


def test_a_program_without_launches_says_so(command, program) -> None:
    said = command("profile", program('ti.init(arch=ti.cpu, log_level="warn")'))
    assert said.status == 2 and "launched no kernel" in said.notes
    said = command("profile", program("x = 1"))
    assert said.status == 2 and "starts no session" in said.notes
