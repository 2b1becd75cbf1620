// Records of print and of failed checks; `c_family/lib/reports.h` describes their layout.

#include "dialect.h"
#include "numbers.h"

// In place of the site of a record: no records follow.
#define EMPTY_SITE 0xffffffffu

// Start a record of `size` words in the section with its header at words[section]; returns the
// index of its first word, or 0 if the section is full.
static inline uint32_t report_start(
    uint32_t *report, uint32_t section, uint32_t site, uint32_t thread, uint32_t size
) {
    uint32_t end = report[section + 1u];
    if (__atomic_load_n(&report[section], __ATOMIC_RELAXED) < end) {
        uint32_t start = __atomic_fetch_add(&report[section], 3u + size, __ATOMIC_RELAXED);
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
    __atomic_fetch_add(&report[section + 2u], 1u, __ATOMIC_RELAXED);
    return 0u;
}

// Lower a word to `value`; returns the previous value.
static inline uint32_t report_min(uint32_t *word, uint32_t value) {
    uint32_t old = __atomic_load_n(word, __ATOMIC_RELAXED);
    const int relaxed = __ATOMIC_RELAXED;
    while (value < old && !__atomic_compare_exchange_n(word, &old, value, true, relaxed, relaxed)) {
    }
    return old;
}

#include "../../c_family/lib/reports.h"
