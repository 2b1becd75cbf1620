// Records of print and of failed checks, read by the host. words[0..2]: where the next record of a print goes, the end
// of their room, how many found none; words[3..5]: the same of failed checks, which have room of their own;
// words[6..8]: how many checks failed, the first turn of the loop and the first site with one. A record: site, thread,
// number of words, words. What is left of a room behind a record that did not fit begins with EMPTY_SITE.
// Use: `uint record = report_print(report, site, thread, 2u); record = report_f32(report, record, x); ...`; 64 bit
// numbers take 2 words, the low one first. Chunks are separated by blank lines, each defines one name.

#include "numbers.h"

// Stands where the site of a record would: no records follow.
#define EMPTY_SITE 0xffffffffu

// Begin a record of `size` words in the room at words[room]; gives where its first word goes, or 0 if it is full.
static inline uint32_t report_start(uint32_t *report, uint32_t room, uint32_t site, uint32_t thread, uint32_t size) {
    uint32_t end = report[room + 1u];
    if (__atomic_load_n(&report[room], __ATOMIC_RELAXED) < end) {
        uint32_t start = __atomic_fetch_add(&report[room], 3u + size, __ATOMIC_RELAXED);
        if (start + 3u + size <= end) {
            report[start] = site;
            report[start + 1u] = thread;
            report[start + 2u] = size;
            return start + 3u;
        }
        if (start < end) {
            report[start] = EMPTY_SITE;
        }
    }
    __atomic_fetch_add(&report[room + 2u], 1u, __ATOMIC_RELAXED);
    return 0u;
}

static inline uint32_t report_print(uint32_t *report, uint32_t site, uint32_t thread, uint32_t size) {
    return report_start(report, 0u, site, thread, size);
}

// Lower a word to `value`; gives what it was.
static inline uint32_t report_min(uint32_t *word, uint32_t value) {
    uint32_t old = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (value < old && !__atomic_compare_exchange_n(word, &old, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return old;
}

// Begin the record of a failed check, unless a turn before this one has one: the first is the one that is shown.
static inline uint32_t report_failure(uint32_t *report, uint32_t site, uint32_t thread, uint32_t size) {
    __atomic_fetch_add(&report[6], 1u, __ATOMIC_RELAXED);
    report_min(&report[8], site);
    return thread < report_min(&report[7], thread) ? report_start(report, 3u, site, thread, size) : 0u;
}

// Add, behind the record of a check that failed in a function, the place of the call.
static inline void report_call(uint32_t *report, uint32_t site, uint32_t thread) {
    report_min(&report[8], site);
    if (__atomic_load_n(&report[7], __ATOMIC_RELAXED) == thread) {
        report_start(report, 3u, site, thread, 0u);
    }
}

// Tell whether a check failed in a task before the one whose first site this is.
static inline bool report_stopped(const uint32_t *report, uint32_t site) {
    return __atomic_load_n(&report[8], __ATOMIC_RELAXED) < site;
}

// Write one word; gives where the next one goes.
static inline uint32_t report_u32(uint32_t *report, uint32_t cursor, uint32_t value) {
    if (cursor == 0u) {
        return 0u;
    }
    report[cursor] = value;
    return cursor + 1u;
}

static inline uint32_t report_i32(uint32_t *report, uint32_t cursor, int value) {
    return report_u32(report, cursor, (uint32_t)value);
}

static inline uint32_t report_f32(uint32_t *report, uint32_t cursor, float value) {
    return report_u32(report, cursor, f32_bits_to_u32(value));
}

static inline uint32_t report_u64(uint32_t *report, uint32_t cursor, uint64_t value) {
    return report_u32(report, report_u32(report, cursor, (uint32_t)value), (uint32_t)(value >> 32));
}

static inline uint32_t report_f64(uint32_t *report, uint32_t cursor, double value) {
    return report_u64(report, cursor, f64_bits_to_u64(value));
}

static inline uint32_t report_i64(uint32_t *report, uint32_t cursor, int64_t value) {
    return report_u64(report, cursor, (uint64_t)value);
}

// Tell whether an index lies outside its extent; if so, record all indices and extents.
static inline bool outside_1(uint32_t *report, uint32_t site, uint32_t thread, int i, int n) {
    if (i >= 0 && i < n) {
        return false;
    }
    uint32_t record = report_failure(report, site, thread, 2u);
    record = report_i32(report, record, i);
    report_i32(report, record, n);
    return true;
}

static inline bool outside_2(uint32_t *report, uint32_t site, uint32_t thread, int i, int j, int ni, int nj) {
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

static inline bool outside_3(
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

static inline bool outside_4(
    uint32_t *report, uint32_t site, uint32_t thread, int i, int j, int k, int l, int ni, int nj, int nk, int nl
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
