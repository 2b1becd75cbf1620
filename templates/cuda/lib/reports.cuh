// Records of print and of failed checks; `c_family/lib/reports.h` describes their layout.

#include "dialect.cuh"

// Stands where the site of a record would: no records follow.
#define EMPTY_SITE 0xffffffffu

// Begin a record of `size` words in the room at words[room]; gives where its first word goes, or 0 if it is full.
__device__ inline uint32_t report_start(
    uint32_t *report, uint32_t room, uint32_t site, uint32_t thread, uint32_t size
) {
    uint32_t end = report[room + 1u];
    if (*(volatile uint32_t *)&report[room] < end) {
        uint32_t start = atomicAdd(&report[room], 3u + size);
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
    atomicAdd(&report[room + 2u], 1u);
    return 0u;
}

#include "../../c_family/lib/reports.h"
