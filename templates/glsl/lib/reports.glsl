// Records of print and of failed checks, read by the host: one section of the buffer for prints,
// one for failed checks. words[0..2], the header of the prints: index of the next record, end of
// the section, number of records that did not fit. words[3..5], the header of the failed checks:
// the same. words[6..8]: the number of failed checks, the first iteration and the first site with
// one. A record: site, thread, number of words, words. If a record does not fit, EMPTY_SITE marks
// the unused rest of the section.
// Use: `uint record = report_print(report, site, thread, 2u); record = report_f32(report, record,
// x); ...`; 64 bit numbers take 2 words, the low one first. Chunks are separated by blank lines,
// each defines one name.

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

uint report_print(Report report, uint site, uint thread, uint size) {
    return report_start(report, 0u, site, thread, size);
}

// Start the record of a failed check, unless an earlier iteration has one: only the first is shown.
uint report_failure(Report report, uint site, uint thread, uint size) {
    atomicAdd(report.words[6], 1u);
    atomicMin(report.words[8], site);
    return thread < atomicMin(report.words[7], thread)
        ? report_start(report, 3u, site, thread, size)
        : 0u;
}

// Add a record of the call site after that of a check that failed in the called function.
void report_call(Report report, uint site, uint thread) {
    atomicMin(report.words[8], site);
    if (report.words[7] == thread) {
        report_start(report, 3u, site, thread, 0u);
    }
}

// Return whether a check failed in a task before the one whose first site is `site`.
bool report_stopped(Report report, uint site) {
    return report.words[8] < site;
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

uint report_f32(Report report, uint cursor, float value) {
    return report_u32(report, cursor, floatBitsToUint(value));
}

uint report_u64(Report report, uint cursor, uint64_t value) {
    uvec2 halves = unpackUint2x32(value);
    return report_u32(report, report_u32(report, cursor, halves.x), halves.y);
}

uint report_f64(Report report, uint cursor, double value) {
    uvec2 halves = unpackDouble2x32(value);
    return report_u32(report, report_u32(report, cursor, halves.x), halves.y);
}

uint report_i64(Report report, uint cursor, int64_t value) {
    return report_u64(report, cursor, uint64_t(value));
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

bool outside_3(Report report, uint site, uint thread, int i, int j, int k, int ni, int nj, int nk) {
    if (i >= 0 && i < ni && j >= 0 && j < nj && k >= 0 && k < nk) {
        return false;
    }
    uint record = report_failure(report, site, thread, 6u);
    record = report_i32(report, record, i);
    record = report_i32(report, record, j);
    record = report_i32(report, record, k);
    record = report_i32(report, record, ni);
    record = report_i32(report, record, nj);
    report_i32(report, record, nk);
    return true;
}

bool outside_4(
    Report report, uint site, uint thread, int i, int j, int k, int l, int ni, int nj, int nk,
    int nl
) {
    if (i >= 0 && i < ni && j >= 0 && j < nj && k >= 0 && k < nk && l >= 0 && l < nl) {
        return false;
    }
    uint record = report_failure(report, site, thread, 8u);
    record = report_i32(report, record, i);
    record = report_i32(report, record, j);
    record = report_i32(report, record, k);
    record = report_i32(report, record, l);
    record = report_i32(report, record, ni);
    record = report_i32(report, record, nj);
    record = report_i32(report, record, nk);
    report_i32(report, record, nl);
    return true;
}
