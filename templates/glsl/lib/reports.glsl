// Records of print and assert, read by the host: words[0] counts the words asked for, words[1] is the room for records,
// then come records: site, thread, number of words, words. Records that find no room are dropped, but counted.
// Use: `uint cursor = report_start(report, site, thread, 2u); cursor = report_f32(report, cursor, x); ...`; 64 bit numbers
// take 2 words, the low one first. Chunks are separated by blank lines, each defines one name.

layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer Report {
    uint words[];
};

// Begin a record of `size` words; gives where its first word goes, or 0 if there is no room.
uint report_start(Report report, uint site, uint thread, uint size) {
    uint start = atomicAdd(report.words[0], 3u + size);
    if (start > report.words[1] || report.words[1] - start < 3u + size) {
        return 0u;
    }
    report.words[start + 2u] = site;
    report.words[start + 3u] = thread;
    report.words[start + 4u] = size;
    return start + 5u;
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
