"""Objects of Python, NumPy and shadesmith whose meaning a name and a version determine: they need no description.

In: a function, class or module that a kernel's source names. Out: its name, or None if it may mean something else in
the next process: clocks, random numbers, files, the environment, and functions that access objects by computed names.
"""

from __future__ import annotations

import builtins
import os
import sys
import types
from typing import Any

from ...transpiler.errors import PACKAGE

OWN = tuple(f"{PACKAGE}.{folder}" for folder in ("transpiler.", "runtime.", "lang.", "types.", "math.", "_"))
"""The beginnings of our modules' names; the last ones are Taichi's inner modules, which `compat.inner` makes."""
HOST = f"{PACKAGE}.runtime."
"""Prefix of shadesmith's functions for Python scope, which access sessions and memory."""
COMPAT = f"{PACKAGE}.runtime.compat."
READS_CONFIG = frozenset({"current_cfg", "default_cfg", "get_runtime", "is_extension_supported", "get_host_arch_list"})
"""Functions of `compat` whose results depend on the session's options and this machine."""


def name_set(text: str) -> frozenset[str]:
    """Return the names in a string."""
    return frozenset(text.split())


UNFIXED_BUILTINS = name_set("""
    __build_class__ __import__ breakpoint classmethod compile delattr dir eval exec globals hash help id input
    locals open print setattr vars copyright credits exit license quit getattr hasattr
""")
"""Builtins that read, change or show what no source names."""
FORMS_OF_KERNELS = frozenset({"print", "getattr", "hasattr"})
"""Those among them that are harmless in a kernel's source, where the names of members are literals."""

PURE_MODULES = name_set("""
    math cmath operator _operator itertools functools _functools collections numbers enum typing
    types abc _abc string collections.abc
""")
"""Modules of the standard library whose functions depend only on their arguments."""
UNFIXED = frozenset({"attrgetter", "methodcaller", "Formatter", "get_type_hints"})
"""Functions in these modules that read members by computed names."""
SHOWS = "static_print"
"""A function that acts during compilation, which a cached source would not repeat."""
NUMPY_FILES = name_set("""
    load loadtxt genfromtxt fromfile fromregex memmap save savez savez_compressed savetxt DataSource show_config
    get_include seterr geterr errstate set_printoptions frombuffer empty empty_like ndfromtxt info lookfor
""")
"""Functions of NumPy that read files, memory or settings."""


def is_own(module: object) -> bool:
    """Return whether a module is shadesmith's."""
    return isinstance(module, str) and (module == PACKAGE or module.startswith(OWN))


def library_of(module: object) -> str:
    """Return the top package of a module's name."""
    return module.partition(".")[0] if isinstance(module, str) else ""


def is_standard(module: object) -> bool:
    """Return whether a module belongs to Python, and is not a file of the program with the same name."""
    if library_of(module) not in sys.stdlib_module_names:
        return False
    found = sys.modules.get(str(module))
    file = getattr(found, "__file__", None)
    return found is not None and (file is None or (file.startswith(LIBRARY) and "site-packages" not in file))


LIBRARY = os.path.dirname(os.__file__)
"""The folder of Python's modules."""


def _is_library(module: object) -> bool:
    return is_own(module) or library_of(module) == "numpy" or is_standard(module)


def is_of_library(value: Any) -> bool:
    """Return whether a function or class is really shadesmith's, Python's or NumPy's: a program can set any name."""
    if isinstance(value, types.FunctionType):
        home = value.__globals__.get("__name__")
        return _is_library(home) and vars(sys.modules.get(home, builtins)) is value.__globals__  # type: ignore[arg-type]
    module = value.__module__
    if not isinstance(module, str) or not _is_library(module):
        return False
    return not value.__flags__ & MADE_AT_RUN_TIME or _is_found_there(module, value.__qualname__, value)


MADE_AT_RUN_TIME = 1 << 9
"""Flag of classes that are created at run time (heap types), unlike static classes written in C."""


def _is_found_there(module: str, name: str, value: Any) -> bool:
    """Return whether a module has exactly this object under this name."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is value or (isinstance(value, types.BuiltinMethodType) and bool(found == value))


def fixed_name(value: Any, in_kernel: bool) -> str | None:
    """Return the name of a function or class that always has the same meaning, else None.

    in_kernel: the source of a kernel or `ti.func` names it; a function that Python runs may do more with it.
    """
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if isinstance(value, types.BuiltinFunctionType) and value.__self__ is not None:
        module = value.__self__.__name__ if isinstance(value.__self__, types.ModuleType) else module
    if module == "builtins" and isinstance(name, str):
        return _builtin_name(value, name, in_kernel)
    if library_of(module) == "numpy" or type(value).__name__ == "ufunc":
        return _numpy_name(value, module, name)
    if not isinstance(name, str) or not isinstance(module, str):
        return None
    if is_own(module):
        if name == SHOWS or not isinstance(value, (type, types.FunctionType)):
            return None
        is_fixed = isinstance(value, type) or not module.startswith(HOST)
        is_described = name in READS_CONFIG if module.startswith(COMPAT) else in_kernel  # kernels refuse to call them
        return f"own {module}.{name}" if is_fixed or is_described else None
    is_pure = (module in PURE_MODULES and name not in UNFIXED) or (
        isinstance(value, type) and issubclass(value, BaseException)
    )
    return f"{module}.{name}" if is_pure and is_standard(module) and _is_found_there(module, name, value) else None


def _builtin_name(value: Any, name: str, in_kernel: bool) -> str | None:
    if getattr(builtins, name, None) is not value:
        return f"type {name}" if value in (type(None), type(...), type(NotImplemented)) else None
    if name in UNFIXED_BUILTINS and not (in_kernel and name in FORMS_OF_KERNELS):
        return None
    return f"builtin {name}"


def _numpy_name(value: Any, module: object, name: object) -> str | None:
    numpy = sys.modules.get("numpy")
    shown = name if isinstance(name, str) else getattr(value, "__name__", "")
    if numpy is None or not isinstance(shown, str) or shown.rpartition(".")[2] in NUMPY_FILES:
        return None
    if isinstance(module, str) and module.startswith("numpy.random"):
        return None
    if getattr(numpy, shown, None) is value or (isinstance(module, str) and _is_found_there(module, shown, value)):
        return f"numpy {numpy.__version__} {module}.{shown}"
    return None
