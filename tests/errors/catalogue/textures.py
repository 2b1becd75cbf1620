"""Textures: annotations, places, texels, and what a kind of texture cannot do."""

from __future__ import annotations

from .case import COMPILATION, INDEX, NAME, SYNTAX, TYPE, Case, refused, refused_call

MAKE = "t = ti.Texture(ti.Format.r32f, (4, 4))\n"
RW = "ti.types.rw_texture(num_dimensions=2, fmt=ti.Format.r32f)"


def stored(*body: str, annotation: str = RW) -> str:
    """Return a program whose kernel takes a texture `t`."""
    lines = ["@ti.kernel", f"def k(t: {annotation}):", *("    " + line for line in body)]
    return MAKE + "\n".join([*lines, "k(t)"])


def sampled(*body: str) -> str:
    return stored(*body, annotation="ti.types.texture(num_dimensions=2)")


P = "ti.Vector([0, 0])"

CASES: list[Case] = [
    refused_call("textures/four_axes", COMPILATION, "A texture has 1, 2 or 3 axes, found num_dimensions=4", "num_dimensions=2", "«ti.types.texture(4)"),
    refused_call("textures/rw_without_format", COMPILATION, "fmt is required for rw_texture type", "fmt=ti.Format.rgba8", "«ti.types.rw_texture(2)"),
    refused_call("textures/format_of_text", COMPILATION, "'rgba8' is not a texture format", "ti.Format.rgba8", "«ti.types.rw_texture(2, fmt='rgba8')"),
    refused_call("textures/unknown_format", COMPILATION, "is not a texture format", "ti.Format.rgba8", "«ti.types.rw_texture(2, fmt=ti.Format.unknown)"),
    *(
        refused_call(f"textures/no_storage_of_{name}", COMPILATION, f"No kernel can store to a texture of format `{name}`", "rgba8", f"«ti.types.rw_texture(2, fmt=ti.Format.{name})")
        for name in ("rgb32f", "bgra8", "rgba8srgb", "depth32f", "rgb16u")
    ),
    refused_call("textures/channels_of_doubles", COMPILATION, "There is no format with 4 channels of f64", "ti.Format", "«ti.types.rw_texture(2, num_channels=4, channel_format=ti.f64)"),
    refused_call("textures/five_channels", COMPILATION, "There is no format with 5 channels of u8", "ti.Format", "«ti.types.rw_texture(2, num_channels=5, channel_format=ti.u8)"),
    refused_call("textures/levels", COMPILATION, "A texture has one level, found lod=1", "leave `lod` out", "«ti.types.rw_texture(2, fmt=ti.Format.r32f, lod=1)"),
    refused("textures/load_of_a_sampled_one", NAME, "`t` is a texture that is sampled, which has no `load`", "`ti.types.rw_texture(num_dimensions=2, fmt=ti.Format.rgba8)`", sampled(f"v = «t.load({P})")),
    refused("textures/sample_of_a_stored_one", NAME, "`t` is a texture that is stored to, which has no `sample_lod`", "`ti.types.texture(num_dimensions=2)`", stored(f"v = «t.sample_lod({P}, 0.0)")),
    refused("textures/no_such_method", NAME, "the texture `t` has no attribute `width`", "there are load, store, shape", stored("v = «t.width")),
    refused("textures/subscript", TYPE, "The texture `t` cannot be subscripted", "t.load(...)", stored("v = «t[0, 0]")),
    refused("textures/fractional_index", TYPE, "indices must be integers, however 'f32' is provided", "ti.cast(p, ti.i32)", stored("v = «t.load(ti.Vector([0.5, 0.5]))")),
    refused("textures/one_index_of_two", INDEX, "The index of a texel of `t` takes 2, found 1 number", "t.load(ti.Vector([x, y]))", stored("v = «t.load(1)")),
    refused("textures/three_indices_of_two", INDEX, "takes 2, found 3 numbers", "t.store(ti.Vector([x, y]), ti.Vector([r, g, b, a]))", stored("«t.store(ti.Vector([1, 1, 1]), ti.Vector([1.0, 0.0, 0.0, 0.0]))")),
    refused("textures/texel_of_three", TYPE, "A texel is a vector of 4 numbers, found `vector(3, f32)`", "channels that the format lacks are left out", stored(f"«t.store({P}, ti.Vector([1.0, 0.0, 0.0]))")),
    refused("textures/texel_of_one", TYPE, "A texel is a vector of 4 numbers, found `f32`", "ti.Vector([r, g, b, a])", stored(f"«t.store({P}, 1.0)")),
    refused("textures/fetch_without_level", SYNTAX, "called without its argument `lod`", "t.fetch(ti.Vector([x, y]), 0)", sampled(f"v = «t.fetch({P})")),
    refused("textures/level_of_two", TYPE, "The level of detail is a number, found `vector(2, i32)`", "t.sample_lod(ti.Vector([x, y]), 0.0)", sampled(f"v = «t.sample_lod({P}, {P})")),
    refused("textures/captured", NAME, "`t` is a texture of Python scope", "pass it as an argument", MAKE + f"@ti.kernel\ndef k():\n    v = «t.load({P})\nk()"),
    refused("textures/as_value", TYPE, "The texture `t` cannot be used as a value in a kernel", "use a number", stored("v = «t + 1.0")),
    refused("textures/annotation_without_axes", SYNTAX, "`t` is a `TextureType`, which is not a type of a kernel parameter", "write `ti.types.texture(num_dimensions=2)`", "@ti.kernel\ndef k(«t: ti.types.texture):\n    pass"),
    refused("textures/annotation_without_format", SYNTAX, "`t` is a `RWTextureType`", "fmt=ti.Format.rgba8", "@ti.kernel\ndef k(«t: ti.types.rw_texture):\n    pass"),
    refused("textures/printed", TYPE, "The texture `t` cannot be printed as a whole", "print a texel: `t.fetch(p, 0)`", sampled("«print(t)")),
    refused("textures/array_printed", TYPE, "The array `t` cannot be printed as a whole", "print an element: `x[i]`", "t = ti.ndarray(ti.f32, 3)\n@ti.kernel\ndef k(t: ti.types.ndarray()):\n    «print('t:', t)\nk(t)"),
    refused("textures/field_printed", TYPE, "An array of type `ScalarField` cannot be printed as a whole", "print an element: `x[i]`", "t = ti.field(ti.f32, 3)\n@ti.kernel\ndef k():\n    «print(f'{t}')\nk()"),
]  # fmt: skip
