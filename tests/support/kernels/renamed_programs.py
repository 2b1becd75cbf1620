"""Programs whose every name can be another: `$name` stands for a name that a user chose, all else for Python and `ti`.

Each text ends with `run()`, which returns what the program computed, as numbers that no name may change. In: a text and
a name for each `$name`. Out: results, and what was compiled. `words_of_texts` says which words a text of ours is made of:
the names that are most likely to hide something.
"""

from __future__ import annotations

import io
import itertools
import keyword
import linecache
import random
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from string import Template
from typing import Any

import pytest

import shadesmith as ti
from shadesmith.runtime.cache import compiler
from shadesmith.runtime.devices.capabilities import capabilities_for
from shadesmith.transpiler.backend.languages.common.helpers import identifiers_of
from shadesmith.transpiler.backend.languages.registry import LANGUAGES
from shadesmith.transpiler.backend.module.interface import SourceFile
from shadesmith.transpiler.frontend.source.specialization import Specialization
from shadesmith.transpiler.pipeline import compile_kernel

PLACEHOLDER = re.compile(r"\$(\w+)")
ATTRIBUTE = re.compile(r"(?:self|\$\w+|\])\.\$(\w+)")
FILES = itertools.count()

VECTORS = """
$field = ti.Vector.field(3, ti.f32, shape=8)
$total, $peak = ti.field(ti.i32, ()), ti.field(ti.i32, ())

@ti.func
def $function($given, $other):
    $local = $given.cross($other) + $other.normalized()
    for $inner in range(3):
        $local[$inner] += $given[$inner] * 0.5
    return $local

@ti.kernel
def $kernel($array: ti.types.ndarray(dtype=ti.f32, ndim=2), $scalar: ti.f32, $number: ti.i32) -> ti.f32:
    $sum = 0.0
    for $row, $column in $array:
        $first = ti.Vector([$scalar, $row + 1.0, $column + 2.0])
        $matrix = ti.Matrix([[$scalar, 1.0, 2.0], [0.5, $row, 3.0], [1.0, 4.0, $column]])
        $second = $matrix @ $first + $function($first, -$first.zyx * 0.25)
        $product = ($matrix.transpose() @ $matrix + $first.outer_product($second))
        $other = ti.math.clamp($product[0, 1], -9.0, $product.trace()) + ti.math.mix($first.x, $second.y, 0.25)
        $integers = ti.Vector([$row, $column, $number]) // 3 % 2
        $array[$row, $column] += $other + $second.norm() + ($second / 3.0).max() + $first.dot($second)
        $field[$row] += $second * 0.125 + ti.abs($first) + ti.min($first, $second)
        $total[None] += $integers.sum() + ti.cast($other, ti.i32) % 7
        ti.atomic_max($peak[None], $number * $row)
        ti.atomic_add($sum, ti.sqrt($scalar * $scalar) ** 2 + ti.floor($scalar) // 2.0)
    return $sum

def run():
    import numpy as np
    data = np.arange(12, dtype=np.float32).reshape(4, 3)
    result = $kernel(data, 1.5, 5)
    return [result, data.sum(), $field.to_numpy().sum(), $total[None], $peak[None]]
"""

STRUCTS = """
@ti.dataclass
class $inner:
    $position: ti.math.vec2
    $mass: ti.f32

    @ti.func
    def $method(self, $given):
        $moved = self.$position * $given
        return $moved.norm() + self.$mass

@ti.dataclass
class $outer:
    $member: $inner
    $number: ti.i64
    $flag: ti.u1

$field = $outer.field(shape=6)
$plain = ti.Struct.field({"$mass": ti.f32, "$number": ti.math.ivec3}, shape=6)

@ti.real_func
def $function($given: $inner, $other: ti.i32) -> (ti.f32, ti.i32):
    $local = $given.$mass + $other
    if $local > 100.0:
        return $local, $other
    return $given.$method($local), $other * 2

@ti.kernel
def $kernel($argument: $inner) -> $inner:
    for $index in $field:
        $field[$index].$member.$mass = $argument.$mass + $index
        $field[$index].$member.$position = $argument.$position * $index
        $field[$index].$number += $index
        $field[$index].$flag = $index % 2 == 0
    $result = $argument
    $total = 0
    for $index in range(6):
        $value, $count = $function($field[$index].$member, $index)
        $copy = $field[$index]
        $copy.$member.$mass += $value
        $result.$mass += $copy.$member.$mass
        $total += $count + ti.cast($copy.$number, ti.i32)
        if $copy.$flag:
            $plain[$index].$mass = $copy.$member.$method(2.0)
            $plain[$index].$number += ti.math.ivec3($count, $index, 7)
    $result.$position += ti.math.vec2($total, $result.$mass)
    return $result

def run():
    $result = $kernel($inner(ti.math.vec2(1, 2), 3))
    return [$result.$mass, *$result.$position.to_list(), $plain.$mass.to_numpy().sum(),
            $plain.$number.to_numpy().sum(), $field.$number.to_numpy().sum()]
"""

NUMBERS = """
$field = ti.field(ti.f32, 16)
$wide = ti.field(ti.i64, 16)
$small = ti.field(ti.i8, 16)
$half = ti.field(ti.f16, 16)
$limit, $least = ti.field(ti.i32, ()), ti.field(ti.f32, 6)

@ti.func
def $function($given):
    $count = 0
    while $given != 1 and $count < 50:
        $given = $given // 2 if $given % 2 == 0 else 3 * $given + 1
        $count += 1
    return $count

@ti.kernel
def $kernel($number: ti.i32, $real: ti.f32, $large: ti.u64) -> ti.i64:
    $bound = $limit[None] * 2
    for $index in range($bound):
        $random = ti.random()
        $bits = ti.bit_cast($real * $index, ti.u32)
        $field[$index] = ti.atan2($real, $index - 7.5) + ti.tanh($real) + ti.sin($real) + ti.pow($real, 1.25)
        $field[$index] += ti.cast($random >= 0.0 and $random < 1.0, ti.f32) + ti.rsqrt($real) + ti.math.sign($real)
        $wide[$index] = ti.cast($bits, ti.i64) // ($index - 20) + $number ** 3 + ti.cast($large % 11, ti.i64)
        $wide[$index] += ti.math.clz($number) + ti.math.popcnt($bits) + ti.abs($number - 90) % 13
        $small[$index] = ti.cast($index * 17 + $number, ti.i8)
        $half[$index] = ti.cast($real, ti.f16) * ti.cast(0.5, ti.f16) + ti.cast(ti.floor($real * $index), ti.f16)
    $total = ti.i64(0)
    for $row, $column in ti.ndrange($bound // 4, (1, 5)):
        $place = $row * 4 + $column - 1
        $total += $wide[$place] + $small[$place] + $function($place + 1)
        ti.atomic_xor($wide[$row], $place)
        ti.atomic_min($least[$column], $field[$place] - 1)
    return $total

def run():
    $limit[None] = 8
    $total = $kernel(77, 0.75, 2**40 + 5)
    return [$total, $field.to_numpy().sum(), $wide.to_numpy().sum(), $small.to_numpy().sum(), float($half[9]),
            $least.to_numpy().sum()]
"""

SPARSE = """
$pointer = ti.root.pointer(ti.ij, (4, 4))
$mask = $pointer.bitmasked(ti.ij, (2, 2))
$value, $vector = ti.field(ti.i32), ti.Vector.field(2, ti.f32)
$mask.place($value, $vector)
$rows = ti.root.dense(ti.i, 4)
$list = $rows.dynamic(ti.j, 32, chunk_size=4)
$item = ti.field(ti.i32)
$list.place($item)
$particles = ti.root.dense(ti.i, 8)
$mass, $velocity = ti.field(ti.f32), ti.Vector.field(2, ti.f32)
$particles.place($mass, $velocity)
$cells = $particles.dense(ti.i, 2)
$fine, $finer = ti.field(ti.i32), ti.field(ti.i64)
$cells.place($fine, $finer)

@ti.kernel
def $fill($number: ti.i32):
    for $index in range($number):
        $value[$index, $index // 2] += $index
        $vector[$index, 7 - $index] = ti.Vector([$index, 1.0])
        $place = ti.append($list, $index % 4, $index * 3)
        $particles_mass = $index + $place * 0
        $mass[$index % 8] += $particles_mass
    for $cell in $fine:
        $fine[$cell] = $cell
        $finer[$cell] = $cell * 2

@ti.kernel
def $gather() -> ti.i32:
    $total = 0
    for $row, $column in $value:
        $total += $value[$row, $column] + 100
        $active = ti.is_active($mask, [$row, $column])
        if $active and $value[$row, $column] > 3:
            ti.deactivate($mask, [$row, $column])
    for $row, $place in $item:
        $total += $item[$row, $place]
    for $row in range(4):
        $length = ti.length($list, $row)
        $total += $length * 1000
    for $row in $mass:
        $total += ti.cast($mass[$row] + $velocity[$row].x, ti.i32)
        ti.atomic_add($velocity[$row], ti.Vector([1.0, 2.0]))
    return $total

def run():
    $fill(8)
    return [$gather(), $gather(), $mass.to_numpy().sum(), $velocity.to_numpy().sum(), $finer.to_numpy().sum()]
"""

TEXTURES = """
$picture = ti.Texture(ti.Format.rgba8, (8, 8))
$numbers = ti.Texture(ti.Format.r32f, (4, 4, 4))
$field = ti.field(ti.f32, (8, 8))

@ti.kernel
def $draw($target: ti.types.rw_texture(num_dimensions=2, fmt=ti.Format.rgba8, lod=0),
          $solid: ti.types.rw_texture(num_dimensions=3, fmt=ti.Format.r32f, lod=0), $scale: ti.f32):
    for $row, $column in ti.ndrange(8, 8):
        $texel = ti.Vector([$row / 8.0, $column / 8.0, $scale, 1.0])
        $target.store(ti.Vector([$row, $column]), $texel)
        $read = $target.load(ti.Vector([$row, $column]))
        $field[$row, $column] = $read.x
    for $place in ti.grouped(ti.ndrange(4, 4, 4)):
        $solid.store($place, ti.Vector([$place.x * $scale, 0.0, 0.0, 0.0]))

@ti.kernel
def $sample($sampled: ti.types.texture(num_dimensions=2), $other: ti.types.texture(num_dimensions=3)) -> ti.f32:
    $sum = 0.0
    for $row, $column in ti.ndrange(8, 8):
        $at = (ti.Vector([$row, $column]) + 0.5) / 8.0
        $color = $sampled.sample_lod($at, 0.0)
        $exact = $sampled.fetch(ti.Vector([$row, $column]), 0)
        $deep = $other.fetch(ti.Vector([$row, $column, 1]) % 4, 0)
        $sum += ($color - $exact).norm() + $deep.x + $field[$row, $column]
    return $sum

def run():
    $draw($picture, $numbers, 0.5)
    return [round($sample($picture, $numbers), 2), round(float($field.to_numpy().sum()), 2)]
"""

SURROUNDINGS = """
@ti.data_oriented
class $class_:
    def __init__(self):
        self.$field = ti.field(ti.i32, (4, 4), needs_grad=False)
        self.$scale = 3

    @ti.func
    def $clamped(self, $row, $column):
        $low = ti.max($row - 1, 0)
        $high = ti.min($column + 1, 3)
        return self.$field[$low, $high]

    @ti.kernel
    def $kernel(self, $array: ti.types.ndarray(), $number: ti.i32, $text: ti.template()):
        ti.loop_config(block_dim=32)
        for $row, $column in self.$field:
            assert $number > 0, "$number is wrong"
            $index = $row * 4 + $column
            self.$field[$row, $column] = $index * self.$scale // $number + $text
            if $index == 5 and $number == 99:
                print("$index", $index, self.$field[$row, $column], $number * 0.5)
        ti.loop_config(serialize=True)
        for $count in range(4):
            $value = self.$clamped($count, $count) + $array[$count]
            $array[$count] = $value << 1
        for $thread in range(70):
            $last = $thread % 4
            if $last == 3:
                continue
            ti.atomic_add(self.$field[$last, 0], $array[$last] - $thread)

@ti.kernel
def $wide_kernel($a1: ti.f64, $a2: ti.f64, $a3: ti.f64, $a4: ti.f64, $a5: ti.f64, $a6: ti.f64, $a7: ti.f64,
                 $a8: ti.f64, $m1: ti.types.matrix(3, 3, ti.f64), $m2: ti.types.matrix(2, 3, ti.f32),
                 $out: ti.types.ndarray(dtype=ti.f32, ndim=1)) -> ti.types.matrix(2, 3, ti.f32):
    $product = $m2 @ ti.cast($m1, ti.f32)
    for $index in $out:
        $sum = $a1 + $a2 * $a3 - $a4 + $a5 * $a6 + $a7 / $a8 + $m1[1, 2]
        $out[$index] = ti.cast($sum, ti.f32) + $index
    return $product

def run():
    import numpy as np
    $value = $class_()
    $array = np.array([1, 2, 3, 4], np.int32)
    $value.$kernel($array, 2, 7)
    $out = np.zeros(5, np.float32)
    $product = $wide_kernel(1, 2, 3, 4, 5, 6, 7, 8, ti.Matrix([[1, 2, 3], [4, 5, 6], [7, 8, 9]]),
                            ti.Matrix([[1, 0, 2], [3, 1, 0]]), $out)
    return [$value.$field.to_numpy().sum(), $array.sum(), $out.sum(), $product.to_numpy().sum()]
"""

BLOCKS = """
$input, $output = ti.field(ti.f32, 256), ti.field(ti.f32, 256)
$sums = ti.field(ti.i32, 4)

@ti.kernel
def $kernel($factor: ti.f32):
    ti.loop_config(block_dim=64)
    for $index in range(256):
        $tile = ti.simt.block.SharedArray((64,), ti.f32)
        $lane = $index % 64
        $block = $index // 64
        $tile[$lane] = $input[$index] * $factor
        ti.simt.block.sync()
        $neighbour = $tile[(63 - $lane)]
        $output[$index] = $neighbour
        $value = ti.cast($neighbour, ti.i32)
        ti.simt.block.sync()
        $tile[$lane] += $neighbour
        ti.simt.block.sync()
        $sum = $tile[($lane + 1) % 64]
        ti.atomic_add($sums[$block], $value + ti.cast($sum, ti.i32))

def run():
    import numpy as np
    $input.from_numpy(np.arange(256, dtype=np.float32))
    $kernel(2.0)
    return [$output.to_numpy().sum(), *$sums.to_numpy().tolist(), $output[3]]
"""

PROGRAMS: dict[str, str] = {
    "vectors": VECTORS,
    "structs": STRUCTS,
    "numbers": NUMBERS,
    "sparse": SPARSE,
    "textures": TEXTURES,
    "surroundings": SURROUNDINGS,
    "blocks": BLOCKS,
}


def placeholders(text: str) -> list[str]:
    """Return the names that a program leaves open, in order of appearance."""
    return list(dict.fromkeys(PLACEHOLDER.findall(text)))


def user_names(text: str) -> frozenset[str]:
    """Return the words of a program that are Python's and `ti`'s, which none of its names may be."""
    plain = Template(text).substitute(dict.fromkeys(placeholders(text), "open_name"))
    tokens = tokenize.generate_tokens(io.StringIO(plain).readline)
    return frozenset(token.string for token in tokens if token.type == tokenize.NAME)


def may_be_named(word: str, own: frozenset[str]) -> bool:
    """Return whether Python takes `word` as a name in a program that has the words `own` already."""
    return word.isidentifier() and not keyword.iskeyword(word) and word not in own and not word.startswith("__")


def run(text: str, names: Mapping[str, str]) -> tuple[list[float], list[Specialization]]:
    """Run a program under names in the current session; return what it computed, and what it compiled."""
    compiled: list[Specialization] = []
    find = compiler.find_or_compile

    def noted(specialization: Specialization, *rest: Any, **named: Any) -> Any:
        compiled.append(specialization)
        return find(specialization, *rest, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiler, "find_or_compile", noted)
        file, filled = f"<renamed program {next(FILES)}>", Template(text).substitute(names)
        linecache.cache[file] = (len(filled), None, filled.splitlines(True), file)
        space: dict[str, Any] = {"ti": ti}
        exec(compile(filled, file, "exec"), space)
        results = [float(value) for value in space["run"]()]
    return results, compiled


def texts(compiled: Iterable[Specialization]) -> Iterator[SourceFile]:
    """Yield what all that was compiled is in all three languages."""
    for specialization in compiled:
        for arch in ("vulkan", "cuda", "cpu"):
            able = replace(specialization, capabilities=capabilities_for(arch, None))
            yield from compile_kernel(able, able.capabilities.target).module.files


def words_of_texts(compiled: Iterable[Specialization]) -> list[str]:
    """Return the words of all these texts, without those of comments."""
    found: set[str] = set()
    for file in texts(compiled):
        for line in file.text.splitlines():
            found |= identifiers_of(line.split("//")[0])
    return sorted(found)


WORDS_OF_LANGUAGES = sorted(
    frozenset().union(*(x.reserved | x.functions | x.reserved_types for x in LANGUAGES.values()))
)
LETTERS = list("ijklmnpstuvwxyzI")


def renamed(text: str, words: Sequence[str], number: random.Random) -> dict[str, str]:
    """Return names for all that a program leaves open.

    Most are words of `words`, some are like them, words of the languages, or letters. Attributes may be called as other
    things are.
    """
    own = user_names(text)
    attributes = set(ATTRIBUTE.findall(text))
    found: dict[str, str] = {}
    for name in placeholders(text):
        while True:
            word = number.choice(number.choices([words, WORDS_OF_LANGUAGES, LETTERS], [0.75, 0.15, 0.1])[0])
            if number.random() < 0.2:
                word = number.choice([f"{word}_", f"{word}_1", f"_{word}", word.upper(), f"{word}_data", f"{word}0"])
            if name in attributes and found and number.random() < 0.2:
                word = number.choice(list(found.values()))
            others = {of: given for of, given in found.items() if name not in attributes or of in attributes}
            if may_be_named(word, own) and word not in others.values():
                found[name] = word
                break
    return found
