// ===== collide_0.comp
// shadesmith 0.1.0, vulkan b593ecf0, collide.py:9: collide(x: ndarray[f32, 1])
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer CellNumbers {
    uint v[];
};

layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer Lengths { uint v[]; };

#define ACTIVATING 1u
#define SPARE 2u
#define FIRST_CELL 3u

// Iterations after which a thread stops waiting for the one that activates the cell, which may have
// been suspended.
#define MAX_WAIT_ITERATIONS 1000

// The state of a pool of cells.
layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer Pool {
    uint taken;    // cells in use or freed
    uint freed;    // cells that are deactivated and not yet cleared
    uint highest;  // maximum of `taken`
    uint listed;   // entries of the list that a loop runs over
    uint full;     // bit 0: no cell was left for a request, bit 1: no item of a list
    uint cells[];  // from `taken` on: free cells, 0: a new one; from the capacity on: freed
};

// Return a free, cleared cell, or SPARE if there is none.
uint allocate_cell(Pool pool, int capacity) {
    uint taken = atomicAdd(pool.taken, 1u);
    if (taken >= uint(capacity)) {
        atomicAdd(pool.taken, -1u);
        atomicOr(pool.full, 1u);
        return SPARE;
    }
    uint cell = pool.cells[taken];
    return cell != 0u ? cell : FIRST_CELL + taken;
}

// Record a cell that is no longer in use and not yet cleared.
void free_cell(Pool pool, int capacity, uint cell) {
    uint freed = atomicAdd(pool.freed, 1u);
    pool.cells[uint(capacity) + freed] = cell;
}

// Return the cell of an entry. If it is inactive, exactly one of the calling threads activates it.
uint activate_cell(CellNumbers numbers, uint entry, Pool pool, int capacity) {
    uint cell = numbers.v[entry];
    for (int iteration = 0; cell < FIRST_CELL; iteration++) {
        cell = atomicCompSwap(numbers.v[entry], 0u, ACTIVATING);
        if (cell == 0u || (cell == ACTIVATING && iteration > MAX_WAIT_ITERATIONS)) {
            uint taken = allocate_cell(pool, capacity);
            cell = atomicCompSwap(numbers.v[entry], ACTIVATING, taken == SPARE ? 0u : taken);
            if (cell == ACTIVATING) {
                return taken;
            }
            if (taken != SPARE) {
                free_cell(pool, capacity, taken);
            }
        }
    }
    return cell;
}

// Append an item to a list; returns its index, or -1 if the list is full.
int append_item(Lengths lengths, uint list, int capacity, Pool pool) {
    uint length = atomicAdd(lengths.v[list], 1u);
    if (length >= uint(capacity)) {
        atomicAdd(lengths.v[list], -1u);
        atomicOr(pool.full, 2u);
        return -1;
    }
    return int(length);
}

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer I32 { int v[]; };
layout(push_constant, scalar) uniform Args {
    F32 x_data;                 // x: ndarray[f32, 1]
    I32 near_data;              // near: field[i32, 100x64]
    I32 hits_data;              // hits: field[i32, 100]
    I32 pairs_list;             // pairs: the items of the lists, in pieces
    Lengths pairs_lengths;      // pairs: number of items of each list
    Pool pairs_pool;            // pairs: counters and free chunks of its pool
    CellNumbers pairs_numbers;  // pairs: number of each chunk in its pool, from 3 on; 0 if inactive
    int pairs_capacity;         // pairs: number of chunks of its pool
} args;

#define x(i) args.x_data.v[i]
#define near_in(cell, j) args.near_data.v[(cell) * 16 + uint(j) % 16]

int append_pairs(int i) {
    return append_item(args.pairs_lengths, uint(i), 64, args.pairs_pool);
}

uint reserve_pairs(int i, int j) {
    return activate_cell(args.pairs_numbers, uint(i * 4 + uint(j) / 16), args.pairs_pool,
        args.pairs_capacity);
}

// task 0 of 4: range_for over i, j
// collide.py:10  for i, j in ti.ndrange(100, 100):
void main() {
    uint index = gl_GlobalInvocationID.x;
    if (index >= 10000) return;
    int i = int(index / 100), j = int(index % 100);
    if (i != j && abs(x(i) - x(j)) < 0.1) {  // :11
        // collide.py:12  near[i].append(j)
        int item = append_pairs(i);
        if (item >= 0) {
            uint pairs = reserve_pairs(i, item);
            near_in(pairs, item) = j;
        }
    }
}

// ===== collide_1.comp
// shadesmith 0.1.0, vulkan 94b9b7d1, collide.py:9: collide(x: ndarray[f32, 1])
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

layout(local_size_x = 1) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer CellNumbers {
    uint v[];
};

layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer Lengths { uint v[]; };

// The state of a pool of cells.
layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer Pool {
    uint taken;    // cells in use or freed
    uint freed;    // cells that are deactivated and not yet cleared
    uint highest;  // maximum of `taken`
    uint listed;   // entries of the list that a loop runs over
    uint full;     // bit 0: no cell was left for a request, bit 1: no item of a list
    uint cells[];  // from `taken` on: free cells, 0: a new one; from the capacity on: freed
};

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer I32 { int v[]; };
layout(push_constant, scalar) uniform Args {
    F32 x_data;                 // x: ndarray[f32, 1]
    I32 near_data;              // near: field[i32, 100x64]
    I32 hits_data;              // hits: field[i32, 100]
    I32 pairs_list;             // pairs: the items of the lists, in pieces
    Lengths pairs_lengths;      // pairs: number of items of each list
    Pool pairs_pool;            // pairs: counters and free chunks of its pool
    CellNumbers pairs_numbers;  // pairs: number of each chunk in its pool, from 3 on; 0 if inactive
    int pairs_capacity;         // pairs: number of chunks of its pool
} args;

#define pairs_listed() args.pairs_pool.listed

// task 1 of 4: serial, empties the list of pairs
void main() {
    pairs_listed() = 0u;
}

// ===== collide_2.comp
// shadesmith 0.1.0, vulkan 1d747c20, collide.py:9: collide(x: ndarray[f32, 1])
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer CellNumbers {
    uint v[];
};

layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer Lengths { uint v[]; };

// The state of a pool of cells.
layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer Pool {
    uint taken;    // cells in use or freed
    uint freed;    // cells that are deactivated and not yet cleared
    uint highest;  // maximum of `taken`
    uint listed;   // entries of the list that a loop runs over
    uint full;     // bit 0: no cell was left for a request, bit 1: no item of a list
    uint cells[];  // from `taken` on: free cells, 0: a new one; from the capacity on: freed
};

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer I32 { int v[]; };
layout(push_constant, scalar) uniform Args {
    F32 x_data;                 // x: ndarray[f32, 1]
    I32 near_data;              // near: field[i32, 100x64]
    I32 hits_data;              // hits: field[i32, 100]
    I32 pairs_list;             // pairs: the items of the lists, in pieces
    Lengths pairs_lengths;      // pairs: number of items of each list
    Pool pairs_pool;            // pairs: counters and free chunks of its pool
    CellNumbers pairs_numbers;  // pairs: number of each chunk in its pool, from 3 on; 0 if inactive
    int pairs_capacity;         // pairs: number of chunks of its pool
} args;

#define pairs_length(i) int(args.pairs_lengths.v[i])
#define pairs_listed() args.pairs_pool.listed
#define pairs_list(i) args.pairs_list.v[i]

// task 2 of 4: range_for, lists the items of pairs in pieces of 32
void main() {
    int i = int(gl_GlobalInvocationID.x);
    if (i >= 100) return;
    int pieces = (pairs_length(i) + 31) / 32;
    for (int piece = 0; piece < pieces; piece++) {
        uint position = atomicAdd(pairs_listed(), 1u);
        pairs_list(int(position)) = i * 2 + piece;
    }
}

// ===== collide_3.comp
// shadesmith 0.1.0, vulkan 10bc656b, collide.py:9: collide(x: ndarray[f32, 1])
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

// x & 1. NVIDIA's driver 580 takes 1 for 0 in `(x & 1) * n` of some shaders with 64-bit numbers.
int lowest_bit_i32(int x) { return int(bitfieldExtract(uint(x), 0, 1)); }

layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer CellNumbers {
    uint v[];
};

layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer Lengths { uint v[]; };

// The state of a pool of cells.
layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer Pool {
    uint taken;    // cells in use or freed
    uint freed;    // cells that are deactivated and not yet cleared
    uint highest;  // maximum of `taken`
    uint listed;   // entries of the list that a loop runs over
    uint full;     // bit 0: no cell was left for a request, bit 1: no item of a list
    uint cells[];  // from `taken` on: free cells, 0: a new one; from the capacity on: freed
};

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer I32 { int v[]; };
layout(push_constant, scalar) uniform Args {
    F32 x_data;                 // x: ndarray[f32, 1]
    I32 near_data;              // near: field[i32, 100x64]
    I32 hits_data;              // hits: field[i32, 100]
    I32 pairs_list;             // pairs: the items of the lists, in pieces
    Lengths pairs_lengths;      // pairs: number of items of each list
    Pool pairs_pool;            // pairs: counters and free chunks of its pool
    CellNumbers pairs_numbers;  // pairs: number of each chunk in its pool, from 3 on; 0 if inactive
    int pairs_capacity;         // pairs: number of chunks of its pool
} args;

#define pairs_length(i) int(args.pairs_lengths.v[i])
#define pairs_number(i, j) args.pairs_numbers.v[(i) * 4 + uint(j) / 16]
#define near_in(cell, j) args.near_data.v[(cell) * 16 + uint(j) % 16]
#define hits(i) args.hits_data.v[i]
#define pairs_list(i) args.pairs_list.v[i]

// task 3 of 4: range_for over near
// collide.py:13  for i, k in near:
void task(int list_index, int item) {
    int piece = pairs_list(list_index), i = piece / 2, k = lowest_bit_i32(piece) * 32 + item;
    uint pairs = pairs_number(i, k);
    if (k < pairs_length(i)) {
        // collide.py:14  hits[near[i, k]] += near[i].length()
        atomicAdd(hits(near_in(pairs, k)), pairs_length(i));
    }
}

void main() {
    int extent_list_index = max(int(args.pairs_pool.listed), 0);
    for (uint index = gl_GlobalInvocationID.x; index < uint(extent_list_index) * 32;
        index += gl_NumWorkGroups.x * BLOCK) {
        task(int(index / 32), int(index % 32));
    }
}
