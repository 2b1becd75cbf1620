// What the threads of a block or subgroup ask one another and GLSL has no function for. Chunks are separated by blank
// lines, each defines one name.

shared int block_votes;

// Wait for the block; gives how many of its threads vote.
int block_count(bool vote) {
    barrier();  // all threads have read what the last vote gave
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

// A bit for each lane that has this lane's value.
uint match_any(int value) {
    uint bits = 0u;
    uint lanes = subgroupBallot(true).x;
    for (uint lane = 0u; lane < gl_SubgroupSize; lane++) {
        bool is_equal = subgroupShuffle(value, lane) == value;
        bits |= uint(is_equal) << lane;
    }
    return bits & lanes;
}
