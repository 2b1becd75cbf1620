/* --- JSON: access to values, and errors with their paths ---------------------------------------------------------- */

/* Write the path of a value: `$.kernels.paint.parameters[0]`. */
static size_t json_path(const Json *value, char *string, size_t size) {
    size_t length;
    int written;
    if (!value->parent) {
        written = snprintf(string, size, "$");
        return written > 0 ? (size_t)written : 0;
    }
    length = json_path(value->parent, string, size);
    if (length >= size) {
        return size - 1;
    }
    if (value->name) {
        written = snprintf(string + length, size - length, ".%.64s", value->name);
    } else {
        written = snprintf(string + length, size - length, "[%u]", value->index);
    }
    return written > 0 ? (size_t)smaller_u64(length + (size_t)written, size - 1) : length;
}

/* Fail with what was expected and what was found at a value of the manifest. */
static bool fail_value(const Json *value, const char *expected) {
    char path[512];
    json_path(value, path, sizeof path);
    switch (value->kind) {
    case JSON_INTEGER:
        return fail(TI_ERROR_CORRUPTED_DATA, "module.json: %s: %s was expected, %lld found", path, expected,
                    (long long)value->value.integer);
    case JSON_STRING:
        return fail(TI_ERROR_CORRUPTED_DATA, "module.json: %s: %s was expected, \"%.80s\" found", path, expected,
                    value->value.string);
    default: {
        static const char *const KINDS[] = {"null",     "false",    "true",   "a number",
                                            "a number", "a string", "a list", "an object"};
        return fail(TI_ERROR_CORRUPTED_DATA, "module.json: %s: %s was expected, %s found", path, expected,
                    KINDS[value->kind]);
    }
    }
}

static const Json *json_member(const Json *object, const char *name) {
    const Json *item;
    for (item = object->value.first; item; item = item->next) {
        if (!strcmp(item->name, name)) {
            return item;
        }
    }
    return NULL;
}

/* Find the members of an object, in the order of `names`, which ends with null. All must exist, except for those whose
   name starts with `?`; no others may. */
static bool json_fields(const Json *object, const char *const *names, const Json **fields) {
    uint32_t known = 0, i;
    char path[512];
    if (object->kind != JSON_OBJECT) {
        return fail_value(object, "an object");
    }
    for (i = 0; names[i]; i++) {
        bool is_optional = names[i][0] == '?';
        fields[i] = json_member(object, names[i] + is_optional);
        known += fields[i] != NULL;
        if (!fields[i] && !is_optional) {
            json_path(object, path, sizeof path);
            return fail(TI_ERROR_CORRUPTED_DATA, "module.json: %s has no `%s`", path, names[i]);
        }
    }
    if (known != object->count) {
        const Json *item;
        for (item = object->value.first; item; item = item->next) {
            for (i = 0; names[i] && strcmp(names[i] + (names[i][0] == '?'), item->name); i++) {
            }
            if (!names[i]) {
                json_path(item, path, sizeof path);
                return fail(TI_ERROR_CORRUPTED_DATA, "module.json: %s is no field that this version knows", path);
            }
        }
    }
    return true;
}

static bool json_integer(const Json *value, int64_t low, int64_t high, int64_t *integer) {
    char expected[96];
    *integer = low;
    if (value->kind == JSON_INTEGER && value->value.integer >= low && value->value.integer <= high) {
        *integer = value->value.integer;
        return true;
    }
    snprintf(expected, sizeof expected, "an integer from %lld to %lld", (long long)low, (long long)high);
    return fail_value(value, expected);
}

static bool json_u32(const Json *value, uint32_t low, uint32_t high, uint32_t *number) {
    int64_t integer = 0;
    if (!json_integer(value, low, high, &integer)) {
        return false;
    }
    *number = (uint32_t)integer;
    return true;
}

static bool json_u64(const Json *value, uint64_t high, uint64_t *number) {
    int64_t integer = 0;
    if (!json_integer(value, 0, (int64_t)high, &integer)) {
        return false;
    }
    *number = (uint64_t)integer;
    return true;
}

static bool json_bool(const Json *value, bool *truth) {
    *truth = false;
    if (value->kind != JSON_TRUE && value->kind != JSON_FALSE) {
        return fail_value(value, "true or false");
    }
    *truth = value->kind == JSON_TRUE;
    return true;
}

static bool json_string(const Json *value, const char **string) {
    *string = "";
    if (value->kind != JSON_STRING) {
        return fail_value(value, "a string");
    }
    *string = value->value.string;
    return true;
}

static bool json_array(const Json *value, uint32_t low, uint32_t high) {
    char expected[96];
    if (value->kind == JSON_ARRAY && value->count >= low && value->count <= high) {
        return true;
    }
    snprintf(expected, sizeof expected, "a list of %u to %u items", low, high);
    return fail_value(value, low == 0 && high == UINT32_MAX ? "a list" : expected);
}
