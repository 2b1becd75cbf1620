"""All that the frontend dependencies of Python is described in the key: over the corpus, every object that it met by a name."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import cache_checks
import corpus
import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.cache.builtin_names import fixed_name, is_own
from shadesmith.runtime.cache.fingerprint import Fingerprint, fingerprint
from shadesmith.runtime.devices.capabilities import portable
from shadesmith.runtime.session import session as sessions
from shadesmith.transpiler.backend.module.interface import BackendModule
from shadesmith.transpiler.frontend.context.dependencies import Dependencies
from shadesmith.transpiler.pipeline import compile_kernel

ATOMS = (int, float, str, bool, bytes, complex, type(None), np.generic)


def is_described(value: Any, found: Fingerprint) -> bool:
    """Tell whether an object is in the material: by content, by a name that says all, or by a number."""
    if (
        isinstance(value, (*ATOMS, types.ModuleType))
        or id(value) in found.numbers
        or id(value) in {id(item) for item in found.alive}
    ):
        return True
    if isinstance(value, tuple):
        return all(is_described(item, found) for item in value)
    if isinstance(value, types.MethodType):
        return is_described(value.__func__, found)
    if is_own(getattr(value, "__module__", None)) or is_own(type(value).__module__):
        return True
    return fixed_name(value, True) is not None


@pytest.mark.sampled(3)
@pytest.mark.parametrize("maker", corpus.MAKERS, ids=lambda maker: maker.__name__)
def test_all_that_the_frontend_read_is_described(maker: Any) -> None:
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    kernel, arguments = maker()
    request = kernel.specialize(arguments, ti.cpu)
    specialization, target = request.specialization, request.target
    found = fingerprint(specialization, target, sessions.current().config)
    made = compile_kernel(specialization, target)
    assert made.dependencies is not None
    assert [value for value in made.dependencies.values() if not is_described(value, found)] == []
    assert found.reached(made.dependencies) is None, "kernels of the corpus can be kept"
    assert all(field is None or id(field) in found.numbers or hasattr(field, "capacity") for field in made.fields)
    assert isinstance(made.module, BackendModule)
    again = fingerprint(specialization, target, sessions.current().config)
    assert again.source_key == found.source_key


@pytest.mark.sampled(6)
@pytest.mark.parametrize("maker", corpus.MAKERS, ids=lambda maker: maker.__name__)
def test_kept_kernels_of_the_corpus_are_as_compiled(maker: Any, own_cache: None, tmp_path: Path) -> None:
    folder = {"offline_cache": True, "offline_cache_file_path": str(tmp_path)}
    ti.init(arch=ti.cpu, log_level=ti.ERROR, **folder)
    kernel, arguments = maker()
    for wanted in ("miss", "hit"):
        request = kernel.specialize(arguments, ti.cpu)
        made = cache_checks.find(request.specialization)
        assert (made.dependencies is None) == (wanted == "hit")
    cache_checks.compare_compilations(made, compile_kernel(request.specialization, request.target))


def test_methods_count_as_their_functions() -> None:
    class Owner:
        def method(self) -> None: ...

    dependencies = Dependencies(portable("c"))
    dependencies.add(Owner().method)
    assert Owner.method in dependencies.objects.values()
