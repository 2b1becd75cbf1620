// ===== prune_0.comp
// shadesmith 0.1.0, vulkan 089e83ff, prune.py:9: prune()
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

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer I32 { int v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer U32 { uint v[]; };
layout(push_constant, scalar) uniform Args {
    F32 x_data;                 // x: field[f32, 1024]
    I32 block_list;             // block: row-major numbers of the active cells
    U32 block_words;            // block: the cells as 32-bit words
    Pool block_pool;            // block: counters and free cells of its pool
    CellNumbers block_numbers;  // block: number of each cell in its pool, from 3 on; 0 if inactive
    int block_capacity;         // block: number of cells of its pool
} args;

#define block_listed() args.block_pool.listed

// task 0 of 6: serial, empties the list of block
void main() {
    block_listed() = 0u;
}

// ===== prune_1.comp
// shadesmith 0.1.0, vulkan 53acfeb5, prune.py:9: prune()
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

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer I32 { int v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer U32 { uint v[]; };
layout(push_constant, scalar) uniform Args {
    F32 x_data;                 // x: field[f32, 1024]
    I32 block_list;             // block: row-major numbers of the active cells
    U32 block_words;            // block: the cells as 32-bit words
    Pool block_pool;            // block: counters and free cells of its pool
    CellNumbers block_numbers;  // block: number of each cell in its pool, from 3 on; 0 if inactive
    int block_capacity;         // block: number of cells of its pool
} args;

#define block_number(i) args.block_numbers.v[i]
#define block_is_active(i) (block_number(i) >= FIRST_CELL)
#define block_listed() args.block_pool.listed
#define block_list(i) args.block_list.v[i]

// task 1 of 6: range_for, lists the active cells of block
void main() {
    int i = int(gl_GlobalInvocationID.x);
    if (i >= 64) return;
    if (block_is_active(i)) {
        uint position = atomicAdd(block_listed(), 1u);
        block_list(int(position)) = i;
    }
}

// ===== prune_2.comp
// shadesmith 0.1.0, vulkan 3c1400ef, prune.py:9: prune()
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

// Record a cell that is no longer in use and not yet cleared.
void free_cell(Pool pool, int capacity, uint cell) {
    uint freed = atomicAdd(pool.freed, 1u);
    pool.cells[uint(capacity) + freed] = cell;
}

// Deactivate the cell of an entry; it is cleared and returned to the pool after the loop.
void deactivate_cell(CellNumbers numbers, uint entry, Pool pool, int capacity) {
    uint cell = numbers.v[entry];
    if (cell >= FIRST_CELL && atomicCompSwap(numbers.v[entry], cell, 0u) == cell) {
        free_cell(pool, capacity, cell);
    }
}

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer I32 { int v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer U32 { uint v[]; };
layout(push_constant, scalar) uniform Args {
    F32 x_data;                 // x: field[f32, 1024]
    I32 block_list;             // block: row-major numbers of the active cells
    U32 block_words;            // block: the cells as 32-bit words
    Pool block_pool;            // block: counters and free cells of its pool
    CellNumbers block_numbers;  // block: number of each cell in its pool, from 3 on; 0 if inactive
    int block_capacity;         // block: number of cells of its pool
} args;

#define block_number(i) args.block_numbers.v[i]
#define x_in(cell, i) args.x_data.v[(cell) * 16 + uint(i) % 16]
#define x(i) x_in(block_number(uint(i) / 16), i)
#define block_list(i) args.block_list.v[i]

void deactivate_block(int i) {
    deactivate_cell(args.block_numbers, uint(i), args.block_pool, args.block_capacity);
}

// task 2 of 6: range_for over block
// prune.py:10  for i in block:
void task(int list_index) {
    int i = block_list(list_index);
    if (x(16 * i) == 0.0) {  // :11
        // prune.py:12  ti.deactivate(block, i)
        deactivate_block(i);
    }
}

void main() {
    uint count = uint(max(int(args.block_pool.listed), 0));
    for (uint index = gl_GlobalInvocationID.x; index < count; index += gl_NumWorkGroups.x * BLOCK) {
        task(int(index));
    }
}

// ===== prune_3.comp
// shadesmith 0.1.0, vulkan bd2a44ca, prune.py:9: prune()
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

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer I32 { int v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer U32 { uint v[]; };
layout(push_constant, scalar) uniform Args {
    F32 x_data;                 // x: field[f32, 1024]
    I32 block_list;             // block: row-major numbers of the active cells
    U32 block_words;            // block: the cells as 32-bit words
    Pool block_pool;            // block: counters and free cells of its pool
    CellNumbers block_numbers;  // block: number of each cell in its pool, from 3 on; 0 if inactive
    int block_capacity;         // block: number of cells of its pool
} args;

#define block_words(i, j) args.block_words.v[(i) * 16 + (j)]
#define block_cells(i) args.block_pool.cells[i]

// task 3 of 6: range_for, zeroes the freed cells of block
void task(int k, int word) {
    uint cell = block_cells(args.block_capacity + k);
    block_words(int(cell), word) = 0u;
}

void main() {
    int extent_k = max(int(args.block_pool.freed), 0);
    for (uint index = gl_GlobalInvocationID.x; index < uint(extent_k) * 16;
        index += gl_NumWorkGroups.x * BLOCK) {
        task(int(index / 16), int(index % 16));
    }
}

// ===== prune_4.comp
// shadesmith 0.1.0, vulkan 3439ead9, prune.py:9: prune()
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

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer I32 { int v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer U32 { uint v[]; };
layout(push_constant, scalar) uniform Args {
    F32 x_data;                 // x: field[f32, 1024]
    I32 block_list;             // block: row-major numbers of the active cells
    U32 block_words;            // block: the cells as 32-bit words
    Pool block_pool;            // block: counters and free cells of its pool
    CellNumbers block_numbers;  // block: number of each cell in its pool, from 3 on; 0 if inactive
    int block_capacity;         // block: number of cells of its pool
} args;

#define block_cells(i) args.block_pool.cells[i]

// task 4 of 6: range_for, releases the freed cells of block
void task(int k) {
    block_cells(int(args.block_pool.taken) - 1 - k) = block_cells(args.block_capacity + k);
}

void main() {
    uint count = uint(max(int(args.block_pool.freed), 0));
    for (uint index = gl_GlobalInvocationID.x; index < count; index += gl_NumWorkGroups.x * BLOCK) {
        task(int(index));
    }
}

// ===== prune_5.comp
// shadesmith 0.1.0, vulkan 6ca8c0ab, prune.py:9: prune()
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

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer I32 { int v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer U32 { uint v[]; };
layout(push_constant, scalar) uniform Args {
    F32 x_data;                 // x: field[f32, 1024]
    I32 block_list;             // block: row-major numbers of the active cells
    U32 block_words;            // block: the cells as 32-bit words
    Pool block_pool;            // block: counters and free cells of its pool
    CellNumbers block_numbers;  // block: number of each cell in its pool, from 3 on; 0 if inactive
    int block_capacity;         // block: number of cells of its pool
} args;

#define block_taken() args.block_pool.taken
#define block_freed() args.block_pool.freed
#define block_highest() args.block_pool.highest

// task 5 of 6: serial, counts the cells of block
void main() {
    block_highest() = max(block_highest(), block_taken());
    block_taken() -= block_freed();
    block_freed() = 0u;
}
