// Records of print and of failed checks, read by the host: one section of the buffer for prints,
// one for failed checks. words[0..2], the header of the prints: index of the next record, end of
// the section, number of records that did not fit. words[3..5], the header of the failed checks:
// the same. words[6..8]: the number of failed checks, the first iteration and the first site with
// one. A record: site, thread, number of words, words. If a record does not fit, EMPTY_SITE marks
// the unused rest of the section.
// Use: `uint record = report_print(report, site, thread, 2u); record = report_f32(report, record,
// x); ...`; 64 bit numbers take 2 words, the low one first. Chunks are separated by blank lines,
// each defines one name. Included by the languages' own `reports`, after `report_start`.

FUNCTION uint32_t report_print(
    uint32_t *report, uint32_t site, uint32_t thread, uint32_t size
) {
    return report_start(report, 0u, site, thread, size);
}

// Start the record of a failed check, unless an earlier iteration has one: only the first is shown.
FUNCTION uint32_t report_failure(
    uint32_t *report, uint32_t site, uint32_t thread, uint32_t size
) {
    ATOMIC_ADD(&report[6], 1u);
    ATOMIC_MIN(&report[8], site);
    return thread < ATOMIC_MIN(&report[7], thread) ? report_start(report, 3u, site, thread, size)
                                                   : 0u;
}

// Add a record of the call site after that of a check that failed in the called function.
FUNCTION void report_call(uint32_t *report, uint32_t site, uint32_t thread) {
    ATOMIC_MIN(&report[8], site);
    if (LOAD_VOLATILE(report[7]) == thread) {
        report_start(report, 3u, site, thread, 0u);
    }
}

// Return whether a check failed in a task before the one whose first site is `site`.
FUNCTION bool report_stopped(const uint32_t *report, uint32_t site) {
    return LOAD_CONST_VOLATILE(report[8]) < site;
}

// Write one word; returns the index of the next.
FUNCTION uint32_t report_u32(uint32_t *report, uint32_t cursor, uint32_t value) {
    if (cursor == 0u) {
        return 0u;
    }
    report[cursor] = value;
    return cursor + 1u;
}

FUNCTION uint32_t report_i32(uint32_t *report, uint32_t cursor, int value) {
    return report_u32(report, cursor, (uint32_t)value);
}

FUNCTION uint32_t report_f32(uint32_t *report, uint32_t cursor, float value) {
    return report_u32(report, cursor, FLOAT_BITS(value));
}

FUNCTION uint32_t report_u64(uint32_t *report, uint32_t cursor, uint64_t value) {
    return report_u32(report, report_u32(report, cursor, (uint32_t)value), (uint32_t)(value >> 32));
}

FUNCTION uint32_t report_f64(uint32_t *report, uint32_t cursor, double value) {
    return report_u64(report, cursor, DOUBLE_BITS(value));
}

FUNCTION uint32_t report_i64(uint32_t *report, uint32_t cursor, int64_t value) {
    return report_u64(report, cursor, (uint64_t)value);
}

// Return whether an index is out of range; if so, record all indices and extents.
FUNCTION bool outside_1(uint32_t *report, uint32_t site, uint32_t thread, int i, int n) {
    if (i >= 0 && i < n) {
        return false;
    }
    uint32_t record = report_failure(report, site, thread, 2u);
    record = report_i32(report, record, i);
    report_i32(report, record, n);
    return true;
}

FUNCTION bool outside_2(
    uint32_t *report, uint32_t site, uint32_t thread, int i, int j, int ni, int nj
) {
    if (i >= 0 && i < ni && j >= 0 && j < nj) {
        return false;
    }
    uint32_t record = report_failure(report, site, thread, 4u);
    record = report_i32(report, record, i);
    record = report_i32(report, record, j);
    record = report_i32(report, record, ni);
    report_i32(report, record, nj);
    return true;
}

FUNCTION bool outside_3(
    uint32_t *report, uint32_t site, uint32_t thread, int i, int j, int k, int ni, int nj, int nk
) {
    if (i >= 0 && i < ni && j >= 0 && j < nj && k >= 0 && k < nk) {
        return false;
    }
    uint32_t record = report_failure(report, site, thread, 6u);
    record = report_i32(report, record, i);
    record = report_i32(report, record, j);
    record = report_i32(report, record, k);
    record = report_i32(report, record, ni);
    record = report_i32(report, record, nj);
    report_i32(report, record, nk);
    return true;
}

FUNCTION bool outside_4(
    uint32_t *report, uint32_t site, uint32_t thread, int i, int j, int k, int l, int ni, int nj,
    int nk, int nl
) {
    if (i >= 0 && i < ni && j >= 0 && j < nj && k >= 0 && k < nk && l >= 0 && l < nl) {
        return false;
    }
    uint32_t record = report_failure(report, site, thread, 8u);
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
