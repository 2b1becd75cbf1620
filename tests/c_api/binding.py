"""shadesmith.h for Python, by ctypes, so that tests are short. What C and C++ programs do is tested by programs."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
from ctypes import POINTER, Structure, Union, byref, c_char_p, c_int, c_uint32, c_uint64, c_void_p
from pathlib import Path

import numpy as np

from shadesmith.runtime.store.compiler_files import c_compiler_identity

PACKAGE = Path(__file__).parents[2]
FOLDER = PACKAGE / "runtime" / "c_api"
VULKAN, CUDA = 1, 3
ARCHES = {"vulkan": VULKAN, "cuda": CUDA}
TYPES = {
    "f16": 0,
    "f32": 1,
    "f64": 2,
    "i8": 3,
    "i16": 4,
    "i32": 5,
    "i64": 6,
    "u1": 7,
    "u8": 8,
    "u16": 9,
    "u32": 10,
    "u64": 11,
}
UNKNOWN = 13
NUMPY = {
    "f16": "f2", "f32": "f4", "f64": "f8", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "u1": "u1", "u8": "u1",
    "u16": "u2", "u32": "u4", "u64": "u8",
}  # fmt: skip
OUT_OF_MEMORY, NOT_SUPPORTED, CORRUPTED, NOT_FOUND, INVALID, OUT_OF_RANGE = -11, -1, -2, -3, -4, -6
ARGUMENT_NOT_FOUND, INVALID_STATE, INCOMPATIBLE, ASSERTION = -7, -9, -10, -32
STRICT = ("-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-pedantic", "-Werror")


class Shape(Structure):
    _fields_ = [("dim_count", c_uint32), ("dims", c_uint32 * 16)]


class AllocateInfo(Structure):
    _fields_ = [
        ("size", c_uint64), ("host_write", c_uint32), ("host_read", c_uint32), ("export_sharing", c_uint32), ("usage", c_uint32),
    ]  # fmt: skip


class Slice(Structure):
    _fields_ = [("memory", c_void_p), ("offset", c_uint64), ("size", c_uint64)]


class NdArray(Structure):
    _fields_ = [("memory", c_void_p), ("shape", Shape), ("elem_shape", Shape), ("elem_type", c_int)]


class Extent(Structure):
    _fields_ = [("width", c_uint32), ("height", c_uint32), ("depth", c_uint32), ("layers", c_uint32)]


class ImageInfo(Structure):
    _fields_ = [
        ("dimension", c_int), ("extent", Extent), ("levels", c_uint32), ("format", c_int), ("export_sharing", c_uint32),
        ("usage", c_uint32),
    ]  # fmt: skip


class ImageSlice(Structure):
    _fields_ = [("image", c_void_p), ("offset", c_uint32 * 4), ("extent", Extent), ("level", c_uint32)]


class SamplerInfo(Structure):
    _fields_ = [("mag", c_int), ("min", c_int), ("address", c_int), ("anisotropy", ctypes.c_float)]


class Texture(Structure):
    _fields_ = [
        ("image", c_void_p), ("sampler", c_void_p), ("dimension", c_int), ("extent", Extent), ("format", c_int),
    ]  # fmt: skip


class Scalar(Structure):
    _fields_ = [("type", c_int), ("value", c_uint64)]


class Tensor(Structure):
    _fields_ = [("type", c_int), ("pad", c_uint32), ("length", c_uint32), ("pad_2", c_uint32), ("data", c_uint64 * 16)]


class StructValue(Structure):
    _fields_ = [("data", c_void_p), ("size", c_uint64)]


class Value(Union):
    _fields_ = [
        ("i32", ctypes.c_int32), ("f32", ctypes.c_float), ("ndarray", NdArray), ("scalar", Scalar), ("tensor", Tensor),
        ("structure", StructValue), ("texture", Texture),
    ]  # fmt: skip


class Argument(Structure):
    _fields_ = [("type", c_int), ("value", Value)]


class NamedArgument(Structure):
    _fields_ = [("name", c_char_p), ("argument", Argument)]


class Field(Structure):
    _fields_ = [
        ("slice", Slice), ("shape", Shape), ("elem_shape", Shape), ("elem_type", c_int), ("elem_size", c_uint64),
        ("strides", c_uint64 * 16),
    ]  # fmt: skip


PRINT = ctypes.CFUNCTYPE(None, c_void_p, c_uint64, c_void_p)

SIGNATURES = {
    "ti_get_last_error": (c_int, [POINTER(c_uint64), c_char_p]),
    "ti_get_last_error_message": (c_char_p, []),
    "ti_set_last_error": (None, [c_int, c_char_p]),
    "ti_set_print_callback": (None, [PRINT, c_void_p]),
    "ti_get_version": (c_uint32, []),
    "ti_get_available_archs": (None, [POINTER(c_uint32), POINTER(c_int)]),
    "ti_create_runtime": (c_void_p, [c_int, c_uint32]),
    "ti_destroy_runtime": (None, [c_void_p]),
    "ti_get_runtime_device_name": (c_char_p, [c_void_p]),
    "ti_flush": (None, [c_void_p]),
    "ti_wait": (None, [c_void_p]),
    "ti_set_runtime_random_seed": (None, [c_void_p, c_uint32]),
    "ti_allocate_memory": (c_void_p, [c_void_p, POINTER(AllocateInfo)]),
    "ti_free_memory": (None, [c_void_p, c_void_p]),
    "ti_map_memory": (c_void_p, [c_void_p, c_void_p]),
    "ti_unmap_memory": (None, [c_void_p, c_void_p]),
    "ti_read_memory": (None, [c_void_p, POINTER(Slice), c_void_p]),
    "ti_write_memory": (None, [c_void_p, POINTER(Slice), c_void_p]),
    "ti_copy_memory_device_to_device": (None, [c_void_p, POINTER(Slice), POINTER(Slice)]),
    "ti_get_memory_address": (c_uint64, [c_void_p, c_void_p]),
    "ti_allocate_image": (c_void_p, [c_void_p, POINTER(ImageInfo)]),
    "ti_free_image": (None, [c_void_p, c_void_p]),
    "ti_create_sampler": (c_void_p, [c_void_p, POINTER(SamplerInfo)]),
    "ti_destroy_sampler": (None, [c_void_p, c_void_p]),
    "ti_transition_image": (None, [c_void_p, c_void_p, c_int]),
    "ti_copy_image_device_to_device": (None, [c_void_p, POINTER(ImageSlice), POINTER(ImageSlice)]),
    "ti_copy_memory_to_image": (None, [c_void_p, POINTER(ImageSlice), POINTER(Slice)]),
    "ti_copy_image_to_memory": (None, [c_void_p, POINTER(Slice), POINTER(ImageSlice)]),
    "ti_check_aot_module": (c_int, [c_char_p, c_uint64]),
    "ti_load_aot_module": (c_void_p, [c_void_p, c_char_p]),
    "ti_create_aot_module": (c_void_p, [c_void_p, c_char_p, c_uint64]),
    "ti_destroy_aot_module": (None, [c_void_p]),
    "ti_get_aot_module_kernel": (c_void_p, [c_void_p, c_char_p]),
    "ti_get_aot_module_compute_graph": (c_void_p, [c_void_p, c_char_p]),
    "ti_get_aot_module_field": (c_int, [c_void_p, c_char_p, POINTER(Field)]),
    "ti_get_aot_module_kernel_name": (c_char_p, [c_void_p, c_uint32]),
    "ti_get_aot_module_compute_graph_name": (c_char_p, [c_void_p, c_uint32]),
    "ti_get_aot_module_field_name": (c_char_p, [c_void_p, c_uint32]),
    "ti_launch_kernel": (None, [c_void_p, c_void_p, c_uint32, POINTER(Argument)]),
    "ti_launch_compute_graph": (None, [c_void_p, c_void_p, c_uint32, POINTER(NamedArgument)]),
    "ti_get_kernel_result": (None, [c_void_p, c_void_p, c_uint32, c_void_p, c_uint64]),
}


class CError(Exception):
    """What the C runtime said went wrong."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        super().__init__(message)


def compiler(name: str) -> str | None:
    return shutil.which(name)


def compile_c(output: Path, *arguments: str, tool: str = "gcc") -> Path:
    """Compile with shadesmith.h in reach; anything a compiler says fails the test.

    The workers of a run, and later runs, take what one has compiled of the same files.
    """
    command = [tool, "-I", str(FOLDER), *arguments, "-ldl", "-lm"]
    stored = _stored(command)
    if stored is not None and stored.exists():
        shutil.copy(stored, output)
        return output
    done = subprocess.run([*command, "-o", str(output)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and not done.stderr, done.stderr
    if stored is not None:
        stored.parent.mkdir(parents=True, exist_ok=True)
        part = stored.with_name(f"{stored.name}.{os.getpid()}")
        shutil.copy(output, part)
        os.replace(part, stored)
    return output


def _stored(command: list[str]) -> Path | None:
    """Return where the output of a command is stored: the name is a digest of the compiler and of all files.

    None without a folder of binaries (`make test-all`), or if the command has files of one test.
    """
    folder = os.environ.get("SHADESMITH_BINARIES_DIR")
    paths = [Path(word) for word in command if os.path.isabs(word)]
    if not folder or not all(path.is_relative_to(PACKAGE) for path in paths):
        return None
    folders = {path if path.is_dir() else path.parent for path in paths}
    program = shutil.which(command[0])
    assert program is not None
    digest = hashlib.sha256(f"{command}\n{c_compiler_identity([program])}".encode())
    for path in sorted(path for folder in folders for path in folder.glob("*.[ch]*")):
        digest.update(f"\0{path}\0".encode() + path.read_bytes())
    return Path(f"{folder}-c-api") / digest.hexdigest()


def load_library(path: Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(path))
    for name, (result, parameters) in SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, parameters
    return library


def scalar(type: str, value: object) -> Argument:
    argument = Argument(type=4)
    argument.value.scalar.type = TYPES[type]
    bits = np.array([value], NUMPY[type]).tobytes()
    argument.value.scalar.value = int.from_bytes(bits, "little")
    return argument


def tensor(type: str, values: object) -> Argument:
    numbers = np.asarray(values, NUMPY[type])
    argument = Argument(type=5)
    argument.value.tensor.type = TYPES[type]
    argument.value.tensor.length = numbers.size
    ctypes.memmove(argument.value.tensor.data, numbers.tobytes(), numbers.nbytes)
    return argument


def structure(data: bytes) -> Argument:
    argument = Argument(type=32)
    argument.kept = ctypes.create_string_buffer(data, len(data))
    argument.value.structure.data = ctypes.addressof(argument.kept)
    argument.value.structure.size = len(data)
    return argument


def i32(value: int) -> Argument:
    argument = Argument(type=0)
    argument.value.i32 = value
    return argument


def f32(value: float) -> Argument:
    argument = Argument(type=1)
    argument.value.f32 = value
    return argument


class Runtime:
    """A runtime, and what a test needs of it."""

    def __init__(self, library: ctypes.CDLL, arch: int) -> None:
        self.library = library
        self.handle = self.call("ti_create_runtime", arch, 0)

    def call(self, name: str, *arguments: object) -> object:
        """Call a function of shadesmith.h. Raises: CError if it failed."""
        self.library.ti_set_last_error(0, None)
        result = getattr(self.library, name)(*arguments)
        code = self.library.ti_get_last_error(None, None)
        if code:
            raise CError(code, self.library.ti_get_last_error_message().decode())
        return result

    def close(self) -> None:
        self.call("ti_destroy_runtime", self.handle)

    def allocate(self, size: int, read: bool = True, write: bool = True) -> object:
        return self.call("ti_allocate_memory", self.handle, byref(AllocateInfo(size, write, read)))

    def load(self, path: Path | str) -> object:
        return self.call("ti_load_aot_module", self.handle, str(path).encode())

    def kernel(self, module: object, name: str) -> object:
        return self.call("ti_get_aot_module_kernel", module, name.encode())

    def launch(self, kernel: object, *arguments: Argument) -> None:
        self.call("ti_launch_kernel", self.handle, kernel, len(arguments), (Argument * len(arguments))(*arguments))

    def launch_graph(self, graph: object, **arguments: Argument) -> None:
        given = (NamedArgument * len(arguments))(*(NamedArgument(name.encode(), a) for name, a in arguments.items()))
        self.call("ti_launch_compute_graph", self.handle, graph, len(arguments), given)

    def read(self, memory: object, size: int, offset: int = 0) -> bytes:
        data = ctypes.create_string_buffer(max(1, size))
        self.call("ti_read_memory", self.handle, byref(Slice(memory, offset, size)), data)
        return data.raw[:size]

    def write(self, memory: object, data: bytes, offset: int = 0) -> None:
        self.call("ti_write_memory", self.handle, byref(Slice(memory, offset, len(data))), data)

    def array(self, values: np.ndarray, element: str, element_shape: tuple[int, ...] = ()) -> tuple[object, Argument]:
        """Put an array on the device; return its memory and the argument."""
        memory = self.allocate(values.nbytes)
        self.write(memory, values.tobytes())
        shape = values.shape[: values.ndim - len(element_shape)]
        return memory, ndarray(memory, shape, element, element_shape)

    def image(self, shape: tuple[int, ...], format: int, usage: int = 0) -> object:
        return self.call("ti_allocate_image", self.handle, byref(image_info(shape, format, usage)))

    def sampler(self, filter: int, address: int) -> object:
        return self.call("ti_create_sampler", self.handle, byref(SamplerInfo(filter, filter, address, 0)))

    def write_image(self, slice: ImageSlice, data: bytes) -> None:
        memory = self.allocate(len(data))
        self.write(memory, data)
        self.call("ti_copy_memory_to_image", self.handle, byref(slice), byref(Slice(memory, 0, len(data))))
        self.call("ti_free_memory", self.handle, memory)

    def read_image(self, slice: ImageSlice, size: int) -> bytes:
        memory = self.allocate(size)
        self.call("ti_copy_image_to_memory", self.handle, byref(Slice(memory, 0, size)), byref(slice))
        data = self.read(memory, size)
        self.call("ti_free_memory", self.handle, memory)
        return data

    def result(self, kernel: object, type: str, count: int = 1, number: int = 0) -> np.ndarray:
        values = np.zeros(count, NUMPY[type])
        self.call("ti_get_kernel_result", self.handle, kernel, number, values.ctypes.data, values.nbytes)
        return values


def ndarray(memory: object, shape: tuple[int, ...], element: str, element_shape: tuple[int, ...] = ()) -> Argument:
    argument = Argument(type=2)
    array = argument.value.ndarray
    array.memory = memory
    array.shape = Shape(len(shape), tuple(shape))
    array.elem_shape = Shape(len(element_shape), tuple(element_shape))
    array.elem_type = TYPES.get(element, UNKNOWN)
    return argument


def extent(shape: tuple[int, ...]) -> Extent:
    return Extent(*(*shape, 1, 1)[:3], 1)


def image_info(shape: tuple[int, ...], format: int, usage: int = 0) -> ImageInfo:
    return ImageInfo(len(shape) - 1, extent(shape), 1, format, 0, usage)


def image_slice(image: object, shape: tuple[int, ...], offset: tuple[int, ...] = ()) -> ImageSlice:
    """Return a part of an image; its shape and offset are those of Python, x first."""
    return ImageSlice(image, (c_uint32 * 4)(*offset), extent(shape), 0)


def texture(image: object, shape: tuple[int, ...], format: int, sampler: object = None) -> Argument:
    argument = Argument(type=3)
    argument.value.texture = Texture(image, sampler, len(shape) - 1, extent(shape), format)
    return argument
