// Records of print and of failed checks; `c_family/lib/reports.h` describes their layout.

#include "dialect.cuh"

// In place of the site of a record: no records follow.
#define EMPTY_SITE 0xffffffffu

// Start a record of `size` words in the section with its header at words[section]; returns the
// index of its first word, or 0 if the section is full.
__device__ inline uint32_t report_start(
    uint32_t *report, uint32_t section, uint32_t site, uint32_t thread, uint32_t size
) {
    uint32_t end = report[section + 1u];
    if (*(volatile uint32_t *)&report[section] < end) {
        uint32_t start = atomicAdd(&report[section], 3u + size);
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
    atomicAdd(&report[section + 2u], 1u);
    return 0u;
}

#include "../../c_family/lib/reports.h"
