/* --- JSON: the parser --------------------------------------------------------------------------------------------- */

typedef enum JsonKind {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_INTEGER,
    JSON_REAL,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
} JsonKind;

/* count: number of items, or of bytes of a string. index: in its array. name: in its object. */
typedef struct Json {
    const struct Json *parent;
    struct Json *next;
    const char *name;
    union {
        int64_t integer;
        double real;
        const char *string;
        struct Json *first;
    } value;
    JsonKind kind;
    uint32_t count, index;
} Json;

enum { MAX_JSON_DEPTH = 64, MAX_JSON_VALUES = 1 << 19, MAX_UNSORTED_KEYS = 256 };

typedef struct JsonReader {
    Arena *arena;
    const char *position, *start, *end;
    uint32_t values;
    int depth;
} JsonReader;

static bool fail_json(const JsonReader *reader, const char *message) {
    const char *at;
    int line = 1;
    for (at = reader->start; at < reader->position && at < reader->end; at++) {
        line += *at == '\n';
    }
    return fail(TI_ERROR_CORRUPTED_DATA, "module.json, line %d: %s", line, message);
}

static void json_skip_blanks(JsonReader *reader) {
    while (reader->position < reader->end && strchr(" \n\r\t", *reader->position) && *reader->position) {
        reader->position++;
    }
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool json_hex(JsonReader *reader, uint32_t *code) {
    int i;
    *code = 0;
    for (i = 0; i < 4; i++, reader->position++) {
        int digit = reader->position < reader->end ? hex_digit(*reader->position) : -1;
        if (digit < 0) {
            return fail_json(reader, "four hexadecimal digits were expected after \\u");
        }
        *code = *code << 4 | (uint32_t)digit;
    }
    return true;
}

static char *put_utf8(char *to, uint32_t code) {
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
        *to++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *to++ = (char)(0xe0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    } else {
        *to++ = (char)(0xf0 | code >> 18);
        *to++ = (char)(0x80 | (code >> 12 & 0x3f));
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    }
    return to;
}

/* Read an escape sequence after its backslash. */
static bool json_escape(JsonReader *reader, char **to) {
    static const char LETTERS[] = "\"\\/bfnrt", MEANINGS[] = "\"\\/\b\f\n\r\t";
    const char *match;
    uint32_t code, low;
    char letter = reader->position < reader->end ? *reader->position++ : '\0';
    match = letter ? strchr(LETTERS, letter) : NULL;
    if (match) {
        *(*to)++ = MEANINGS[match - LETTERS];
        return true;
    }
    if (letter != 'u') {
        return fail_json(reader, "a string has an unknown escape sequence");
    }
    if (!json_hex(reader, &code)) {
        return false;
    }
    if (code >= 0xd800 && code < 0xdc00) {
        if (reader->end - reader->position < 2 || reader->position[0] != '\\' || reader->position[1] != 'u') {
            return fail_json(reader, "a string has an unpaired surrogate");
        }
        reader->position += 2;
        if (!json_hex(reader, &low)) {
            return false;
        }
        if (low < 0xdc00 || low > 0xdfff) {
            return fail_json(reader, "a string has an unpaired surrogate");
        }
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000) {
        return fail_json(reader, "a string has an unpaired surrogate");
    }
    if (code == 0) {
        return fail_json(reader, "a string may not contain NUL");
    }
    *to = put_utf8(*to, code);
    return true;
}

/* Copy one UTF-8 character. */
static bool json_character(JsonReader *reader, char **to) {
    const uint8_t *at = (const uint8_t *)reader->position;
    size_t left = (size_t)(reader->end - reader->position), length, i;
    uint32_t code = at[0];
    if (code < 0x20) {
        return fail_json(reader, "a string has a control character, or does not end");
    }
    length = code < 0x80 ? 1 : code < 0xc2 ? 0 : code < 0xe0 ? 2 : code < 0xf0 ? 3 : code < 0xf5 ? 4 : 0;
    if (length == 0 || length > left) {
        return fail_json(reader, "a string is not UTF-8");
    }
    code &= length == 1 ? 0x7f : 0x3fu >> (length - 1);
    for (i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return fail_json(reader, "a string is not UTF-8");
        }
        code = code << 6 | (at[i] & 0x3f);
    }
    if ((length == 3 && code < 0x800) || (length == 4 && code < 0x10000) || code > 0x10ffff ||
        (code >= 0xd800 && code < 0xe000)) {
        return fail_json(reader, "a string is not UTF-8");
    }
    memcpy(*to, at, length);
    *to += length;
    reader->position += length;
    return true;
}

/* Read a string after its opening quote; the result ends with a NUL. */
static const char *json_read_string(JsonReader *reader, uint32_t *length) {
    const char *scan = reader->position;
    char *string, *to;
    while (scan < reader->end && *scan != '"') {
        scan += *scan == '\\' && scan + 1 < reader->end ? 2 : 1;
    }
    if (scan >= reader->end) {
        fail_json(reader, "a string does not end");
        return NULL;
    }
    string = to = (char *)arena_allocate(reader->arena, (size_t)(scan - reader->position) + 1, 1);
    if (!string) {
        return NULL;
    }
    while (*reader->position != '"') {
        bool is_good;
        if (*reader->position == '\\') {
            reader->position++;
            is_good = json_escape(reader, &to);
        } else {
            is_good = json_character(reader, &to);
        }
        if (!is_good) {
            return NULL;
        }
    }
    reader->position++;
    *length = (uint32_t)(to - string);
    return string;
}

static bool json_digits(JsonReader *reader) {
    const char *start = reader->position;
    while (reader->position < reader->end && *reader->position >= '0' && *reader->position <= '9') {
        reader->position++;
    }
    return reader->position > start ? true : fail_json(reader, "a number has no digits");
}

static bool json_number(JsonReader *reader, Json *value) {
    const char *start = reader->position, *digits;
    bool is_negative = *start == '-', is_real = false;
    uint64_t magnitude = 0;
    char copy[64];
    reader->position += is_negative;
    digits = reader->position;
    if (!json_digits(reader)) {
        return false;
    }
    if (*digits == '0' && reader->position - digits > 1) {
        return fail_json(reader, "a number starts with 0");
    }
    if (reader->position < reader->end && *reader->position == '.') {
        is_real = true;
        reader->position++;
        if (!json_digits(reader)) {
            return false;
        }
    }
    if (reader->position < reader->end && (*reader->position == 'e' || *reader->position == 'E')) {
        is_real = true;
        reader->position++;
        if (reader->position < reader->end && (*reader->position == '+' || *reader->position == '-')) {
            reader->position++;
        }
        if (!json_digits(reader)) {
            return false;
        }
    }
    if (reader->position - start >= (ptrdiff_t)sizeof copy) {
        return fail_json(reader, "a number has too many digits");
    }
    if (is_real) {
        memcpy(copy, start, (size_t)(reader->position - start));
        copy[reader->position - start] = '\0';
        value->kind = JSON_REAL;
        value->value.real = strtod(copy, NULL);
        return value->value.real - value->value.real == 0 ? true : fail_json(reader, "a number is too large");
    }
    for (; digits < reader->position; digits++) {
        if (magnitude > (UINT64_MAX >> 1) / 10) {
            return fail_json(reader, "a number is too large");
        }
        magnitude = magnitude * 10 + (uint64_t)(*digits - '0');
    }
    if (magnitude > (uint64_t)INT64_MAX) {
        return fail_json(reader, "a number is too large");
    }
    value->kind = JSON_INTEGER;
    value->value.integer = is_negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return true;
}

static bool json_value(JsonReader *reader, Json *value);

/* Return whether an object has no item of this name yet. */
static bool json_is_new_name(const Json *object, const char *name) {
    const Json *item;
    if (object->count > MAX_UNSORTED_KEYS) {
        return false;
    }
    for (item = object->value.first; item; item = item->next) {
        if (!strcmp(item->name, name)) {
            return false;
        }
    }
    return true;
}

static bool json_name(JsonReader *reader, Json *item) {
    uint32_t length;
    const char *name;
    if (reader->position >= reader->end || *reader->position != '"') {
        return fail_json(reader, "a name in quotes was expected");
    }
    reader->position++;
    name = json_read_string(reader, &length);
    if (!name) {
        return false;
    }
    item->name = name;
    json_skip_blanks(reader);
    if (reader->position >= reader->end || *reader->position != ':') {
        return fail_json(reader, "`:` was expected after a name");
    }
    reader->position++;
    json_skip_blanks(reader);
    return true;
}

static bool json_items(JsonReader *reader, Json *value, char last_character) {
    Json *last = NULL;
    bool ascends = true;
    if (++reader->depth > MAX_JSON_DEPTH) {
        return fail_json(reader, "it is nested too deeply");
    }
    reader->position++;
    json_skip_blanks(reader);
    if (reader->position < reader->end && *reader->position == last_character) {
        reader->position++;
        reader->depth--;
        return true;
    }
    for (;;) {
        Json *item = (Json *)arena_allocate(reader->arena, 1, sizeof(Json));
        if (!item) {
            return false;
        }
        item->parent = value;
        item->index = value->count;
        if (value->kind == JSON_OBJECT) {
            if (!json_name(reader, item)) {
                return false;
            }
            /* Names must differ. Our archives have them in ascending order, which is checked at no cost. */
            ascends = ascends && (!last || strcmp(last->name, item->name) < 0);
            if (!ascends && !json_is_new_name(value, item->name)) {
                return fail_json(reader, "an object has the same name twice");
            }
        }
        if (!json_value(reader, item)) {
            return false;
        }
        if (last) {
            last->next = item;
        } else {
            value->value.first = item;
        }
        last = item;
        value->count++;
        json_skip_blanks(reader);
        if (reader->position < reader->end && *reader->position == last_character) {
            reader->position++;
            reader->depth--;
            return true;
        }
        if (reader->position >= reader->end || *reader->position != ',') {
            return fail_json(reader, "`,` or an end was expected");
        }
        reader->position++;
        json_skip_blanks(reader);
    }
}

static bool json_word(JsonReader *reader, const char *word) {
    size_t length = strlen(word);
    if ((size_t)(reader->end - reader->position) < length || memcmp(reader->position, word, length)) {
        return fail_json(reader, "a value was expected");
    }
    reader->position += length;
    return true;
}

static bool json_value(JsonReader *reader, Json *value) {
    char first = reader->position < reader->end ? *reader->position : '\0';
    if (++reader->values > MAX_JSON_VALUES) {
        return fail_json(reader, "it has too many values");
    }
    switch (first) {
    case '{': value->kind = JSON_OBJECT; return json_items(reader, value, '}');
    case '[': value->kind = JSON_ARRAY; return json_items(reader, value, ']');
    case '"':
        reader->position++;
        value->kind = JSON_STRING;
        value->value.string = json_read_string(reader, &value->count);
        return value->value.string != NULL;
    case 'n': value->kind = JSON_NULL; return json_word(reader, "null");
    case 't': value->kind = JSON_TRUE; return json_word(reader, "true");
    case 'f': value->kind = JSON_FALSE; return json_word(reader, "false");
    default:
        if (first == '-' || (first >= '0' && first <= '9')) {
            return json_number(reader, value);
        }
        return fail_json(reader, "a value was expected");
    }
}

static bool json_parse(Arena *arena, const char *source, size_t size, Json *value) {
    JsonReader reader = {arena, source, source, source + size, 0, 0};
    memset(value, 0, sizeof *value);
    json_skip_blanks(&reader);
    if (!json_value(&reader, value)) {
        return false;
    }
    json_skip_blanks(&reader);
    return reader.position == reader.end ? true : fail_json(&reader, "something follows the last value");
}
