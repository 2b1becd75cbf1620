// ===== splat_0.comp
// shadesmith 0.1.0, vulkan b43bc501, splat.py:9: splat(x: ndarray[f32, 2], gravity: f32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_atomic_float : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer CellNumbers {
    uint v[];
};

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

struct BlockCell {
    float mass;
    vec2 momentum;
};

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4)
    buffer BlockCellBuffer { BlockCell v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer I32 { int v[]; };
layout(push_constant, scalar) uniform Args {
    F32 x_data;                 // x: ndarray[f32, 2]
    BlockCellBuffer block;      // mass: field[f32, 64x32], momentum: field[f32[2], 64x32]
    I32 block_list;             // block: row-major numbers of the active cells
    CellNumbers block_numbers;  // block: number of each cell in its pool, from 3 on; 0 if inactive
    Pool block_pool;            // block: counters and free cells of its pool
    int block_capacity;         // block: number of cells of its pool
    float gravity;              // gravity: f32
    int x_n0;                   // x.shape[0]
    int x_n1;                   // x.shape[1]
} args;

#define x(i, j) args.x_data.v[(i) * args.x_n1 + (j)]
#define mass_in(cell, i, j) args.block.v[(cell) * 16 + uint(i) % 4 * 4 + uint(j) % 4].mass

uint activate_block(int i, int j) {
    return activate_cell(args.block_numbers, uint(i * 8 + j), args.block_pool, args.block_capacity);
}

// task 0 of 4: range_for over p
// splat.py:10  for p in range(x.shape[0]):
void task(int p) {
    // splat.py:11  mass[int(x[p, 0]), int(x[p, 1])] += 1.0
    uint block = activate_block(int(x(p, 0)) / 4, int(x(p, 1)) / 4);
    atomicAdd(mass_in(block, int(x(p, 0)), int(x(p, 1))), 1.0);
}

void main() {
    for (uint index = gl_GlobalInvocationID.x; index < uint(args.x_n0);
        index += gl_NumWorkGroups.x * BLOCK) {
        task(int(index));
    }
}

// ===== splat_1.comp
// shadesmith 0.1.0, vulkan 7c25fd69, splat.py:9: splat(x: ndarray[f32, 2], gravity: f32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

layout(local_size_x = 1) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer CellNumbers {
    uint v[];
};

// The state of a pool of cells.
layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer Pool {
    uint taken;    // cells in use or freed
    uint freed;    // cells that are deactivated and not yet cleared
    uint highest;  // maximum of `taken`
    uint listed;   // entries of the list that a loop runs over
    uint full;     // bit 0: no cell was left for a request, bit 1: no item of a list
    uint cells[];  // from `taken` on: free cells, 0: a new one; from the capacity on: freed
};

struct BlockCell {
    float mass;
    vec2 momentum;
};

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4)
    buffer BlockCellBuffer { BlockCell v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer I32 { int v[]; };
layout(push_constant, scalar) uniform Args {
    F32 x_data;                 // x: ndarray[f32, 2]
    BlockCellBuffer block;      // mass: field[f32, 64x32], momentum: field[f32[2], 64x32]
    I32 block_list;             // block: row-major numbers of the active cells
    CellNumbers block_numbers;  // block: number of each cell in its pool, from 3 on; 0 if inactive
    Pool block_pool;            // block: counters and free cells of its pool
    int block_capacity;         // block: number of cells of its pool
    float gravity;              // gravity: f32
    int x_n0;                   // x.shape[0]
    int x_n1;                   // x.shape[1]
} args;

#define block_listed() args.block_pool.listed

// task 1 of 4: serial, empties the list of block
void main() {
    block_listed() = 0u;
}

// ===== splat_2.comp
// shadesmith 0.1.0, vulkan 8e5faf17, splat.py:9: splat(x: ndarray[f32, 2], gravity: f32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer CellNumbers {
    uint v[];
};

#define FIRST_CELL 3u

// The state of a pool of cells.
layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer Pool {
    uint taken;    // cells in use or freed
    uint freed;    // cells that are deactivated and not yet cleared
    uint highest;  // maximum of `taken`
    uint listed;   // entries of the list that a loop runs over
    uint full;     // bit 0: no cell was left for a request, bit 1: no item of a list
    uint cells[];  // from `taken` on: free cells, 0: a new one; from the capacity on: freed
};

struct BlockCell {
    float mass;
    vec2 momentum;
};

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4)
    buffer BlockCellBuffer { BlockCell v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer I32 { int v[]; };
layout(push_constant, scalar) uniform Args {
    F32 x_data;                 // x: ndarray[f32, 2]
    BlockCellBuffer block;      // mass: field[f32, 64x32], momentum: field[f32[2], 64x32]
    I32 block_list;             // block: row-major numbers of the active cells
    CellNumbers block_numbers;  // block: number of each cell in its pool, from 3 on; 0 if inactive
    Pool block_pool;            // block: counters and free cells of its pool
    int block_capacity;         // block: number of cells of its pool
    float gravity;              // gravity: f32
    int x_n0;                   // x.shape[0]
    int x_n1;                   // x.shape[1]
} args;

#define block_number(i, j) args.block_numbers.v[(i) * 8 + (j)]
#define block_is_active(i, j) (block_number(i, j) >= FIRST_CELL)
#define block_listed() args.block_pool.listed
#define block_list(i) args.block_list.v[i]

// task 2 of 4: range_for, lists the active cells of block
void main() {
    uint index = gl_GlobalInvocationID.x;
    if (index >= 128) return;
    int i = int(index / 8), j = int(index % 8);
    if (block_is_active(i, j)) {
        uint position = atomicAdd(block_listed(), 1u);
        block_list(int(position)) = i * 8 + j;
    }
}

// ===== splat_3.comp
// shadesmith 0.1.0, vulkan 7b30ef07, splat.py:9: splat(x: ndarray[f32, 2], gravity: f32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer CellNumbers {
    uint v[];
};

// The state of a pool of cells.
layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer Pool {
    uint taken;    // cells in use or freed
    uint freed;    // cells that are deactivated and not yet cleared
    uint highest;  // maximum of `taken`
    uint listed;   // entries of the list that a loop runs over
    uint full;     // bit 0: no cell was left for a request, bit 1: no item of a list
    uint cells[];  // from `taken` on: free cells, 0: a new one; from the capacity on: freed
};

struct BlockCell {
    float mass;
    vec2 momentum;
};

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4)
    buffer BlockCellBuffer { BlockCell v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer I32 { int v[]; };
layout(push_constant, scalar) uniform Args {
    F32 x_data;                 // x: ndarray[f32, 2]
    BlockCellBuffer block;      // mass: field[f32, 64x32], momentum: field[f32[2], 64x32]
    I32 block_list;             // block: row-major numbers of the active cells
    CellNumbers block_numbers;  // block: number of each cell in its pool, from 3 on; 0 if inactive
    Pool block_pool;            // block: counters and free cells of its pool
    int block_capacity;         // block: number of cells of its pool
    float gravity;              // gravity: f32
    int x_n0;                   // x.shape[0]
    int x_n1;                   // x.shape[1]
} args;

#define block_number(i, j) args.block_numbers.v[(i) * 8 + (j)]
#define mass_in(cell, i, j) args.block.v[(cell) * 16 + uint(i) % 4 * 4 + uint(j) % 4].mass
#define mass(i, j) mass_in(block_number(uint(i) / 4, uint(j) / 4), i, j)
#define momentum_in(cell, i, j) args.block.v[(cell) * 16 + uint(i) % 4 * 4 + uint(j) % 4].momentum
#define block_list(i) args.block_list.v[i]

// task 3 of 4: range_for over mass
// splat.py:12  for i, j in mass:
void task(int list_index, int i_inside, int j_inside) {
    int cell = block_list(list_index), i = cell / 8 * 4 + i_inside, j = cell % 8 * 4 + j_inside;
    uint block = block_number(cell / 8, cell % 8);
    if (i > 0 && mass(i - 1, j) > 0.0) {  // :13
        // splat.py:14  momentum[i, j].y -= gravity * mass[i, j]
        // not atomic: no other iteration writes it (demote_atomics)
        momentum_in(block, i, j).y -= args.gravity * mass_in(block, i, j);
    }
}

void main() {
    int extent_list_index = max(int(args.block_pool.listed), 0);
    for (uint index = gl_GlobalInvocationID.x; index < uint(extent_list_index) * 16;
        index += gl_NumWorkGroups.x * BLOCK) {
        task(int(index / 16), int(index / 4 % 4), int(index % 4));
    }
}
