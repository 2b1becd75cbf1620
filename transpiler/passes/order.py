"""The order of the passes, `PASSES`, with a reason for each position that matters, and what is known of each pass."""

from __future__ import annotations

from ..ir.functions import Call
from ..ir.ops import NEGATED
from ..ir.sparse import Deactivate
from ..ir.statements import (
    Alloca,
    ArrayShape,
    AtomicOp,
    Break,
    Cast,
    Const,
    GlobalStore,
    GlobalTemporary,
    If,
    IfExp,
    LocalStore,
    MatrixElement,
    MatrixInit,
    Operation,
    RangeFor,
    StructElement,
    StructFor,
    StructInit,
    While,
)
from ..ir.tasks import DERIVATIVE
from ..ir.types import Scalar, Tensor
from ..ir.verify import Stage
from .addresses.hoist_addresses import hoist_addresses
from .addresses.lower_access import lower_access
from .addresses.step_addresses import step_addresses
from .analysis.call_effects import call_effects
from .arithmetic.constant_divisors import constant_divisors
from .arithmetic.constant_factors import constant_factors
from .arithmetic.flush_subnormals import NEEDS as DECAYS
from .arithmetic.flush_subnormals import flush_subnormals
from .arithmetic.inverse_roots import inverse_roots
from .arithmetic.launch_divisors import launch_divisors
from .arithmetic.lean_products import lean_products
from .arithmetic.literal_bases import literal_bases
from .arithmetic.literal_products import literal_products
from .arithmetic.loop_divisors import loop_divisors
from .arithmetic.normal_numbers import normal_numbers
from .arithmetic.paired_divisors import paired_divisors
from .arithmetic.ranges import ranges
from .arithmetic.reciprocals import reciprocals
from .arithmetic.root_squares import root_squares
from .arithmetic.short_angles import short_angles
from .arithmetic.short_quotients import short_quotients
from .arithmetic.wrapping import wrapping
from .atomics.block_sums import block_sums
from .atomics.demote_atomics import demote_atomics, local_atomics
from .atomics.joined_sums import joined_sums
from .atomics.private_sums import private_sums
from .atomics.reduce_atomics import reduce_atomics
from .atomics.settled_extremes import settled_extremes
from .atomics.vector_atomics import vector_atomics
from .atomics.whole_atomics import whole_atomics
from .branches.automata import automata
from .branches.bit_choices import bit_choices
from .branches.bit_terms import bit_terms
from .branches.collected_bits import collected_bits
from .branches.computed_choices import computed_choices
from .branches.counted_choices import counted_choices
from .branches.eager_choices import eager_choices
from .branches.eager_conditions import eager_conditions
from .branches.eager_tests import eager_tests
from .branches.early_selections import early_selections
from .branches.early_terms import early_terms
from .branches.extremes import extremes
from .branches.insertion_sorts import insertion_sorts
from .branches.masked_terms import masked_terms
from .branches.short_extremes import short_extremes
from .branches.sorted_insertions import sorted_insertions
from .branches.straight_extremes import straight_extremes
from .branches.swapped_values import swapped_values
from .branches.unrolled_corners import unrolled_corners
from .checks.bounds import bounds
from .checks.check_wide_indices import check_wide_indices
from .checks.clamp_indices import clamp_indices
from .checks.overflow import overflow
from .checks.overflow_notices import overflow_notices
from .checks.trap_nan import trap_nan
from .cleanup.common_subexpressions import common_subexpressions
from .cleanup.dead_code import dead_code
from .cleanup.expand_vectors import expand_vectors
from .cleanup.fold import fold
from .cleanup.forward_elements import forward_elements
from .cleanup.forward_stores import forward_stores
from .cleanup.operand_order import operand_order
from .cleanup.simplify import simplify
from .cleanup.split_vectors import split_vectors
from .cleanup.unused_copies import unused_copies
from .context import Pass
from .derivatives.forward_mode import forward_mode
from .derivatives.reverse_mode import reverse_mode
from .derivatives.tidy_adjoints import tidy_adjoints
from .drivers.added_shifts import added_shifts
from .drivers.branch_depth import branch_depth
from .drivers.conditional_loads import conditional_loads
from .drivers.exact_ends import exact_ends
from .drivers.iteration_limit import iteration_limit
from .drivers.lowest_bits import lowest_bits
from .drivers.minima import minima
from .drivers.own_functions import own_functions
from .drivers.rejoined_threads import rejoined_threads
from .drivers.rounded_halves import rounded_halves
from .drivers.truth_indices import truth_indices
from .drivers.wide_shifts import wide_shifts
from .gathers.gather_adjoints import gather_adjoints
from .loops.axis_sums import axis_sums
from .loops.carried_elements import carried_elements
from .loops.carried_extremes import carried_extremes
from .loops.fold_recurrences import fold_recurrences
from .loops.hoist_loads import hoist_loads
from .loops.keep_elements import keep_elements
from .loops.loads_before_loops import loads_before_loops
from .loops.narrow_loops import narrow_loops
from .loops.peel_borders import peel_borders
from .loops.register_arrays import register_arrays
from .loops.rest_first import rest_first
from .loops.row_lanes import row_lanes
from .loops.unroll_components import unroll_components
from .loops.unroll_loops import unroll_loops
from .loops.unroll_reductions import unroll_reductions
from .loops.unswitch_loops import unswitch_loops
from .lowering.inline_calls import inline_calls
from .lowering.legalize import legalize
from .lowering.lower import lower
from .lowering.packed_arrays import packed_arrays
from .lowering.recursion import recursion
from .lowering.split_arrays import split_arrays
from .rows.block_scans import block_scans
from .rows.shared_columns import shared_columns
from .rows.shared_rows import shared_rows
from .rows.shared_steps import shared_steps
from .sparse.activate_cells import activate_cells
from .sparse.deactivate_cells import deactivate_cells
from .sparse.sparse_arrays import sparse_arrays
from .sparse.struct_for import struct_for
from .tasks.empty_loops import empty_loops
from .tasks.fuse_result import fuse_result
from .tasks.local_temporaries import local_temporaries
from .tasks.merge_serial import merge_serial
from .tasks.offload import offload
from .tasks.ordered_loops import ordered_loops
from .threads.banked_arrays import banked_arrays
from .threads.blocks_in_order import blocks_in_order
from .threads.check_threads import check_threads
from .threads.common_values import common_values
from .threads.few_threads import few_threads
from .threads.loads_ahead import loads_ahead
from .threads.loads_in_flight import loads_in_flight
from .threads.lookup_tables import lookup_tables
from .threads.many_threads import many_threads
from .threads.overlap_loads import overlap_loads
from .threads.split_threads import split_threads
from .threads.warp_sums import warp_sums
from .tiles.block_local import block_local
from .tiles.block_tiles import block_tiles
from .tiles.padded_rows import padded_rows
from .tiles.product_rows import product_rows
from .tiles.products_apart import products_apart
from .tiles.register_tiles import register_tiles
from .tiles.split_sums import split_sums
from .tiles.staged_stores import staged_stores
from .tiles.transposed_tiles import transposed_tiles
from .vectors.half_blocks import half_blocks
from .vectors.index_ranges import index_ranges
from .vectors.lane_halves import lane_halves
from .vectors.lane_loops import lane_loops
from .vectors.lane_terms import lane_terms
from .vectors.lane_whiles import lane_whiles
from .vectors.member_loads import member_loads
from .vectors.short_vectors import short_vectors
from .vectors.static_rows import static_rows
from .vectors.vector_calls import vector_calls
from .vectors.vector_lanes import vector_lanes
from .vectors.wide_counters import wide_counters
from .wide.single_iterations import single_iterations
from .wide.wide_accesses import wide_accesses

MAX_ROUNDS = 8


class Cleanup(tuple[Pass, ...]):
    """Passes to run repeatedly, one after another, until none of them changes the kernel.

    after: the passes without whose changes there is nothing to do, () if others need the group too.
    """

    after: tuple[Pass, ...] = ()


def until_stable(*steps: Pass, after: tuple[Pass, ...] = ()) -> Cleanup:
    """Return the steps as a group that runs until nothing changes, at most `MAX_ROUNDS` rounds."""
    group = Cleanup(steps)
    group.after = after
    return group


cleanup = until_stable(
    fold,
    simplify,
    forward_stores,
    fold,  # again: a variable with a known value gives numbers, which the rest merges
    forward_elements,
    common_subexpressions,
    dead_code,
)
CLEANED = frozenset(cleanup)
addresses = until_stable(hoist_addresses, common_subexpressions, dead_code, after=(step_addresses, lower_access))

UNAFFECTED: dict[Pass, tuple[Pass, ...]] = {
    fold: (fold,),
    forward_elements: (forward_elements,),
    common_subexpressions: (fold, common_subexpressions, dead_code),
    dead_code: (fold, simplify, common_subexpressions, dead_code),
}
"""Steps of the cleanup that find nothing more after a change by the step, if they found nothing before it.
A pass that knows more of a change sets `PassContext.left`."""

NEEDED: dict[Pass, tuple[object, ...]] = {
    struct_for: (StructFor,),
    deactivate_cells: (Deactivate,),
    forward_stores: (Alloca,),
    forward_elements: (GlobalStore,),
    ordered_loops: (Alloca,),
    local_temporaries: (GlobalTemporary,),
    local_atomics: (AtomicOp,),
    demote_atomics: (AtomicOp,),
    unroll_reductions: (AtomicOp,),
    **dict.fromkeys((fold_recurrences, hoist_loads, unroll_components), (RangeFor,)),
    axis_sums: (AtomicOp,),
    common_values: (RangeFor,),
    flush_subnormals: DECAYS,
    **dict.fromkeys((keep_elements, loads_before_loops), (RangeFor, While)),
    carried_elements: (RangeFor,),
    block_scans: (RangeFor,),
    joined_sums: (AtomicOp,),
    reduce_atomics: (AtomicOp,),
    private_sums: (AtomicOp,),
    block_sums: (AtomicOp,),
    warp_sums: (AtomicOp,),
    block_tiles: (RangeFor,),
    products_apart: (RangeFor,),
    split_sums: (RangeFor,),
    register_tiles: (RangeFor,),
    product_rows: (RangeFor,),
    shared_rows: (LocalStore, AtomicOp, GlobalStore),
    shared_columns: (LocalStore,),
    shared_steps: (GlobalStore,),
    staged_stores: (GlobalStore,),
    vector_atomics: (AtomicOp,),
    whole_atomics: (MatrixElement,),
    gather_adjoints: (DERIVATIVE,),
    tidy_adjoints: (DERIVATIVE,),
    vector_lanes: (RangeFor,),
    lane_loops: (RangeFor,),
    vector_calls: (Call,),
    half_blocks: (Cast,),
    row_lanes: (RangeFor,),
    peel_borders: ("min", "max", "mod", "select", IfExp, If),
    unswitch_loops: (If,),
    step_addresses: (RangeFor,),
    lane_whiles: (While,),
    short_extremes: ("gt", "lt"),
    automata: ("gt", "lt", "ge", "le", "eq", "ne"),
    swapped_values: ("gt", "lt", "ge", "le"),
    **dict.fromkeys((expand_vectors, operand_order), (Tensor,)),
    split_vectors: (MatrixElement,),
    lowest_bits: ("bit_and", "mod", "plain_mod", "raw_mod"),
    minima: ("neg",),
    **dict.fromkeys((carried_extremes, extremes, straight_extremes), ("min", "max")),
    wide_shifts: ("shl", "mul"),
    constant_factors: ("mul", "div"),
    inverse_roots: ("div",),
    lean_products: ("matmul",),
    literal_products: ("matmul",),
    **dict.fromkeys((constant_divisors, loop_divisors, paired_divisors, reciprocals, short_quotients), ("div",)),
    root_squares: ("mul",),
    normal_numbers: ("rsqrt", "sqrt", "norm"),
    short_angles: ("sin", "cos", "atan2"),
    literal_bases: ("pow",),
    index_ranges: ("add", "sub", "mul", "shl"),
    **dict.fromkeys((exact_ends, lane_terms, lookup_tables, short_vectors, static_rows, unroll_loops), (RangeFor,)),
    own_functions: (LocalStore,),
    **dict.fromkeys((banked_arrays, register_arrays, sorted_insertions), (Tensor,)),
    unrolled_corners: (Cast,),
    collected_bits: ("bit_or",),
    added_shifts: ("sar", "shr"),
    early_selections: (IfExp,),
    rejoined_threads: (Break,),
    bit_terms: (While,),
    bit_choices: ("bit_and",),
    counted_choices: (If,),
    computed_choices: (If,),
    eager_tests: (If, "logical_and", "logical_or"),
    loads_ahead: (RangeFor,),
    rest_first: (RangeFor,),
    insertion_sorts: (While,),
    early_terms: ("ne", "eq"),
    settled_extremes: (AtomicOp,),
}
"""Kinds (`ir.tasks.kinds_in`); a pass finds nothing in a kernel without any of them."""

ADDED: dict[Pass, frozenset[object]] = {
    fold: frozenset({Const}),
    forward_stores: frozenset({Const, MatrixInit, StructInit, MatrixElement, StructElement}),
    **dict.fromkeys((forward_elements, common_subexpressions, dead_code, lower), frozenset()),
    simplify: frozenset(
        {Operation, Cast, Const, MatrixInit, Scalar, "add", "sub", "mul", "div", "sqrt", "rsqrt", *NEGATED.values()}
    ),
    struct_for: frozenset({RangeFor, Const, ArrayShape}),
    ranges: frozenset({Const, Operation, "plain_div", "plain_mod", "near_mod", "close_mod", "sar", "bit_and"}),
}
"""The kinds of statements that a pass may add. Other passes may add any, and so may one that sets `kinds` to None."""

limits = (branch_depth, iteration_limit)
"""What drivers need that end long loops or overflow their stack silently."""

PASSES: dict[Stage, tuple[Pass | Cleanup, ...]] = {
    Stage.FRONTEND: (  # returns and breaks may still be anywhere
        inline_calls,  # first: all others see the functions that remain
        overflow,  # before all others, since these add operations of their own, which are not checked
        overflow_notices,  # likewise
        trap_nan,  # likewise
        split_arrays,  # no other pass supports split arrays
        packed_arrays,  # after `split_arrays`, whose parts may be packed; no other pass supports them
    ),
    Stage.LOWERED: (
        lower,  # the passes below need structured control flow
        call_effects,  # what functions read and write, for the first cleanup
        local_atomics,  # cleanup forwards values through plain loads and stores
        check_wide_indices,  # before cleanup, while an index has its full width
        call_effects,  # the checks of `check_wide_indices` may be the first effects of a function
        cleanup,
        reverse_mode,  # after cleanup, so that a variable assigned once is a value; before `bounds`: it adds accesses
        cleanup,
        gather_adjoints,  # after cleanup, which merges what is equal; before `forward_mode`: it adds atomic operations
        cleanup,
        forward_mode,  # after `reverse_mode`: of a Hessian's product it differentiates the gradient
        cleanup,
        bounds,  # after cleanup, so that merged pointers are checked once
        call_effects,  # as after `check_wide_indices`
    ),
    Stage.TASKS: (
        recursion,  # before the passes that follow calls
        struct_for,  # before `offload`: tasks contain range loops only
        activate_cells,  # after `struct_for`, whose loops know which cells are active
        deactivate_cells,  # after `activate_cells`: its stores activate nothing; before `offload`: its loops are tasks
        ordered_loops,  # before `offload`, for which the variables of iterations are none of the kernel
        local_atomics,  # after `ordered_loops`, whose serial loops share a variable with no other iteration
        narrow_loops,  # before `offload`, which gives each task what its bounds are computed from
        offload,
        merge_serial,  # after `offload`, which makes the tasks
        local_temporaries,  # after `merge_serial`, after which one task may use what several did
        demote_atomics,  # after `offload`, which decides which iterations run in parallel
        unroll_components,  # before cleanup, which puts the components into one vector
        unroll_reductions,  # before cleanup, which folds the indices, and `reduce_atomics`, which needs them
        fold_recurrences,  # before cleanup, which drops what it replaces
        hoist_loads,  # before cleanup, which merges a moved load with an earlier one
        tidy_adjoints,  # after `demote_atomics`: `x_adj += -y` is a sum; before cleanup, which drops what it replaces
        cleanup,
        axis_sums,  # after cleanup, which merges pointers; before all passes that look at serial loops and sums
        dead_code,  # what one of several loops in place of one no longer needs
        demote_atomics,  # after `axis_sums`, whose loops may be the only ones that add to an element
        flush_subnormals,  # after `demote_atomics`: `*=` is a load and a store; before `keep_elements`, likewise
        keep_elements,  # after cleanup: equal indices are one value; after `demote_atomics`: `+=` is a load and a store
        loads_before_loops,  # after `keep_elements`: loops that no longer store change nothing that they load
        carried_elements,  # after `keep_elements`, whose elements are the same in all iterations
        block_scans,  # after `carried_elements`, which makes variables of elements
        joined_sums,  # after `demote_atomics`, which leaves no others; before all passes that add up what is left
        reduce_atomics,  # after cleanup, which merges pointers and drops atomic operations in branches never taken
        fuse_result,  # after `reduce_atomics`: what follows the loop joins its task
        private_sums,  # after `reduce_atomics`: a private number is cheaper than a private array
        common_values,  # before `split_sums` and `register_tiles`, for which it leaves products
        until_stable(dead_code, after=(common_values,)),  # what only these values needed
        products_apart,  # before `split_sums` and `register_tiles`, which compute the products
        split_sums,  # before `register_tiles`, for which it makes blocks enough
        register_tiles,  # after `reduce_atomics`: an entry with reductions has no barriers in its iterations
        block_sums,  # after `reduce_atomics` and `register_tiles`: tiles save more than copies
        block_local,  # after `reduce_atomics`: an entry with reductions has no barriers in its iterations
        product_rows,  # likewise; before `shared_rows`, which would take its rows
        block_tiles,  # after these: an entry with copies has no barriers in its iterations
        shared_rows,  # after `block_tiles`: a row of a tile is none, and what it adds are loops over few steps
        shared_columns,  # likewise; after `shared_rows`, which makes loops over rows
        shared_steps,  # after these, which take loops that they can share without barriers
        transposed_tiles,  # after these, whose loops have an order or share rows
        peel_borders,  # after these, which leave attributes at the loops that stay whole
        overlap_loads,  # after `block_sums`, whose loops overlap already
        blocks_in_order,  # after `overlap_loads`: its threads have several iterations, and stay together
        staged_stores,  # after all passes that change which iterations a block has, whose elements it stores
        warp_sums,  # after all passes for tasks whose threads do not wait; before `check_threads`, which finds others
        padded_rows,  # after all passes that add shared arrays, and before `check_threads`, which adds up their sizes
        check_threads,  # after cleanup: a branch that is never taken does not make threads diverge
        clamp_indices,  # after `check_threads`, which finds the tasks whose threads synchronize
        split_threads,  # after `check_threads`, which refuses what cannot be split; control flow is simple by now
        *limits,  # they count the branches and loops that a driver will see
    ),
    Stage.FINAL: (
        call_effects,  # the passes since the first cleanup may have added checks
        legalize,  # late: the cleanups above would rebuild what it removes
        split_vectors,  # after `legalize`, which takes vectors apart
        lean_products,  # before the cleanups, which take elements from a matrix of literals
        inverse_roots,  # before `reciprocals`, for which it leaves other divisors
        reciprocals,  # after `legalize`, which takes vectors apart
        loop_divisors,  # after `reciprocals`, likewise; before the last cleanup, which merges equal reciprocals
        constant_factors,  # before the last cleanup, which multiplies the constants
        operand_order,  # before the last cleanup, which merges equal operations
        ranges,  # after all passes that ask what an operation is: they know Python's divisions
        cleanup,
        unused_copies,  # after the last cleanup, which may have removed the last addition
        call_effects,  # for the printers: cleanup may have removed the last effect
        expand_vectors,  # after the last cleanup, which would use the elements of a vector in place of the vector
        dead_code,  # what `expand_vectors` has replaced
        literal_products,  # after the last cleanup, which would use the elements of a product in place of it
        early_selections,  # after the last cleanup, which would put a value that is used once where it is used
        member_loads,  # after the last cleanup, which has made equal pointers one
        swapped_values,  # after the last cleanup, like `early_selections`; before all passes that know selections
        computed_choices,  # likewise; before `vector_lanes`, whose loops have few branches
        literal_bases,  # before `wide_accesses`, which adds loops over single elements
        short_angles,  # before `wide_accesses`, which adds loops over single elements
        wide_accesses,  # after `expand_vectors`, which would take its vectors apart; before `wrapping`: it adds sums
        short_quotients,  # after `wide_accesses`, whose tasks it leaves, and all passes that know what a quotient is
        row_lanes,  # after `wide_accesses`, which takes loops without loops inside; before `wrapping`: it adds sums
        unswitch_loops,  # before `vector_lanes` and `lane_loops`, whose loops have no branches inside
        vector_lanes,  # after all passes that change what a loop does, and before `wrapping`: it knows sums
        lane_loops,  # after `vector_lanes`, for the loops that it leaves
        lane_whiles,  # after `vector_lanes`, likewise
        insertion_sorts,  # after `vector_lanes`, likewise
        collected_bits,  # after `vector_lanes`, likewise
        sorted_insertions,  # before `wrapping`: it knows sums; before `register_arrays`, whose arrays it leaves
        counted_choices,  # after `vector_lanes`, whose loops have branches; before `wrapping`: it knows sums
        short_vectors,  # after both, whose loops load neighbours
        short_extremes,  # after these, which leave loops with branches: it only makes such a loop faster
        automata,  # after `short_extremes`, which replaces such branches with what they compare
        straight_extremes,  # after all passes that change what a loop does; before `wrapping`: it knows sums
        vector_calls,  # after `lane_loops`, whose loops it leaves; before `wrapping`: it knows sums
        masked_terms,  # after `short_vectors`, which counts the operations of these loops
        settled_extremes,  # after all passes that find or change atomic operations
        early_terms,  # after the last cleanup, which would put what is used once where it is used; it knows indices
        constant_divisors,  # after the last cleanup, which would compute the reciprocals
        paired_divisors,  # likewise, or put what is used once where it is used
        lane_terms,  # after `early_terms`, which leaves it other branches
        until_stable(common_subexpressions, after=(lane_terms,)),  # elements that several conditions compare
        step_addresses,  # after all passes that know what an index is; before `wrapping`: it adds sums
        lower_access,  # after all passes that know what an index is; before `wrapping`: it adds sums
        addresses,  # shares and moves what `lower_access` has added; not `simplify`, which would undo `expand_vectors`
        empty_loops,  # after all passes that change the bounds of parallel loops; before `wrapping`
        wide_counters,  # after all passes that add uses of an index; before `wrapping`
        index_ranges,  # after `wide_counters`, whose indices do not wrap; before `wrapping`: it knows sums
        wrapping,  # after all passes that know what a sum is
        minima,  # after all passes that know what a minimum is
        carried_extremes,  # likewise; before `extremes`, which gives minima of numbers other names
        extremes,  # likewise
        lowest_bits,  # likewise
        wide_shifts,  # after all passes that know what a shift or a product is
        added_shifts,  # likewise
        normal_numbers,  # likewise
        root_squares,  # likewise
        rounded_halves,  # after all passes that add or change conversions
        bit_choices,  # after `vector_lanes` and `lane_loops`, whose loops have choices
        eager_choices,  # after all passes that know what `and` is
        eager_conditions,  # after all passes that know what `and` is
        eager_tests,  # likewise
        exact_ends,  # after all passes that change loops
        truth_indices,  # after all passes that change addresses
        static_rows,  # likewise; before `unroll_loops`, which would give such loops another hint
        lane_halves,  # after `static_rows`, whose loops stay loops, and all passes that add or change conversions
        conditional_loads,  # after `static_rows`, whose loops it keeps as they are; before `unroll_loops`, likewise
        unroll_loops,  # after all passes that change addresses
        unrolled_corners,  # after `unroll_loops`, whose hints it leaves
        own_functions,  # after all passes that make lanes of iterations, or other loops of loops
        register_arrays,  # likewise
        bit_terms,  # after `register_arrays`: what it adds stays in memory
        half_blocks,  # after `lane_halves`, whose conversions it replaces, and all passes that unroll loops
        until_stable(dead_code, after=(half_blocks,)),  # the indices of the conversions
        vector_atomics,  # after `legalize`, which makes atomic operations of vectors several, and the last cleanup
        whole_atomics,  # likewise
        loads_in_flight,  # after all passes that change what an iteration loads
        few_threads,  # likewise; after all passes that need a number of threads
        banked_arrays,  # after `register_arrays`, for what it leaves, and `few_threads`
        many_threads,  # after `banked_arrays`, whose arrays have a column for each thread
        lookup_tables,  # after `few_threads`, which chooses the threads of a block; it adds no sum that may wrap
        until_stable(dead_code, after=(lookup_tables,)),  # what only the tabulated values needed
        loads_ahead,  # after `few_threads`, which leaves registers for loads, and `lookup_tables`, which removes some
        rest_first,  # after `wrapping`: its sums do not wrap; after all passes that change or mark loops
        rejoined_threads,  # after all passes that change loops or conditions
        single_iterations,  # after all passes that ask what indices may be, which functions do not know
        launch_divisors,  # after all passes that change the bounds of parallel loops
        sparse_arrays,  # last: it adds the arrays that the emitted source uses
    ),
}

REQUIRED = frozenset({
    "split_arrays", "packed_arrays", "lower", "call_effects", "local_atomics", "recursion",
    "activate_cells", "deactivate_cells", "ordered_loops", "offload", "struct_for",
    "check_threads", "split_threads", "clamp_indices", "legalize", "empty_loops", "wrapping", "minima", "lowest_bits",
    "conditional_loads", "wide_shifts", "added_shifts", "exact_ends", "truth_indices", "rounded_halves",
    "unused_copies", "sparse_arrays",
    "forward_mode", "reverse_mode",
})  # fmt: skip
"""Passes that every kernel needs; `disabled_passes` does not apply to them."""
