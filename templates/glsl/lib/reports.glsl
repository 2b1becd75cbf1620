// Records of print and of failed checks, read by the host. words[0..2]: where the next record of a print goes, the end
// of their room, how many found none; words[3..5]: the same of failed checks, which have room of their own. A record:
// site, thread, number of words, words. What is left of a room behind a record that did not fit begins with EMPTY_SITE.
// Use: `uint record = report_print(report, site, thread, 2u); record = report_f32(report, record, x); ...`; 64 bit
// numbers take 2 words, the low one first. Chunks are separated by blank lines, each defines one name.

layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer Report {
    uint words[];
};

// Stands where the site of a record would: no records follow.
#define EMPTY_SITE 0xffffffffu

// Begin a record of `size` words in the room at words[room]; gives where its first word goes, or 0 if it is full.
uint report_start(Report report, uint room, uint site, uint thread, uint size) {
    uint end = report.words[room + 1u];
    if (report.words[room] < end) {
        uint start = atomicAdd(report.words[room], 3u + size);
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
    atomicAdd(report.words[room + 2u], 1u);
    return 0u;
}

uint report_print(Report report, uint site, uint thread, uint size) {
    return report_start(report, 0u, site, thread, size);
}

uint report_failure(Report report, uint site, uint thread, uint size) {
    return report_start(report, 3u, site, thread, size);
}

// Write one word; gives where the next one goes.
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
