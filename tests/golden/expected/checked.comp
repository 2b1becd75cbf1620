// ===== checked_0.comp
// shadesmith 0.1.0, vulkan a77bba44, checked.py:4: checked(a: ndarray[f32, 2], n: i32, k: u32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

layout(local_size_x = 1) in;

bool add_overflows_i32(int a, int b) {
    int sum = a + b;
    return ((a ^ sum) & (b ^ sum)) < 0;
}

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

bool outside_2(Report report, uint site, uint thread, int i, int j, int ni, int nj) {
    if (i >= 0 && i < ni && j >= 0 && j < nj) {
        return false;
    }
    uint record = report_failure(report, site, thread, 4u);
    record = report_i32(report, record, i);
    record = report_i32(report, record, j);
    record = report_i32(report, record, ni);
    report_i32(report, record, nj);
    return true;
}

layout(buffer_reference, scalar, buffer_reference_align = 4) restrict buffer F32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Temporaries {
    float first;  // f32
};
layout(push_constant, scalar) uniform Args {
    F32 a_data;               // a: ndarray[f32, 2]
    Temporaries temporaries;  // values that cross tasks
    Report report;            // records of print and of checks
    int n;                    // n: i32
    uint k;                   // k: u32
    int a_n0;                 // a.shape[0]
    int a_n1;                 // a.shape[1]
} args;

#define a(i, j) args.a_data.v[(i) * args.a_n1 + (j)]

// task 0 of 2: serial
void main() {
    // checked.py:5  first = a[n, n + 1]
    if (add_overflows_i32(args.n, 1)) {
        uint record = report_failure(args.report, 0u, 0u, 2u);
        record = report_i32(args.report, record, args.n);
        report_i32(args.report, record, 1);
        return;
    }
    if (outside_2(args.report, 1u, 0u, args.n, args.n + 1, args.a_n0, args.a_n1)) return;
    float first = a(args.n, args.n + 1);
    args.temporaries.first = first;
}

// ===== checked_1.comp
// shadesmith 0.1.0, vulkan 70a03dca, checked.py:4: checked(a: ndarray[f32, 2], n: i32, k: u32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_atomic_float : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

bool add_overflows_i32(int a, int b) {
    int sum = a + b;
    return ((a ^ sum) & (b ^ sum)) < 0;
}

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

// Return whether a check failed in a task before the one whose first site is `site`.
bool report_stopped(Report report, uint site) { return report.words[8] < site; }

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

uint report_f32(Report report, uint cursor, float value) {
    return report_u32(report, cursor, floatBitsToUint(value));
}

// Return whether an index is out of range; if so, record all indices and extents.
bool outside_1(Report report, uint site, uint thread, int i, int n) {
    if (i >= 0 && i < n) {
        return false;
    }
    uint record = report_failure(report, site, thread, 2u);
    record = report_i32(report, record, i);
    report_i32(report, record, n);
    return true;
}

bool outside_2(Report report, uint site, uint thread, int i, int j, int ni, int nj) {
    if (i >= 0 && i < ni && j >= 0 && j < nj) {
        return false;
    }
    uint record = report_failure(report, site, thread, 4u);
    record = report_i32(report, record, i);
    record = report_i32(report, record, j);
    record = report_i32(report, record, ni);
    report_i32(report, record, nj);
    return true;
}

int ivec3_sum(ivec3 a) { return a.x + a.y + a.z; }

bool ivec3_sum_overflows(ivec3 a) {
    int sum = 0;
    for (int i = 0; i < 3; i++) {
        if (add_overflows_i32(sum, a[i])) {
            return true;
        }
        sum += a[i];
    }
    return false;
}

layout(buffer_reference, scalar, buffer_reference_align = 4) restrict buffer F32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Temporaries {
    float first;  // f32
};
layout(push_constant, scalar) uniform Args {
    F32 a_data;               // a: ndarray[f32, 2]
    Temporaries temporaries;  // values that cross tasks
    Report report;            // records of print and of checks
    int n;                    // n: i32
    uint k;                   // k: u32
    int a_n0;                 // a.shape[0]
    int a_n1;                 // a.shape[1]
} args;

#define a(i, j) args.a_data.v[(i) * args.a_n1 + (j)]

// task 1 of 2: range_for over i
// checked.py:6  for i in range(n):
void task(int i, uint index) {
    // checked.py:5  first = a[n, n + 1]
    float first = args.temporaries.first;
    // checked.py:7  v = ti.Vector([1, 2, i])
    ivec3 v = ivec3(1, 2, i);
    // checked.py:8  a[i, v[i]] += first
    if (outside_1(args.report, 2u, index, i, 3)) return;
    if (outside_2(args.report, 3u, index, i, v[i], args.a_n0, args.a_n1)) return;
    atomicAdd(a(i, v[i]), first);
    // checked.py:9  a[0, k] = v.sum() + n
    if (ivec3_sum_overflows(v)) {
        uint record = report_failure(args.report, 4u, index, 3u);
        record = report_i32(args.report, record, v.x);
        record = report_i32(args.report, record, v.y);
        report_i32(args.report, record, v.z);
        return;
    }
    int sum_v = ivec3_sum(v);
    if (add_overflows_i32(sum_v, args.n)) {
        uint record = report_failure(args.report, 5u, index, 2u);
        record = report_i32(args.report, record, sum_v);
        report_i32(args.report, record, args.n);
        return;
    }
    if (0 >= args.a_n0 || args.k >= uint(args.a_n1)) {
        uint record = report_failure(args.report, 6u, index, 4u);
        record = report_i32(args.report, record, 0);
        record = report_u32(args.report, record, args.k);
        record = report_i32(args.report, record, args.a_n0);
        report_i32(args.report, record, args.a_n1);
        return;
    }
    a(0, int(args.k)) = float(sum_v + args.n);
    // checked.py:10  assert a[i, 0] >= 0, f"a[{i}, 0] is {a[i, 0]}"
    if (outside_2(args.report, 7u, index, i, 0, args.a_n0, args.a_n1)) return;
    if (!(a(i, 0) >= 0.0)) {
        uint record = report_failure(args.report, 8u, index, 2u);
        record = report_i32(args.report, record, i);
        report_f32(args.report, record, a(i, 0));
        return;
    }
}

void main() {
    if (report_stopped(args.report, 2u)) return;
    for (uint index = gl_GlobalInvocationID.x; index < uint(max(args.n, 0));
        index += gl_NumWorkGroups.x * BLOCK) {
        task(int(index), index);
    }
}
