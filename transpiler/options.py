"""Every option that can change an emitted source: compile options and target capabilities, frozen and printable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

from .lazy_dataclasses import dataclass

VERSION = "0.1.0"
"""The version of shadesmith, at the top of every source; `pyproject.toml` has the same."""
MAX_ITERATIONS = 2**31 - 1
"""Iterations of one parallel loop: threads and iterations are counted in 32 bits, on the host and in every source."""
BYTES_PER_BLOCK = 2600
"""Memory traffic of an H200 (4.2 TB/s) while it starts one block (1.6 per nanosecond): a block with less traffic ends
before the next one starts; for more, blocks with one iteration per thread are best, since the GPU balances them."""


BLOCK_DIM = 128
"""Threads per block where nobody has chosen."""
FEW_ITERATIONS = 1 << 15
"""Of a parallel loop, for which a GPU's multiprocessors have a few warps each."""


@dataclass(frozen=True, slots=True)
class OwnPass:
    """A pass of the program; see `ti.Pass`.

    after, before: the name of the pass next to which it runs, or "".
    digest: of its code and of what that reads. unknown: the name of something that it reads without a description.
    """

    name: str
    after: str
    before: str
    function: Callable[..., Any] = field(repr=False, compare=False)
    digest: str = ""
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class OwnTemplate:
    """A template of the program in place of one of shadesmith's. name: "c/range_for.c.j2". path: of its file."""

    name: str
    text: str
    path: str = field(repr=False, compare=False)


OFF_BY_DEFAULT = frozenset({"lower_access"})
"""Passes that run only if they are asked for: `passes="+lower_access"`."""


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """Options of one compilation; part of the key of every artefact.

    default_fp, default_ip, default_up: names of scalar types.
    block_dim: threads per block, unless the loop has its own.
    line_comments: how Python lines are shown: "short", "full" or "none" (`backend/print/line_comments.py`).
    make_thread_local: atomic operations of all iterations on one place become a reduction.
    make_block_local: small arrays that all threads add to, or read in the same order, have copies in shared memory.
    deterministic: warn of atomic additions of floats, whose order differs from run to run.
    unroll_static_loops: `ti.static` loops are unrolled in the emitted source also if their index is only a number.
    inline: whether calls of `ti.func` are inlined; "auto": short ones that are called once, and where they have to be.
    grid_stride: whether threads of a GPU run several iterations of a parallel loop; None: the compiler decides.
    disabled_passes: names of passes to skip, to compare or for bisection.
    argument_offsets: the comments of the argument block have the offset of each member.
    one_file: a kernel of several tasks is one file in languages that have a file for each task.
    own_passes: passes of the program, in order.
    own_templates: templates of the program, by name.
    pass_limit: how many changes by passes that are not required are allowed, for bisection; None: all.
    loads: iterations of a thread at a time, in loops on GPUs whose loads overlap.
    unroll: iterations of innermost serial loops that the target's compiler shall unroll, 0: as many as it likes.
    schedule: how OpenMP hands iterations to threads, "static" or "dynamic"; "auto": the compiler decides.
    """

    default_fp: str = "f32"
    default_ip: str = "i32"
    default_up: str = "u32"
    fast_math: bool = True
    debug: bool = False
    check_out_of_bound: bool = False
    check_overflow: bool = False
    trap_nan: bool = False
    short_circuit_operators: bool = True
    block_dim: int = BLOCK_DIM
    unrolling_limit: int = 32
    unroll_static_loops: bool = False
    make_thread_local: bool = True
    make_block_local: bool = True
    deterministic: bool = False
    inline: bool | str = "auto"
    verify: bool = False
    line_comments: str = "short"
    why_comments: bool = True
    argument_offsets: bool = False
    one_file: bool = False
    grid_stride: bool | None = None
    disabled_passes: frozenset[str] = OFF_BY_DEFAULT
    own_passes: tuple[OwnPass, ...] = ()
    own_templates: tuple[OwnTemplate, ...] = ()
    pass_limit: int | None = None
    loads: int = 8
    unroll: int = 0
    schedule: str = "auto"

    @property
    def has_own_block_dim(self) -> bool:
        """Whether the program has chosen how many threads a block has."""
        return self.block_dim != BLOCK_DIM


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a target can do; passes read this, never a target's name.

    types: names of scalar types it computes with.
    atomics: pairs like ("f32", "add") that are native; all others use a compare-and-swap loop.
    max_push_bytes: size of arguments by value, None: no limit that matters.
    """

    target: str
    types: frozenset[str] = frozenset({"i32", "u32", "f32", "u1"})
    atomics: frozenset[tuple[str, str]] = frozenset()
    vector_atomics: bool = False
    """Whether it adds 2 or 4 neighbouring floats by one instruction."""
    whole_atomics: bool = False
    """Whether it has functions for atomic operations on the elements of a vector."""
    atomic_bits: frozenset[int] = frozenset({1, 8, 16, 32, 64})
    """Widths of the words that it can compare and swap."""
    max_push_bytes: int | None = None
    max_block_dim: int = 1024
    max_groups: int = 65535
    """Blocks of threads along the first axis of a grid."""
    max_shared_bytes: int = 32768
    loop_iteration_limit: int | None = None
    branch_depth_limit: int | None = None
    """lavapipe of Mesa 22.3 runs wrong branches if conditions nest deeper than 80."""
    volatile_vectors: bool = False
    """lavapipe of Mesa 22.3 returns x for y if a component is read from memory after the whole vector was stored, or
    after another component was read."""
    float_controls: frozenset[str] = frozenset()
    """Execution modes of SPIR-V that it supports, with the bits of the type: "DenormPreserve 32"."""
    recursion: bool = True
    """Whether functions may call themselves; GLSL has no call stack."""
    shared_atomics: frozenset[tuple[str, str]] = frozenset()
    """Like `atomics`, in memory that a block shares; those of i32 and u32 need no entry."""
    subgroup_size: int | None = 32
    """Threads of a subgroup; None if the device that will run the source is unknown."""
    subgroup_features: frozenset[str] = frozenset(
        {"basic", "vote", "arithmetic", "ballot", "shuffle", "shuffle_relative", "extended_types"}
    )
    """Subgroup features by Vulkan's names; "extended_types": integers other than 32 bit."""
    undefined_overflow: bool = False
    """Whether its compiler takes for granted that signed sums do not wrap: NVRTC has no `-fwrapv`."""
    reports_overflow: bool = False
    """Whether a signed sum that wraps ends the launch, although nobody may see the difference: so do sanitizers."""
    miscompiles_integers: bool = False
    """Whether its compiler may take the minimum of three integers of `a` in place of `-a`, and 1 for `x & 1` of an even
    x where that is a number: NVIDIA's driver 580 does."""
    skips_roundings: bool = False
    """Whether its compiler may leave out a conversion to f16 and back: NVIDIA's driver 580 does."""
    leaves_known_counts: bool = False
    """Whether its compiler unrolls no loop of known length that has a branch, as NVIDIA's driver 580; those of unknown
    length it unrolls by four, if the branch does little."""
    slow_subnormals: bool = False
    """Whether a reciprocal square root takes more instructions if its operand may be subnormal."""
    slow_angles: bool = False
    """Whether a sine or cosine of f32 takes more time because the angle may be large."""
    slow_powers: bool = False
    """Whether a power of any number takes more time than one of 2 or 10."""
    slow_divisions: bool = False
    """Whether a division of f32 takes several instructions more than a product, with `fast_math` too."""
    has_pointers: bool = True
    """Whether its arrays are typed pointers, which 64-bit numbers index."""
    has_launch_bounds: bool = False
    """Whether a source says for how many threads of an SM its compiler leaves registers."""
    has_blocks_of_launch: bool = False
    """Whether a launch chooses how many threads a block has, which a source can read."""
    has_wide_indices: bool = False
    """Whether all numbers of elements of several axes have 64 bits, as `Language.has_wide_indices` says."""
    has_vectors: bool = False
    """Whether its language has vectors with operators; in others a source declares each operation that it uses."""
    wraps_integers: bool = True
    """Whether sums of integers wrap, as those of all processors; numbers of the interpreter have any size."""
    is_reference: bool = False
    """Whether it performs each operation as the program has it, so that others are compared with it (interpreter)."""
    blocks_as_loops: bool = False
    """Whether the threads of a block are iterations of a loop on one core, so that bodies are split at barriers."""
    blocks_in_lockstep: bool = False
    """Whether each thread runs separately from barrier to barrier, so that no body is split (interpreter)."""
    joins_in_order: bool = False
    """Whether one thread joins the results of all at the end of a loop, in order, as OpenMP does."""
    has_few_threads: bool = False
    """Whether each thread has many iterations, so that a copy of a small array for each is worth it."""
    has_warps: bool = False
    """Whether warps of threads run in lockstep (SIMT): neighbours' accesses are one, and others run while some wait."""
    has_shared_memory: bool = False
    """Whether a block has memory of its own that is faster than the caches."""
    vectorizes_loops: bool = False
    """Whether its compiler makes vectors (SIMD) of the iterations of plain loops, as gcc and LLVM do."""
    traps_subnormals: bool = False
    """Whether an operation takes some 100 times as long where an operand or the result is subnormal."""
    predicts_branches: bool = False
    """Whether a branch is a jump that the processor guesses, and pays 15 to 20 cycles for a wrong guess; gcc 12 makes
    such jumps of many selections, too. Threads of a warp select instead."""
    has_large_threads: bool = False
    """Whether its compiler keeps many results and loads of a thread in registers, as NVRTC does."""
    separates_threads: bool = False
    """Whether its compiler copies what follows a loop for the places where threads leave it, as NVRTC does."""
    jumps_over_terms: bool = False
    """Whether its compiler jumps over a long branch in a loop, so that no two iterations overlap: NVRTC and NVIDIA's
    driver do."""
    leaves_arrays_in_memory: bool = False
    """Whether its compiler leaves long loops of known length rolled that alone index a local array, which is in memory
    then: NVRTC guesses which to unroll, and NVIDIA's driver unrolls none with a branch."""
    reloads_elements: bool = False
    """Whether its compiler loads an element again in each iteration of a loop that has stored it, or needs it in a
    branch."""
    keeps_factors: bool = False
    """Whether its compiler multiplies constant factors only where they are next to each other, with `fast_math` too."""
    keeps_zero_products: bool = False
    """Whether its compiler keeps products by literal zeros with `fast_math` too: NVIDIA's driver alone drops them."""
    has_constant_tests: bool = False
    """Whether a function may ask if its operand is a constant: `__builtin_constant_p`, which NVRTC lacks."""
    slow_extremes: bool = False
    """Whether a minimum of floats takes two comparisons, as a number is returned if the other is NaN: x86 has no
    instruction for it."""
    slow_roots: bool = False
    """Whether there are few units for roots and reciprocals, which compute one over a root as fast as either."""
    slow_f64_divisions: bool = False
    """Whether a division of f64 takes some thirty instructions."""
    has_fast_f64: bool = False
    """Whether sums in f64 take as long as those in f32, but for the memory."""
    miscompiles_truth_indices: bool = False
    """Whether its compiler may compute wrong addresses from comparisons in loops that it vectorizes: gcc 12, 13."""
    miscompiles_masked_loads: bool = False
    """Whether its compiler may mix up which loads are masked in unrolled loops that it vectorizes: gcc 12.2."""
    extra: tuple[tuple[str, str], ...] = field(default=())
