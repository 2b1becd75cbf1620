"""Generates the functions by which C and CUDA read and write texels; GLSL has its own.

Keys: "texel load rgba8 2", "texel store rgba8 2" (a format and the number of axes), "texel sample f32 2", "texel fetch
f32 2" (what a component is). CUDA reads raw texels through surfaces, so the text converts them as a format says; C does
so in memory that `templates/c/lib/texture.h` describes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ..ir.textures import FORMATS, TexelFormat
from ..ir.types import SCALARS, Scalar, Tensor, Type, f32, i32, u32
from .helpers import called
from .tensor_functions import QUALIFIERS, Generated
from .tensors import COMPONENTS, init_text, name_of, type_keys

HANDLES = {"cuda": ("cudaTextureObject_t", "cudaSurfaceObject_t"), "c": ("const Texture *", "const Texture *")}
"""What a texture is in `Args`: one that is sampled, one that is stored to."""
CUDA_VECTORS = {
    "u8": "uchar", "u16": "ushort", "u32": "uint", "i8": "char", "i16": "short", "i32": "int", "f16": "ushort",
    "f32": "float",
}  # fmt: skip
"""CUDA's own vectors of 2 and 4 by the type of a channel."""
CUDA_SCALARS = {"u8": "unsigned char", "i8": "signed char", "u16": "unsigned short", "f16": "unsigned short",
                "i16": "short", "u32": "unsigned", "i32": "int", "f32": "float"}  # fmt: skip


def declared(target: str, is_storage: bool) -> str:
    """Return the type of a member of `Args` that stands for a texture."""
    return HANDLES[target][is_storage]


def key_of(what: str, kind: str, ndim: int) -> str:
    """Return the key of a function. what: "load", "store", "sample" or "fetch". kind: a format, or a component."""
    return f"texel {what} {kind} {ndim}"


def name_in(key: str) -> str:
    """Return the name of the function of `key`: load_rgba8_2d, sample_2d, fetch_3d_u32."""
    _, what, kind, ndim = key.split(" ")
    if what in ("load", "store"):
        return f"{what}_{kind}_{ndim}d"
    return f"{what}_{ndim}d" if kind == "f32" else f"{what}_{ndim}d_{kind}"


@lru_cache(maxsize=512)
def generate(target: str, key: str) -> Generated:
    """Return the function of `key`."""
    _, what, kind, axes = key.split(" ")
    ndim = int(axes)
    if what in ("load", "store"):
        row = FORMATS[kind]
        write = {("cuda", "load"): _cuda_load, ("cuda", "store"): _cuda_store}
        write |= {("c", "load"): _c_load, ("c", "store"): _c_store}
        result, parameters, lines = write[target, what](row, ndim)
    else:
        sample = {"cuda": _cuda_read, "c": _c_read}[target]
        result, parameters, lines = sample(what, SCALARS[kind], ndim)
    head = f"{QUALIFIERS[target]}{result} {name_in(key)}({', '.join(parameters)}) {{"
    comment = _comment(what, kind, ndim)
    text = "\n".join([comment, head, *(f"    {line}" for line in lines), "}"])
    body = "\n".join([head, *lines])
    return Generated(name_in(key), text, (*_types(target, what, kind, ndim), *called(target, body)))


Function = tuple[str, list[str], list[str]]
"""Type of the result, parameters, and the lines of the body."""


def _comment(what: str, kind: str, ndim: int) -> str:
    if what == "load":
        return f"// A texel of format {kind}; 0 outside."
    if what == "store":
        return f"// Store a texel in format {kind}; outside nothing happens."
    if what == "fetch":
        return "// A texel; 0 outside."
    return "// The texture at a place, 0 to 1 along each axis, by its own filter and address modes."


def _types(target: str, what: str, kind: str, ndim: int) -> tuple[str, ...]:
    element = SCALARS[kind] if kind in SCALARS else FORMATS[kind].element
    place = _place_type(f32 if what == "sample" else i32, ndim)
    types: list[Type] = [Tensor((4,), element), place, element]
    return tuple(dict.fromkeys(key for type in types for key in type_keys(target, type)))


def _place_type(element: Scalar, ndim: int) -> Type:
    return element if ndim == 1 else Tensor((ndim,), element)


def _axes(name: str, ndim: int) -> list[str]:
    """Return the texts of the parts of a place."""
    return [name] if ndim == 1 else [f"{name}.{letter}" for letter in "xyz"[:ndim]]


def _texel(target: str, element: Scalar, channels: Sequence[str]) -> str:
    """Return a texel of what was read: 0 for what is missing, 1 for alpha."""
    missing = {"f32": ("0.0f", "1.0f"), "u32": ("0u", "1u"), "i32": ("0", "1")}[element.name]
    texts = [*channels, *[missing[0]] * 3][:3] + [channels[3] if len(channels) == 4 else missing[1]]
    return init_text(target, Tensor((4,), element), texts)


# --- what a channel holds -------------------------------------------------------------------------------------------


def _most(channel: Scalar) -> str:
    """Return the number that 1.0 is stored as."""
    return f"{(1 << channel.bits) - 1}.0f"


def _read(target: str, row: TexelFormat, text: str) -> str:
    """Return the component of a texel that a channel in memory stands for."""
    if row.kind == "unorm":
        return f"{text} / {_most(row.channel)}"
    if row.channel.name == "f16":
        return f"half_from_bits({text})" if target == "cuda" else f"(float){text}"
    return text


def _written(target: str, row: TexelFormat, text: str) -> str:
    """Return the channel that a component is stored as: the nearest that the format has."""
    channel, type = row.channel, name_of(target, row.channel)
    if row.kind == "unorm":
        inside = f"__saturatef({text})" if target == "cuda" else f"fminf(fmaxf({text}, 0.0f), 1.0f)"
        return f"({type})rintf({inside} * {_most(channel)})"
    if channel.name == "f16":
        return f"half({text}).bits" if target == "cuda" else f"(_Float16){text}"
    if channel.bits == 32:
        return text
    if row.kind == "uint":
        most = f"{(1 << channel.bits) - 1}u"
        return f"({type})min({text}, {most})" if target == "cuda" else f"({type})({text} < {most} ? {text} : {most})"
    least, most = str(-(1 << channel.bits - 1)), str((1 << channel.bits - 1) - 1)
    if target == "cuda":
        return f"({type})max({least}, min({text}, {most}))"
    return f"({type})({text} < {least} ? {least} : {text} < {most} ? {text} : {most})"


# --- CUDA -----------------------------------------------------------------------------------------------------------


def _cuda_vector(row: TexelFormat) -> str:
    name = row.channel.name
    return CUDA_SCALARS[name] if row.channels == 1 else f"{CUDA_VECTORS[name]}{row.channels}"


def _cuda_place(row: TexelFormat, ndim: int) -> str:
    """Return the arguments for a place in a surface, which counts bytes along its first axis."""
    first, *others = _axes("at", ndim)
    size = f" * {row.texel_bytes}" if row.texel_bytes > 1 else ""
    return ", ".join([f"{first}{size}", *others, "cudaBoundaryModeZero"])


def _cuda_load(row: TexelFormat, ndim: int) -> Function:
    names = ["texel"] if row.channels == 1 else [f"texel.{letter}" for letter in COMPONENTS[: row.channels]]
    vector = _cuda_vector(row)
    channels = [_read("cuda", row, name) for name in names]
    return (
        name_of("cuda", Tensor((4,), row.element)),
        ["cudaSurfaceObject_t image", f"{name_of('cuda', _place_type(i32, ndim))} at"],
        [
            f"{vector} texel = surf{ndim}Dread<{vector}>(image, {_cuda_place(row, ndim)});",
            f"return {_texel('cuda', row.element, channels)};",
        ],
    )


def _cuda_store(row: TexelFormat, ndim: int) -> Function:
    values = [_written("cuda", row, f"value.{letter}") for letter in COMPONENTS[: row.channels]]
    vector = _cuda_vector(row)
    lines = [f"{vector} texel = {values[0]};"]
    if row.channels > 1:
        lines = [f"{vector} texel;"]
        lines += [f"texel.{letter} = {value};" for letter, value in zip(COMPONENTS, values, strict=False)]
    return (
        "void",
        [
            "cudaSurfaceObject_t image",
            f"{name_of('cuda', _place_type(i32, ndim))} at",
            f"{name_of('cuda', Tensor((4,), row.element))} value",
        ],
        [*lines, f"surf{ndim}Dwrite(texel, image, {_cuda_place(row, ndim)});"],
    )


def _cuda_read(what: str, element: Scalar, ndim: int) -> Function:
    vector = {"f32": "float4", "i32": "int4", "u32": "uint4"}[element.name]
    place, tensor = _axes("at", ndim), Tensor((4,), element)
    one = {"f32": "1.0f", "i32": "1", "u32": "1u"}[element.name]
    channels = ["texel.x", "texel.y", "texel.z", f"channels < 4 ? {one} : texel.w"]
    if what == "fetch":  # an object with coordinates in texels, whose centres are halves
        place = [f"{axis} + 0.5f" for axis in place]
    return (
        name_of("cuda", tensor),
        [
            "cudaTextureObject_t texture",
            "int channels",
            f"{name_of('cuda', _place_type(f32 if what == 'sample' else i32, ndim))} at",
        ],
        [
            f"{vector} texel = tex{ndim}D<{vector}>(texture, {', '.join(place)});",
            f"return {init_text('cuda', tensor, channels)};",
        ],
    )


# --- C --------------------------------------------------------------------------------------------------------------


def _c_place(ndim: int) -> str:
    return ", ".join([*_axes("at", ndim), "0", "0"][:3])


def _c_load(row: TexelFormat, ndim: int) -> Function:
    type, texel = name_of("c", row.channel), name_of("c", Tensor((4,), row.element))
    channels = [_read("c", row, f"texel[{k}]") for k in range(row.channels)]
    return (
        texel,
        ["const Texture *image", f"{name_of('c', _place_type(i32, ndim))} at"],
        [
            f"const {type} *texel = texel_at(image, {_c_place(ndim)}, {row.texel_bytes});",
            "if (!texel) {",
            f"    return ({texel}){{0}};",
            "}",
            f"return {_texel('c', row.element, channels)};",
        ],
    )


def _c_store(row: TexelFormat, ndim: int) -> Function:
    type = name_of("c", row.channel)
    values = [_written("c", row, f"value.{letter}") for letter in COMPONENTS[: row.channels]]
    return (
        "void",
        [
            "const Texture *image",
            f"{name_of('c', _place_type(i32, ndim))} at",
            f"{name_of('c', Tensor((4,), row.element))} value",
        ],
        [
            f"{type} *texel = texel_at(image, {_c_place(ndim)}, {row.texel_bytes});",
            "if (!texel) {",
            "    return;",
            "}",
            *(f"texel[{k}] = {value};" for k, value in enumerate(values)),
        ],
    )


def _c_read(what: str, element: Scalar, ndim: int) -> Function:
    texel = name_of("c", Tensor((4,), element))
    place, names = _place_type(f32 if what == "sample" else i32, ndim), list(COMPONENTS)
    if what == "fetch":
        call = f"{FETCHES[element]}(texture, {_c_place(ndim)}, texel);"
    else:
        axes = ", ".join([*_axes("at", ndim), "0.5f", "0.5f"][:3])
        call = f"{SAMPLES[element]}(texture, {axes}, texel);"
    return (
        texel,
        ["const Texture *texture", f"{name_of('c', place)} at"],
        [
            f"{name_of('c', element)} texel[4];",
            call,
            f"return {init_text('c', Tensor((4,), element), [f'texel[{k}]' for k in range(len(names))])};",
        ],
    )


FETCHES = {f32: "fetch_floats", i32: "fetch_integers", u32: "fetch_naturals"}
SAMPLES = {f32: "sample_floats", i32: "sample_integers", u32: "sample_naturals"}
"""Functions of `templates/c/lib/texture.h` that fill four components."""
