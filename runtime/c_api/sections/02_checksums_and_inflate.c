/* --- SHA-256, CRC-32, inflate ------------------------------------------------------------------------------------- */

static const uint32_t SHA256_ROUNDS[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotated(uint32_t word, int count) {
    return word >> count | word << (32 - count);
}

static void sha256_block(uint32_t state[8], const uint8_t *block) {
    uint32_t w[64], v[8];
    int i;
    for (i = 0; i < 16; i++) {
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
               (uint32_t)block[4 * i + 3];
    }
    for (; i < 64; i++) {
        uint32_t low = rotated(w[i - 15], 7) ^ rotated(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t high = rotated(w[i - 2], 17) ^ rotated(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + low + w[i - 7] + high;
    }
    memcpy(v, state, sizeof v);
    for (i = 0; i < 64; i++) {
        uint32_t high = rotated(v[4], 6) ^ rotated(v[4], 11) ^ rotated(v[4], 25);
        uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t first = v[7] + high + choice + SHA256_ROUNDS[i] + w[i];
        uint32_t low = rotated(v[0], 2) ^ rotated(v[0], 13) ^ rotated(v[0], 22);
        uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        memmove(v + 1, v, 7 * sizeof v[0]);
        v[4] += first;
        v[0] = first + low + majority;
    }
    for (i = 0; i < 8; i++) {
        state[i] += v[i];
    }
}

/* Write the digest as 64 hexadecimal digits and a NUL. Source: FIPS 180-4. */
static void sha256_hex(const uint8_t *data, size_t size, char hex[65]) {
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    uint8_t tail[128];
    size_t whole = size / 64 * 64, rest = size - whole, tail_size = rest < 56 ? 64 : 128, i;
    for (i = 0; i < whole; i += 64) {
        sha256_block(state, data + i);
    }
    memset(tail, 0, sizeof tail);
    if (rest) {
        memcpy(tail, data + whole, rest);
    }
    tail[rest] = 0x80;
    for (i = 0; i < 8; i++) {
        tail[tail_size - 1 - i] = (uint8_t)((uint64_t)size * 8 >> 8 * i);
    }
    for (i = 0; i < tail_size; i += 64) {
        sha256_block(state, tail + i);
    }
    for (i = 0; i < 8; i++) {
        snprintf(hex + 8 * i, 9, "%08x", (unsigned)state[i]);
    }
}

static uint32_t crc32_of(const uint8_t *data, size_t size) {
    static const uint32_t NIBBLES[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
        0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
    uint32_t crc = 0xffffffff;
    size_t i;
    for (i = 0; i < size; i++) {
        crc ^= data[i];
        crc = crc >> 4 ^ NIBBLES[crc & 15];
        crc = crc >> 4 ^ NIBBLES[crc & 15];
    }
    return ~crc;
}

/* Inflate. Source: RFC 1951. */
typedef struct BitReader {
    const uint8_t *data;
    size_t size, position;
    uint32_t bits;
    int count;
    bool is_over; /* the input ended before the requested bits */
} BitReader;

static uint32_t read_bits(BitReader *reader, int count) {
    uint32_t value;
    while (reader->count < count) {
        uint32_t next = 0;
        if (reader->position < reader->size) {
            next = reader->data[reader->position++];
        } else {
            reader->is_over = true;
        }
        reader->bits |= next << reader->count;
        reader->count += 8;
    }
    value = reader->bits & ((1u << count) - 1u);
    reader->bits >>= count;
    reader->count -= count;
    return value;
}

enum { HUFFMAN_BITS = 15, LITERAL_CODES = 288, DISTANCE_CODES = 32 };

/* Huffman codes by length: the number of codes of each length, and their symbols in order. */
typedef struct Huffman {
    uint16_t counts[HUFFMAN_BITS + 1];
    uint16_t symbols[LITERAL_CODES];
} Huffman;

/* Build the table of codes from their lengths. Return false if there are more codes than the bits allow, or fewer than
   they need; a single code of one bit is valid. */
static bool huffman_build(Huffman *table, const uint8_t *lengths, int count) {
    uint16_t offsets[HUFFMAN_BITS + 1];
    int left = 1, used = 0, i;
    memset(table, 0, sizeof *table);
    for (i = 0; i < count; i++) {
        table->counts[lengths[i]]++;
    }
    used = count - table->counts[0];
    table->counts[0] = 0;
    offsets[0] = offsets[1] = 0;
    for (i = 1; i <= HUFFMAN_BITS; i++) {
        left = 2 * left - table->counts[i];
        if (left < 0) {
            return false;
        }
        if (i < HUFFMAN_BITS) {
            offsets[i + 1] = (uint16_t)(offsets[i] + table->counts[i]);
        }
    }
    for (i = 0; i < count; i++) {
        if (lengths[i]) {
            table->symbols[offsets[lengths[i]]++] = (uint16_t)i;
        }
    }
    return left == 0 || used == 0 || (used == 1 && table->counts[1] == 1);
}

/* Return the next symbol, -1 if no code matches. */
static int huffman_read(BitReader *reader, const Huffman *table) {
    int code = 0, first = 0, index = 0, length;
    for (length = 1; length <= HUFFMAN_BITS; length++) {
        code |= (int)read_bits(reader, 1);
        if (reader->is_over) {
            return -1;
        }
        if (code - table->counts[length] < first) {
            return table->symbols[index + (code - first)];
        }
        index += table->counts[length];
        first = (first + table->counts[length]) << 1;
        code <<= 1;
    }
    return -1;
}

typedef struct Inflated {
    uint8_t *data;
    size_t size, position;
} Inflated;

static bool inflate_stored(BitReader *reader, Inflated *output) {
    size_t size;
    reader->bits = 0;
    reader->count = 0;
    if (reader->size - reader->position < 4) {
        return false;
    }
    size = little_u16(reader->data + reader->position);
    if (little_u16(reader->data + reader->position + 2) != (~(uint32_t)size & 0xffff)) {
        return false;
    }
    reader->position += 4;
    if (size > reader->size - reader->position || size > output->size - output->position) {
        return false;
    }
    if (size) {
        memcpy(output->data + output->position, reader->data + reader->position, size);
    }
    reader->position += size;
    output->position += size;
    return true;
}

static bool inflate_copy(BitReader *reader, Inflated *output, int symbol, const Huffman *distances) {
    static const uint16_t LENGTHS[29] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                         31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    static const uint8_t LENGTH_BITS[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                            2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    static const uint16_t DISTANCES[30] = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                           33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                           1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    static const uint8_t DISTANCE_BITS[30] = {0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                              6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};
    size_t length, distance;
    if (symbol >= 29) {
        return false;
    }
    length = LENGTHS[symbol] + read_bits(reader, LENGTH_BITS[symbol]);
    symbol = huffman_read(reader, distances);
    if (symbol < 0 || symbol >= 30) {
        return false;
    }
    distance = DISTANCES[symbol] + read_bits(reader, DISTANCE_BITS[symbol]);
    if (reader->is_over || distance > output->position || length > output->size - output->position) {
        return false;
    }
    for (; length; length--, output->position++) {
        output->data[output->position] = output->data[output->position - distance];
    }
    return true;
}

static bool inflate_codes(BitReader *reader, Inflated *output, const Huffman *literals, const Huffman *distances) {
    for (;;) {
        int symbol = huffman_read(reader, literals);
        if (symbol == 256) {
            return true;
        }
        if (symbol < 0) {
            return false;
        }
        if (symbol > 256) {
            if (!inflate_copy(reader, output, symbol - 257, distances)) {
                return false;
            }
        } else {
            if (output->position == output->size) {
                return false;
            }
            output->data[output->position++] = (uint8_t)symbol;
        }
    }
}

static bool inflate_fixed(BitReader *reader, Inflated *output) {
    uint8_t lengths[LITERAL_CODES];
    Huffman literals, distances;
    memset(lengths, 8, 144);
    memset(lengths + 144, 9, 112);
    memset(lengths + 256, 7, 24);
    memset(lengths + 280, 8, 8);
    huffman_build(&literals, lengths, LITERAL_CODES);
    memset(lengths, 5, DISTANCE_CODES);
    huffman_build(&distances, lengths, DISTANCE_CODES);
    return inflate_codes(reader, output, &literals, &distances);
}

static bool inflate_dynamic(BitReader *reader, Inflated *output) {
    static const uint8_t ORDER[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    uint8_t lengths[LITERAL_CODES + DISTANCE_CODES];
    Huffman literals, distances;
    int literal_count = (int)read_bits(reader, 5) + 257, distance_count = (int)read_bits(reader, 5) + 1;
    int order_count = (int)read_bits(reader, 4) + 4, i;
    if (literal_count > 286 || distance_count > 30) {
        return false;
    }
    memset(lengths, 0, sizeof lengths);
    for (i = 0; i < order_count; i++) {
        lengths[ORDER[i]] = (uint8_t)read_bits(reader, 3);
    }
    if (!huffman_build(&literals, lengths, 19)) {
        return false;
    }
    for (i = 0; i < literal_count + distance_count;) {
        int symbol = huffman_read(reader, &literals), repeat;
        uint8_t length = 0;
        if (symbol < 0 || (symbol == 16 && i == 0)) {
            return false;
        }
        if (symbol < 16) {
            lengths[i++] = (uint8_t)symbol;
            continue;
        }
        if (symbol == 16) {
            length = lengths[i - 1];
            repeat = 3 + (int)read_bits(reader, 2);
        } else {
            repeat = symbol == 17 ? 3 + (int)read_bits(reader, 3) : 11 + (int)read_bits(reader, 7);
        }
        if (repeat > literal_count + distance_count - i) {
            return false;
        }
        memset(lengths + i, length, (size_t)repeat);
        i += repeat;
    }
    return lengths[256] && huffman_build(&literals, lengths, literal_count) &&
           huffman_build(&distances, lengths + literal_count, distance_count) &&
           inflate_codes(reader, output, &literals, &distances);
}

/* Inflate to exactly `size` bytes from exactly `compressed_size` ones. */
static bool inflate(const uint8_t *compressed, size_t compressed_size, uint8_t *data, size_t size) {
    BitReader reader = {compressed, compressed_size, 0, 0, 0, false};
    Inflated output = {data, size, 0};
    bool is_last, is_good;
    do {
        uint32_t kind;
        is_last = read_bits(&reader, 1) != 0;
        kind = read_bits(&reader, 2);
        if (reader.is_over || kind == 3) {
            return false;
        }
        is_good = kind == 0   ? inflate_stored(&reader, &output)
                  : kind == 1 ? inflate_fixed(&reader, &output)
                              : inflate_dynamic(&reader, &output);
    } while (is_good && !is_last);
    return is_good && !reader.is_over && output.position == size && reader.position == compressed_size;
}
