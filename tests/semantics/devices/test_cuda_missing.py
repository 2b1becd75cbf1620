"""What `arch=ti.cuda` says of a machine without a driver or CuPy, which needs neither."""

from __future__ import annotations

import sys

import pytest

from shadesmith.runtime.devices.cuda import device as cuda
from shadesmith.runtime.devices.cuda import opening
from shadesmith.transpiler.errors import TaichiRuntimeError


def test_a_missing_driver_is_named_before_cupy(monkeypatch):
    def missing(name):
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(cuda.ctypes, "CDLL", missing)
    monkeypatch.setattr(opening, "_openings", {})
    monkeypatch.setitem(sys.modules, "cupy_backends.cuda.api", None)
    with pytest.raises(TaichiRuntimeError, match=r"no NVIDIA driver was found \(libcuda.so.1: cannot open"):
        cuda.open_device()


def test_cupy_is_named_where_there_is_a_driver(monkeypatch):
    monkeypatch.setattr(cuda, "_require_driver", lambda: None)
    monkeypatch.setattr(opening, "_openings", {})
    monkeypatch.setitem(sys.modules, "cupy_backends.cuda.api", None)
    with pytest.raises(TaichiRuntimeError, match="arch=ti.cuda needs CuPy, which cannot be imported"):
        cuda.open_device()
