/* --- zip: the members of an archive ------------------------------------------------------------------------------- */

enum {
    MAX_MEMBERS = 4096,
    MAX_NAME_BYTES = 200,
    MAX_RATIO = 200,
    SMALL_MEMBER_BYTES = 4096,
    MAX_MANIFEST_BYTES = 4 << 20
};
static const uint64_t MAX_MEMBER_BYTES = 64u << 20;
static const uint64_t MAX_ARCHIVE_BYTES = 256u << 20;

enum { LOCAL_HEADER_BYTES = 30, CENTRAL_HEADER_BYTES = 46, END_RECORD_BYTES = 22 };
enum { FLAGS_ALLOWED = 0x0806 }; /* compression level and UTF-8 names; no other flag */
enum { METHOD_STORED = 0, METHOD_DEFLATED = 8 };

typedef struct ZipMember {
    const char *name;
    const uint8_t *data; /* in the archive, compressed or not */
    uint32_t compressed_size, size, crc, method;
    bool is_listed; /* in the manifest */
} ZipMember;

/* members: sorted by name. */
typedef struct Zip {
    const uint8_t *data;
    size_t size;
    ZipMember *members;
    uint32_t count;
} Zip;

static bool fail_zip(const char *message) {
    return fail(TI_ERROR_CORRUPTED_DATA, "the archive is damaged: %s", message);
}

/* Return whether a name is a relative path of plain characters, no component of which starts with a dot. */
static bool is_plain_path(const uint8_t *name, size_t length) {
    size_t start = 0, i;
    for (i = 0; i <= length; i++) {
        if (i == length || name[i] == '/') {
            if (i == start || name[start] == '.') {
                return false;
            }
            start = i + 1;
        } else if (!name[i] || !strchr("abcdefghijklmnopqrstuvwxyz0123456789_.-", name[i])) {
            return false;
        }
    }
    return true;
}

static int compare_members(const void *a, const void *b) {
    return strcmp(((const ZipMember *)a)->name, ((const ZipMember *)b)->name);
}

/* Read the local header of a member, which must agree with the central one. start: where the data of the member start.
 */
static bool zip_local_header(const Zip *zip, size_t offset, const uint8_t *central, size_t name_length, size_t *start) {
    const uint8_t *local = zip->data + offset;
    *start = 0;
    if (zip->size - offset < LOCAL_HEADER_BYTES || memcmp(local, "PK\3\4", 4)) {
        return fail_zip("a member does not start where the directory says");
    }
    /* version needed, flags, method, time, date, CRC, both sizes, length of the name */
    if (memcmp(local + 4, central + 6, 24) || little_u16(local + 26) != name_length) {
        return fail_zip("a member and the directory disagree");
    }
    *start = offset + LOCAL_HEADER_BYTES + name_length + little_u16(local + 28);
    if (*start > zip->size || memcmp(local + LOCAL_HEADER_BYTES, central + CENTRAL_HEADER_BYTES, name_length)) {
        return fail_zip("a member and the directory disagree about a name");
    }
    return true;
}

static bool zip_check_numbers(const uint8_t *central) {
    uint64_t compressed_size = little_u32(central + 20), size = little_u32(central + 24);
    uint32_t method = little_u16(central + 10), mode = little_u32(central + 38) >> 16;
    if (little_u16(central + 8) & ~(uint32_t)FLAGS_ALLOWED) {
        return fail_zip("a member is encrypted or streamed");
    }
    if (method != METHOD_STORED && method != METHOD_DEFLATED) {
        return fail(TI_ERROR_CORRUPTED_DATA,
                    "the archive has a member of method %u; stored and deflated ones can be read", method);
    }
    if ((mode & 0170000) != 0 && (mode & 0170000) != 0100000) {
        return fail_zip("a member is a link or a folder");
    }
    if (size > MAX_MEMBER_BYTES || compressed_size > MAX_MEMBER_BYTES) {
        return fail(TI_ERROR_CORRUPTED_DATA, "the archive has a member of %llu bytes; at most %llu are read",
                    (unsigned long long)larger_u64(size, compressed_size), (unsigned long long)MAX_MEMBER_BYTES);
    }
    if (method == METHOD_STORED ? size != compressed_size
                                : size > SMALL_MEMBER_BYTES && size > compressed_size * MAX_RATIO) {
        return fail_zip("the sizes of a member cannot be right");
    }
    return true;
}

/* Read one entry of the directory at `*position`. Members must be contiguous; `*end` is the end of the last one. */
static bool zip_member(Zip *zip, Arena *arena, ZipMember *member, size_t directory_end, size_t *position, size_t *end) {
    const uint8_t *central = zip->data + *position;
    size_t name_length, length, start;
    char *name;
    if (directory_end - *position < CENTRAL_HEADER_BYTES || memcmp(central, "PK\1\2", 4)) {
        return fail_zip("its directory is cut off");
    }
    name_length = little_u16(central + 28);
    length = CENTRAL_HEADER_BYTES + name_length + little_u16(central + 30) + little_u16(central + 32);
    if (length > directory_end - *position) {
        return fail_zip("its directory is cut off");
    }
    if (name_length > MAX_NAME_BYTES || !is_plain_path(central + CENTRAL_HEADER_BYTES, name_length)) {
        return fail_zip("a member has a name that is no plain relative path");
    }
    if (!zip_check_numbers(central)) {
        return false;
    }
    if (little_u32(central + 42) != *end) {
        return fail_zip("members overlap, or there are bytes between them");
    }
    if (!zip_local_header(zip, *end, central, name_length, &start)) {
        return false;
    }
    member->compressed_size = little_u32(central + 20);
    if (member->compressed_size > zip->size - start) {
        return fail_zip("a member is cut off");
    }
    name = arena_string(arena, (const char *)central + CENTRAL_HEADER_BYTES, name_length);
    if (!name) {
        return false;
    }
    member->name = name;
    member->data = zip->data + start;
    member->size = little_u32(central + 24);
    member->crc = little_u32(central + 16);
    member->method = little_u16(central + 10);
    *end = start + member->compressed_size;
    *position += length;
    return true;
}

/* Read the directory. Every byte of the archive belongs to a member or to the directory at its end. */
static bool zip_open(Zip *zip, Arena *arena, const uint8_t *data, size_t size) {
    const uint8_t *record;
    size_t directory, directory_end, position, end = 0;
    uint64_t total = 0;
    uint32_t i;
    zip->data = data;
    zip->size = size;
    if (size > MAX_ARCHIVE_BYTES) {
        return fail(TI_ERROR_CORRUPTED_DATA, "the archive has more than %llu bytes",
                    (unsigned long long)MAX_ARCHIVE_BYTES);
    }
    if (size < END_RECORD_BYTES || memcmp(data + size - END_RECORD_BYTES, "PK\5\6", 4)) {
        return fail(TI_ERROR_CORRUPTED_DATA,
                    "this is no archive, or its end is missing: no zip directory ends where the data end");
    }
    directory_end = size - END_RECORD_BYTES;
    record = data + directory_end;
    zip->count = little_u16(record + 10);
    directory = little_u32(record + 16);
    if (little_u32(record + 4) || little_u16(record + 8) != zip->count || little_u16(record + 20)) {
        return fail_zip("its last record is wrong");
    }
    if (zip->count > MAX_MEMBERS) {
        return fail(TI_ERROR_CORRUPTED_DATA, "the archive has %u members; at most %d are read", zip->count,
                    MAX_MEMBERS);
    }
    if (directory > directory_end || little_u32(record + 12) != directory_end - directory) {
        return fail_zip("its directory is not where its end record says");
    }
    zip->members = (ZipMember *)arena_allocate(arena, zip->count, sizeof(ZipMember));
    if (!zip->members) {
        return false;
    }
    position = directory;
    for (i = 0; i < zip->count; i++) {
        if (!zip_member(zip, arena, &zip->members[i], directory_end, &position, &end)) {
            return false;
        }
        total += zip->members[i].size;
    }
    if (position != directory_end || end != directory) {
        return fail_zip("there are bytes outside of its members");
    }
    if (total > MAX_ARCHIVE_BYTES) {
        return fail(TI_ERROR_CORRUPTED_DATA, "the members of the archive have more than %llu bytes",
                    (unsigned long long)MAX_ARCHIVE_BYTES);
    }
    qsort(zip->members, zip->count, sizeof(ZipMember), compare_members);
    for (i = 1; i < zip->count; i++) {
        if (!strcmp(zip->members[i - 1].name, zip->members[i].name)) {
            return fail(TI_ERROR_CORRUPTED_DATA, "the archive has two members `%s`", zip->members[i].name);
        }
    }
    return true;
}

static ZipMember *zip_find(const Zip *zip, const char *name) {
    uint32_t low = 0, high = zip->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = strcmp(zip->members[middle].name, name);
        if (!order) {
            return &zip->members[middle];
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

/* Return the bytes of a member, its checksum verified, with a final NUL; the caller frees them. */
static uint8_t *zip_read(const ZipMember *member) {
    uint8_t *data = (uint8_t *)malloc((size_t)member->size + 1);
    if (!data) {
        fail_without_memory(member->size);
        return NULL;
    }
    data[member->size] = 0;
    if (member->method == METHOD_STORED) {
        memcpy(data, member->data, member->size);
    } else if (!inflate(member->data, member->compressed_size, data, member->size)) {
        fail(TI_ERROR_CORRUPTED_DATA, "the archive is damaged: `%s` cannot be inflated", member->name);
        free(data);
        return NULL;
    }
    if (crc32_of(data, member->size) != member->crc) {
        fail(TI_ERROR_CORRUPTED_DATA, "the archive is damaged: the checksum of `%s` is wrong", member->name);
        free(data);
        return NULL;
    }
    return data;
}
