"""How CUDA's driver is called: by a libcuda of ours that keeps a list, checks order and arguments, and fails when asked."""

import os
import re
import struct
import subprocess
from glob import glob
from pathlib import Path

import pytest
from c_api import binding
from c_api.sample_archives import cuda_archive, task

HERE = Path(__file__).parent
SANITIZED = ("-std=c99", "-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
RESIDENT = 132 * 2048
CUDA_HEADERS = sorted(glob("/usr/local/cuda*/include/cuda.h"))


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    if binding.compiler("gcc") is None:
        pytest.skip("needs gcc")
    folder = tmp_path_factory.mktemp("fake_cuda")
    headers = ("-DWITH_CUDA_H", "-isystem", str(Path(CUDA_HEADERS[-1]).parent)) if CUDA_HEADERS else ()
    for name, more in (("new", ()), ("old", ("-DWITHOUT_PARAMETER_INFO",))):
        (folder / name).mkdir()
        binding.compile_c(
            folder / name / "libcuda.so.1", "-shared", "-fPIC", *headers, *more, str(HERE / "fake_cuda.c")
        )
    source = str(binding.FOLDER / "shadesmith.c")
    return binding.compile_c(folder / "calls", *SANITIZED, str(HERE / "programs" / "calls.c"), source)


@pytest.fixture
def run(program, tmp_path):
    """A function that runs the program on an archive; gives exit status, output and the calls of the driver."""

    def run(archive: bytes, size: int = 1000, n: int = 7, fail: str = "", driver: str = "new", **environment: str):
        (tmp_path / "module.tcm").write_bytes(archive)
        log = tmp_path / "log"
        log.unlink(missing_ok=True)
        environment = {
            **os.environ, "LD_LIBRARY_PATH": str(program.parent / driver), "FAKE_CUDA_LOG": str(log), "FAKE_CUDA_FAIL": fail,
            **environment,
        }  # fmt: skip
        command = [str(program), str(tmp_path / "module.tcm"), str(size), str(n)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
        assert done.stderr == "" and done.returncode in (0, 1), done.stderr
        return done.returncode, done.stdout, log.read_text().splitlines() if log.exists() else []

    return run


def launches(calls):
    return [call.split() for call in calls if call.startswith("launch")]


@pytest.mark.parametrize("driver", ["new", "old"])
def test_a_launch_from_first_to_last(run, driver):
    status, output, calls = run(cuda_archive(), driver=driver)
    assert status == 0, output
    address = int(re.search("address ([0-9a-f]+)", output)[1], 16)
    arguments = struct.pack("<Qii", address, 7, 1000).hex()
    assert calls == [
        "cuInit", "retain 40", "load cubin", "alloc 4016", "alloc 4016",
        f"launch paint 8 1 1 128 1 1 0 {arguments}", "synchronize", "synchronize", "synchronize", "unload", "release 40",
    ]  # fmt: skip
    assert output.startswith("Fake GPU 40\n")


@pytest.mark.parametrize("size, groups", [(0, None), (1, 1), (128, 1), (129, 2), (1 << 20, 8192)])
def test_groups(run, size, groups):
    status, _, calls = run(cuda_archive(), size=size)
    assert status == 0
    assert [int(call[2]) for call in launches(calls)] == ([] if groups is None else [groups])


def test_grids_of_tasks(run):
    tasks = [
        task("strided", [["member", 2], ["const", 2000]], strided=True, block_dim=256),
        task("serial", [["const", 1]], kind="serial", block_dim=1),
        task("unknown", None, strided=True, block_dim=64),
        task("items", [["member", 2]], items=3),
        task("never", [["sub", ["const", 3], ["const", 5]]]),
    ]
    functions = "".join(f"{task['name']} 16\n" for task in tasks)
    status, output, calls = run(cuda_archive(functions, tasks=tasks), size=1000)
    assert status == 0, output
    found = {call[1]: tuple(map(int, call[2:9])) for call in launches(calls)}
    assert found == {
        "strided": (RESIDENT * 4 // 256, 1, 1, 256, 1, 1, 0),
        "serial": (1, 1, 1, 1, 1, 1, 0),
        "unknown": (RESIDENT * 4 // 64, 1, 1, 64, 1, 1, 0),
        "items": (3, 1, 1, 128, 1, 1, 0),
    }


def test_a_stack_for_recursion(run):
    status, _, calls = run(cuda_archive(options={"fast_math": True, "debug": False, "recursive": True}))
    assert status == 0 and calls.index("limit 0 16384") < calls.index("load cubin")


@pytest.mark.parametrize("arch, loaded", [("sm_90", "cubin"), ("sm_80", "ptx"), ("sm_120", "ptx"), ("sm_90a", "cubin")])
def test_ptx_where_the_machine_code_is_for_another_gpu(run, arch, loaded):
    ptx = ".version 8.0\npaint 16\n"
    status, output, calls = run(cuda_archive(ptx=ptx, top={"requires": {"arch": arch, "ptx": "compute_75"}}))
    assert status == 0, output
    assert [call for call in calls if "load" in call and "un" not in call] == [
        "load cubin" if loaded == "cubin" else f"load ptx of {len(ptx)} bytes"
    ]


def test_ptx_where_the_driver_refuses_the_machine_code(run):
    status, output, calls = run(
        cuda_archive(
            "NOT FOR THIS GPU", ".version 8.0\npaint 16\n", {"requires": {"arch": "sm_90", "ptx": "compute_75"}}
        )
    )
    assert status == 0, output
    assert launches(calls)


def test_archives_for_another_gpu(run):
    status, output, _ = run(cuda_archive(top={"requires": {"arch": "sm_120", "ptx": None}}))
    assert status == 1
    assert f"{binding.INCOMPATIBLE}: " in output and "made for sm_120 alone, and Fake GPU 40 is sm_90" in output


def test_functions_that_do_not_fit_are_refused(run):
    status, output, _ = run(cuda_archive("other 16\n"))
    assert status == 1 and "function `paint`" in output
    status, output, _ = run(cuda_archive("paint 24\n"))
    assert status == 1 and "does not take the 16 bytes of arguments" in output


def test_textures_are_refused_by_name(run):
    kind = {"name": "t", "kind": "texture", "ndim": 2, "element": "f32"}
    status, output, calls = run(cuda_archive(parameters=[kind]))
    assert (status, launches(calls)) == (1, [])
    assert f"{binding.NOT_SUPPORTED}: kernel `paint` takes a texture, which this runtime cannot give" in output


def test_no_driver_and_no_gpu(program, tmp_path, run):
    status, output, _ = run(cuda_archive(), FAKE_CUDA_DEVICES="0")
    assert status == 1 and "there is no GPU 0; the driver shows 0" in output


CALLS = [
    ("cuInit", 1), ("cuDeviceGetCount", 1), ("cuDeviceGet", 1), ("cuDeviceGetAttribute", 4), ("cuDevicePrimaryCtxRetain", 1),
    ("cuCtxPushCurrent_v2", 8), ("cuMemAlloc_v2", 2), ("cuMemsetD8Async", 2), ("cuMemcpyDtoH_v2", 3),
    ("cuMemcpyHtoD_v2", 2), ("cuMemcpyDtoDAsync_v2", 1), ("cuModuleLoadData", 1), ("cuModuleGetFunction", 1),
    ("cuLaunchKernel", 1), ("cuCtxSynchronize", 1),
]  # fmt: skip


@pytest.mark.parametrize("name, number", [(name, number) for name, count in CALLS for number in range(1, count + 1)])
def test_any_call_may_fail(run, name, number):
    """Under the address sanitizer, which also tells what leaks."""
    status, output, calls = run(cuda_archive(), fail=f"{name}:{number}:700")
    assert status == 1 and "CUDA_ERROR_ILLEGAL_ADDRESS" in output or "illegal memory access" in output, output
    assert not [call for call in calls if "without" in call or "outside" in call or "not allocated" in call]
    if "retain 40" in calls and name != "cuCtxPushCurrent_v2":
        assert calls[-1] == "release 40"


def test_no_memory_left(run):
    status, output, calls = run(cuda_archive(), fail="cuMemAlloc_v2:2:2")
    assert status == 1 and f"{binding.OUT_OF_MEMORY}: Fake GPU 40 has no 4016 bytes of memory left" in output
    assert calls[-1] == "release 40"


@pytest.mark.skipif(not CUDA_HEADERS, reason="needs cuda.h")
def test_names_are_those_of_the_abi():
    """cuda.h maps a plain name to that of the current ABI by a macro; the oldest ABI has the plain name itself."""
    header = Path(CUDA_HEADERS[-1]).read_text()
    current = dict(
        re.findall(r"^\s*#define\s+(cu[A-Z]\w+)\s+(?:__CUDA_API_\w+\()?(cu[A-Z]\w+_v\d+)\)?\s*$", header, re.M)
    )
    source = (binding.FOLDER / "shadesmith.c").read_text()
    names = re.findall(r'offsetof\(CudaApi, (\w+)\), "(cu\w+)"', source)
    assert len(names) == 24
    for plain, name in names:
        assert current.get(f"cu{plain}", f"cu{plain}") == name
        assert re.search(rf"CUDAAPI {re.sub(r'_v2$', '', name)}\(", header)
    for name, number in re.findall(r"^    (CU(?:DA)?_\w+) = (\d+),?$", source, re.M):
        if not name.endswith("_BYTES") and name != "CUDA_WAVES":
            assert re.search(rf"\b{name}\s*=\s*(0x0*)?{number}\b", header), name
