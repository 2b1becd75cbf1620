// ===== swap_0.comp
// shadesmith 0.1.0, vulkan 8bf99fca, moved.py:9: swap(n: i32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer Report {
    uint words[];
};

// In place of the site of a record: no records follow.
#define EMPTY_SITE 0xffffffffu

// Start a record of `size` words in the section with its header at words[section]; returns the
// index of its first word, or 0 if the section is full.
uint report_start(Report report, uint section, uint site, uint thread, uint size) {
    uint end = report.words[section + 1u];
    if (report.words[section] < end) {
        uint start = atomicAdd(report.words[section], 3u + size);
        if (start + 3u + size <= end) {
            report.words[start] = site;
            report.words[start + 1u] = thread;
            report.words[start + 2u] = size;
            return start + 3u;
        }
        if (start < end) {
            report.words[start] = EMPTY_SITE;
        }
    }
    atomicAdd(report.words[section + 2u], 1u);
    return 0u;
}

layout(buffer_reference, scalar, buffer_reference_align = 4) restrict buffer F32 { float v[]; };
layout(push_constant, scalar) uniform Args {
    F32 columns_data;  // columns: field[f32, 6x10 from (-3, 2)]
    F32 tiles_data;    // tiles: field[f32, 6x10 from (-3, 2)]
    Report report;     // records of print and of checks
    int n;             // n: i32
} args;

#define columns(i, j) args.columns_data.v[((j) - 2) * 6 + ((i) + 3)]
#define tiles(i, j) \
    args.tiles_data.v[(uint((i) + 3) / 2 * 5 + uint((j) - 2) / 2) * 4 + uint((i) + 3) % 2 * 2 \
    + uint((j) - 2) % 2]

// task 0 of 2: range_for over columns
// moved.py:10  for i, j in columns:
void main() {
    uint index = gl_GlobalInvocationID.x;
    if (index >= 60) return;
    int i = -3 + int(index % 6), j = 2 + int(index / 6);
    columns(i, j) = tiles(i, j);  // :11
}

// ===== swap_1.comp
// shadesmith 0.1.0, vulkan 925553fc, moved.py:9: swap(n: i32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer Report {
    uint words[];
};

// In place of the site of a record: no records follow.
#define EMPTY_SITE 0xffffffffu

// Start a record of `size` words in the section with its header at words[section]; returns the
// index of its first word, or 0 if the section is full.
uint report_start(Report report, uint section, uint site, uint thread, uint size) {
    uint end = report.words[section + 1u];
    if (report.words[section] < end) {
        uint start = atomicAdd(report.words[section], 3u + size);
        if (start + 3u + size <= end) {
            report.words[start] = site;
            report.words[start + 1u] = thread;
            report.words[start + 2u] = size;
            return start + 3u;
        }
        if (start < end) {
            report.words[start] = EMPTY_SITE;
        }
    }
    atomicAdd(report.words[section + 2u], 1u);
    return 0u;
}

// Start the record of a failed check, unless an earlier iteration has one: only the first is shown.
uint report_failure(Report report, uint site, uint thread, uint size) {
    atomicAdd(report.words[6], 1u);
    atomicMin(report.words[8], site);
    return thread < atomicMin(report.words[7], thread)
        ? report_start(report, 3u, site, thread, size)
        : 0u;
}

// Write one word; returns the index of the next.
uint report_u32(Report report, uint cursor, uint value) {
    if (cursor == 0u) {
        return 0u;
    }
    report.words[cursor] = value;
    return cursor + 1u;
}

uint report_i32(Report report, uint cursor, int value) {
    return report_u32(report, cursor, uint(value));
}

layout(buffer_reference, scalar, buffer_reference_align = 4) restrict buffer F32 { float v[]; };
layout(push_constant, scalar) uniform Args {
    F32 columns_data;  // columns: field[f32, 6x10 from (-3, 2)]
    F32 tiles_data;    // tiles: field[f32, 6x10 from (-3, 2)]
    Report report;     // records of print and of checks
    int n;             // n: i32
} args;

#define columns(i, j) args.columns_data.v[((j) - 2) * 6 + ((i) + 3)]
#define tiles(i, j) \
    args.tiles_data.v[(uint((i) + 3) / 2 * 5 + uint((j) - 2) / 2) * 4 + uint((i) + 3) % 2 * 2 \
    + uint((j) - 2) % 2]

// task 1 of 2: range_for over tiles
// moved.py:12  for i, j in tiles:
void main() {
    uint index = gl_GlobalInvocationID.x;
    if (index >= 60) return;
    int i = -3 + int(index / 20 * 2 + index / 2 % 2), j = 2 + int(index / 4 % 5 * 2 + index % 2);
    // moved.py:13  tiles[i, j] = columns[n - i, j]
    if (args.n - i < -3 || args.n - i >= 3 || j < 2 || j >= 12) {
        uint record = report_failure(args.report, 0u, index, 4u);
        record = report_i32(args.report, record, args.n - i);
        record = report_i32(args.report, record, j);
        record = report_i32(args.report, record, 6);
        report_i32(args.report, record, 10);
        return;
    }
    tiles(i, j) = columns(args.n - i, j);
}
