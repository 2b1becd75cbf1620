// Collective operations of a block or subgroup that GLSL lacks. Chunks are separated by blank
// lines, each defines one name.

shared int block_votes;

// A barrier of the block; returns how many of its threads vote true.
int block_count(bool vote) {
    barrier();  // all threads have read the result of the previous vote
    if (gl_LocalInvocationID.x == 0u) {
        block_votes = 0;
    }
    barrier();
    if (vote) {
        atomicAdd(block_votes, 1);
    }
    barrier();
    return block_votes;
}

bool block_all(bool vote) {
    return block_count(!vote) == 0;
}

bool block_any(bool vote) {
    return block_count(vote) > 0;
}

// One bit for each lane whose value equals that of this lane.
uint match_any(int value) {
    uint bits = 0u;
    uint lanes = subgroupBallot(true).x;
    for (uint lane = 0u; lane < gl_SubgroupSize; lane++) {
        bool is_equal = subgroupShuffle(value, lane) == value;
        bits |= uint(is_equal) << lane;
    }
    return bits & lanes;
}
