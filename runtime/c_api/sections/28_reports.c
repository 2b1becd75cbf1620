/* --- reports: prints and failed checks ---------------------------------------------------------------------------- */

/* A string that grows. */
typedef struct StringBuilder {
    char *bytes;
    size_t length, capacity;
    bool is_failed;
} StringBuilder;

static void builder_add(StringBuilder *output, const char *bytes, size_t length) {
    if (output->length + length + 1 > output->capacity) {
        size_t capacity = (output->length + length + 1) * 2;
        char *larger = (char *)realloc(output->bytes, capacity);
        if (!larger) {
            output->is_failed = true;
            return;
        }
        output->bytes = larger;
        output->capacity = capacity;
    }
    memcpy(output->bytes + output->length, bytes, length);
    output->length += length;
    output->bytes[output->length] = '\0';
}

PRINTF_LIKE(2, 3)
static void builder_format(StringBuilder *output, const char *format, ...) {
    char bytes[1024];
    va_list values;
    int length;
    va_start(values, format);
    length = vsnprintf(bytes, sizeof bytes, format, values);
    va_end(values);
    builder_add(output, bytes, (size_t)(length < 0 ? 0 : length < (int)sizeof bytes ? length : (int)sizeof bytes - 1));
}

/* How a number is formatted, by C's printf or Python's `format`. letter: '\0' for the default. align: `<`, `>`, `^` or
   `=`; fill: the padding character; group: `,` or `_` between thousands, or '\0'. */
typedef struct NumberFormat {
    bool is_python, has_plus, has_blank, is_alternate;
    int width, precision; /* precision: -1 for none */
    char letter, align, fill, group;
} NumberFormat;

enum { MAX_WIDTH = 256, MAX_PRECISION = 64 };

static const char *read_digits(const char *output, int most, int *number) {
    for (*number = 0; *output >= '0' && *output <= '9'; output++) {
        *number = *number * 10 + (*output - '0');
        *number = *number > most ? most : *number;
    }
    return output;
}

/* Read a printf format specification. Return false if it is not one. */
static bool read_printf_format(const char *at, bool is_real, NumberFormat *format) {
    for (; *at && strchr("-+ #0", *at); at++) {
        format->has_plus |= *at == '+';
        format->has_blank |= *at == ' ';
        format->is_alternate |= *at == '#';
        if (*at == '-') {
            format->align = '<';
            format->fill = ' ';
        } else if (*at == '0' && format->align != '<') {
            format->align = '=';
            format->fill = '0';
        }
    }
    at = read_digits(at, MAX_WIDTH, &format->width);
    if (*at == '.') {
        at = read_digits(at + 1, MAX_PRECISION, &format->precision);
    }
    while (*at == 'h' || *at == 'l') {
        at++;
    }
    if (*at && strchr(is_real ? "feEgGF" : "diuxXo", *at)) {
        format->letter = *at++;
    }
    return !*at;
}

/* Read a format specification of Python: [[fill]align][sign][#][0][width][group][.precision][letter]. */
static bool read_python_format(const char *at, bool is_real, NumberFormat *format) {
    format->is_python = true;
    if (*at && at[1] && strchr("<>^=", at[1])) {
        format->fill = *at;
        format->align = at[1];
        at += 2;
    } else if (*at && strchr("<>^=", *at)) {
        format->align = *at++;
    }
    if (*at && strchr("+- ", *at)) {
        format->has_plus = *at == '+';
        format->has_blank = *at == ' ';
        at++;
    }
    if (*at == '#') {
        format->is_alternate = true;
        at++;
    }
    if (*at == '0') {
        format->fill = '0';
        format->align = format->align == '>' ? '=' : format->align;
    }
    at = read_digits(at, MAX_WIDTH, &format->width);
    if (*at == ',' || *at == '_') {
        format->group = *at++;
    }
    if (*at == '.') {
        at = read_digits(at + 1, MAX_PRECISION, &format->precision);
    }
    if (*at && strchr(is_real ? "feEgGF%" : "dxXob", *at)) {
        format->letter = *at++;
    }
    return !*at;
}

/* Read the format specification of an f-string. What neither printf nor this file supports is ignored. */
static NumberFormat read_format(const char *specification, bool is_real) {
    const NumberFormat plain = {false, false, false, false, 0, -1, '\0', '>', ' ', '\0'};
    NumberFormat format = plain;
    if (!read_printf_format(specification, is_real, &format)) {
        format = plain;
        if (!read_python_format(specification, is_real, &format)) {
            format = plain;
        }
    }
    return format;
}

static void add_repeated(StringBuilder *output, char character, int count) {
    for (; count > 0; count--) {
        builder_add(output, &character, 1);
    }
}

/* Append sign and digits, padded to the width. is_number: not nan or inf, which printf pads with blanks only. */
static void add_filled(StringBuilder *output, const NumberFormat *format, bool is_number, const char *sign,
                       const char *digits) {
    int length = (int)(strlen(sign) + strlen(digits)), capacity = format->width > length ? format->width - length : 0;
    char align = format->align, fill = format->fill;
    if (!is_number && !format->is_python && align == '=') {
        align = '>';
        fill = ' ';
    }
    add_repeated(output, fill, align == '>' ? capacity : align == '^' ? capacity / 2 : 0);
    builder_add(output, sign, strlen(sign));
    add_repeated(output, fill, align == '=' ? capacity : 0);
    builder_add(output, digits, strlen(digits));
    add_repeated(output, fill, align == '<' ? capacity : align == '^' ? capacity - capacity / 2 : 0);
}

/* Insert separators between the thousands of the integer part of a number. */
static void group_digits(char *digits, size_t size, char mark) {
    int whole = (int)strspn(digits, "0123456789"), marks = whole > 3 ? (whole - 1) / 3 : 0, i;
    size_t length = strlen(digits);
    if (!mark || length + (size_t)marks + 1 > size) {
        return;
    }
    memmove(digits + whole + marks, digits + whole, length - (size_t)whole + 1);
    for (i = whole - 1; marks; i--) {
        digits[i + marks] = digits[i];
        if ((whole - i) % 3 == 0) {
            digits[i + --marks] = mark;
        }
    }
}

/* Write a number in a base; `output` has capacity for 64 digits. */
static void write_digits(char *output, uint64_t magnitude, unsigned base, bool is_upper) {
    char reversed[65];
    int count = 0;
    do {
        reversed[count++] = (is_upper ? "0123456789ABCDEF" : "0123456789abcdef")[magnitude % base];
        magnitude /= base;
    } while (magnitude);
    while (count) {
        *output++ = reversed[--count];
    }
    *output = '\0';
}

static void add_integer(StringBuilder *output, const NumberFormat *format, Number number) {
    char digits[2 * MAX_PRECISION + 96], plain[65], sign[4];
    const char *mark = number.is_negative ? "-" : format->has_plus ? "+" : format->has_blank ? " " : "", *prefix = "";
    unsigned base = format->letter == 'x' || format->letter == 'X' ? 16
                    : format->letter == 'o'                        ? 8
                    : format->letter == 'b'                        ? 2
                                                                   : 10;
    int zeros;
    if (format->is_alternate) {
        prefix = format->letter == 'X' ? "0X" : base == 16 ? "0x" : base == 8 ? "0o" : base == 2 ? "0b" : "";
    }
    write_digits(plain, number.magnitude, base, format->letter == 'X');
    zeros = format->precision - (int)strlen(plain);
    zeros = zeros > 0 ? zeros : 0;
    memset(digits, '0', (size_t)zeros);
    memcpy(digits + zeros, plain, strlen(plain) + 1);
    group_digits(digits, sizeof digits, format->group);
    snprintf(sign, sizeof sign, "%s%s", mark, prefix);
    add_filled(output, format, true, sign, digits);
}

static void add_shortest(StringBuilder *output, double value, TiDataType type);

static void add_real(StringBuilder *output, const NumberFormat *format, double value, bool is_double) {
    char digits[MAX_PRECISION + 512];
    const char *sign = signbit(value) && !isnan(value) ? "-" : format->has_plus ? "+" : format->has_blank ? " " : "";
    char letter = format->letter ? format->letter : 'f';
    int precision = format->precision;
    bool is_upper = letter == 'E' || letter == 'G' || letter == 'F';
    StringBuilder shortest = {NULL, 0, 0, false};
    if (isnan(value) || isinf(value)) {
        add_filled(output, format, false, sign, isnan(value) ? (is_upper ? "NAN" : "nan") : (is_upper ? "INF" : "inf"));
        return;
    }
    if (format->is_python && !format->letter && precision < 0) {
        add_shortest(&shortest, fabs(value), TI_DATA_TYPE_F64);
        snprintf(digits, sizeof digits, "%.60s%s", shortest.bytes ? shortest.bytes : "",
                 shortest.bytes && !strpbrk(shortest.bytes, ".e") ? ".0" : "");
        free(shortest.bytes);
    } else {
        if (precision < 0) {
            precision = is_double && !format->is_python && letter != 'g' && letter != 'G' ? 12 : 6;
        }
        switch (letter) {
        case 'e':
            snprintf(digits, sizeof digits, format->is_alternate ? "%#.*e" : "%.*e", precision, fabs(value));
            break;
        case 'E':
            snprintf(digits, sizeof digits, format->is_alternate ? "%#.*E" : "%.*E", precision, fabs(value));
            break;
        case 'g':
            snprintf(digits, sizeof digits, format->is_alternate ? "%#.*g" : "%.*g", precision, fabs(value));
            break;
        case 'G':
            snprintf(digits, sizeof digits, format->is_alternate ? "%#.*G" : "%.*G", precision, fabs(value));
            break;
        case '%': snprintf(digits, sizeof digits, "%.*f%%", precision, 100.0 * fabs(value)); break;
        default: snprintf(digits, sizeof digits, format->is_alternate ? "%#.*f" : "%.*f", precision, fabs(value));
        }
    }
    group_digits(digits, sizeof digits, format->group);
    add_filled(output, format, true, sign, digits);
}

/* Append a float with the fewest digits that round-trip, as NumPy and Python write it, without `.0`. */
static void add_shortest(StringBuilder *output, double value, TiDataType type) {
    char scientific[40], digits[24];
    int precision, most = type == TI_DATA_TYPE_F64 ? 17 : type == TI_DATA_TYPE_F32 ? 9 : 5, exponent, count = 0, i;
    const char *at;
    if (isnan(value) || isinf(value)) {
        builder_format(output, "%s", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    for (precision = 0; precision < most; precision++) {
        double back;
        snprintf(scientific, sizeof scientific, "%.*e", precision, fabs(value));
        back = strtod(scientific, NULL);
        if (type == TI_DATA_TYPE_F16) {
            back = half_to_double(double_to_half(back));
        } else if (type == TI_DATA_TYPE_F32) {
            back = (double)strtof(scientific, NULL);
        }
        if (back == fabs(value)) {
            break;
        }
    }
    for (at = scientific; *at && *at != 'e'; at++) {
        if (*at >= '0' && *at <= '9' && count < (int)sizeof digits - 1) {
            digits[count++] = *at;
        }
    }
    exponent = atoi(at + 1);
    while (count > 1 && digits[count - 1] == '0') {
        count--;
    }
    builder_format(output, "%s", signbit(value) ? "-" : "");
    if (exponent < -4 || exponent >= 16) {
        builder_format(output, count > 1 ? "%c." : "%c", digits[0]);
        builder_add(output, digits + 1, (size_t)count - 1);
        builder_format(output, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
        return;
    }
    if (exponent < 0) {
        builder_format(output, "0.%.*s", -exponent - 1, "0000");
    }
    for (i = 0; i < count || i <= exponent; i++) {
        builder_add(output, i < count ? &digits[i] : "0", 1);
        if (i == exponent && i + 1 < count) {
            builder_add(output, ".", 1);
        }
    }
}

/* A record in the buffer. order: its number in the buffer. */
typedef struct Record {
    const Site *site;
    uint32_t iteration, order;
    const uint32_t *words;
} Record;

static void add_scalar(StringBuilder *output, const SiteValue *value, const uint32_t *words, const char *specification,
                       bool is_check) {
    Number number = read_number(value->words_type, words);
    bool is_real = is_float_type(value->type);
    NumberFormat format = read_format(specification, is_real);
    if (!is_real) {
        add_integer(output, &format, number);
    } else if (is_check && !*specification) {
        add_shortest(output, number.real, value->type);
    } else {
        add_real(output, &format, number.real, value->type == TI_DATA_TYPE_F64);
    }
}

/* Append a value of a record: a number, `[a, b]` or `[[a, b], [c, d]]`. */
static void add_value(StringBuilder *output, const Record *record, uint32_t number, const char *specification) {
    const Site *site = record->site;
    const SiteValue *value = &site->values[number];
    const uint32_t *words = record->words;
    uint32_t size, i, row = value->dim_count == 2 ? value->dims[1] : value->count;
    for (i = 0; i < number; i++) {
        words += site->values[i].count * (scalar_of(site->values[i].words_type)->size / 4);
    }
    size = scalar_of(value->words_type)->size / 4;
    if (value->dim_count == 2) {
        builder_add(output, "[", 1);
    }
    for (i = 0; i < value->count; i++) {
        if (value->dim_count && i % row == 0) {
            builder_add(output, i ? ", [" : "[", i ? 3 : 1);
        } else if (i) {
            builder_add(output, ", ", 2);
        }
        add_scalar(output, value, words + (size_t)i * size, specification, site->kind == SITE_CHECK);
        if (value->dim_count && i % row == row - 1) {
            builder_add(output, "]", 1);
        }
    }
    if (value->dim_count == 2) {
        builder_add(output, "]", 1);
    }
}

static void add_print(StringBuilder *output, const Record *record) {
    const Json *part;
    for (part = record->site->parts->value.first; part; part = part->next) {
        if (part->kind == JSON_STRING) {
            builder_add(output, part->value.string, part->count);
        } else {
            add_value(output, record, (uint32_t)part->value.first->value.integer,
                      part->value.first->next->value.string);
        }
    }
}

/* Append the message of a check: `i is {0:.2f}`; a doubled brace is a literal one. */
static void add_message(StringBuilder *output, const Record *record) {
    const char *at = record->site->message;
    while (*at) {
        char specification[32] = "";
        int number;
        const char *end;
        if ((*at == '{' || *at == '}') && at[1] == *at) {
            builder_add(output, at, 1);
            at += 2;
            continue;
        }
        end = *at == '{' ? strchr(at, '}') : NULL;
        if (!end) {
            builder_add(output, at++, 1);
            continue;
        }
        at = read_digits(at + 1, INT16_MAX, &number);
        if (*at == ':') {
            snprintf(specification, sizeof specification, "%.*s", (int)smaller_u64((uint64_t)(end - at - 1), 31),
                     at + 1);
        }
        if ((uint32_t)number < record->site->value_count) {
            add_value(output, record, (uint32_t)number, specification);
        }
        at = end + 1;
    }
}

/* Append the location of a site, after the calls that lead to it. */
static void add_frames(StringBuilder *output, const Site *site) {
    const Json *frame;
    for (frame = site->frames->value.first; frame; frame = frame->next) {
        const Json *span = json_member(frame, "span")->value.first;
        builder_format(output, "File \"%.200s\", line %lld, column %lld, in %.100s:\n",
                       json_member(frame, "file")->value.string, (long long)span->value.integer,
                       (long long)span->next->value.integer, json_member(frame, "function")->value.string);
        if (json_member(frame, "text")->count) {
            builder_format(output, "%.300s\n", json_member(frame, "text")->value.string);
        }
    }
}

/* Append the indices of an iteration: `i = 3, j = 1`. */
static void add_indices(StringBuilder *output, TiKernel kernel, const Task *task, uint32_t iteration) {
    int64_t values[MAX_AXES], start, extent, rest = iteration;
    uint32_t axis, i;
    bool is_known =
        task->axis_count > 0 && task->extents && (task->order_count || task->extent_count == task->axis_count);
    memset(values, 0, sizeof values);
    for (axis = 0; is_known && axis < task->axis_count; axis++) {
        is_known = task->axes[axis].start != NULL;
    }
    for (i = task->order_count; is_known && i > 0; i--) {
        const IndexComponent *component = &task->order[i - 1];
        values[component->axis] += rest % component->extent * component->weight;
        rest /= component->extent;
    }
    for (axis = task->axis_count; is_known && axis > 0; axis--) {
        const LoopAxis *loop = &task->axes[axis - 1];
        if (!task->order_count) {
            is_known = axis == 1 || (evaluate(kernel, task->extents[axis - 1], &extent) && extent > 0);
            if (is_known) {
                values[axis - 1] = axis == 1 ? rest : rest % extent;
                rest = axis == 1 ? 0 : rest / extent;
            }
        }
        is_known = is_known && evaluate(kernel, loop->start, &start);
        if (is_known) {
            uint64_t step = task->order_count ? 1 : (uint64_t)loop->step;
            values[axis - 1] = (int64_t)((uint64_t)start + step * (uint64_t)values[axis - 1]);
        }
    }
    if (!is_known) {
        builder_format(output, "iteration = %u", iteration);
    }
    for (axis = 0; is_known && axis < task->axis_count; axis++) {
        builder_format(output, "%s%.64s = %lld", axis ? ", " : "", task->axes[axis].name, (long long)values[axis]);
    }
}

static int compare_records(const void *a, const void *b) {
    const Record *one = (const Record *)a, *other = (const Record *)b;
    if (one->site->task != other->site->task) {
        return one->site->task < other->site->task ? -1 : 1;
    }
    if (one->iteration != other->iteration) {
        return one->iteration < other->iteration ? -1 : 1;
    }
    return one->order < other->order ? -1 : one->order > other->order;
}

/* Read the records of one part of the buffer, in the order in which they are shown; the caller frees them. A record
   that no site of this kernel writes ends them. */
static Record *find_records(const KernelData *data, const uint32_t *words, uint32_t count, uint32_t *record_count) {
    Record *records = (Record *)allocate_zeroed(((size_t)count / REPORT_RECORD_WORDS + 1) * sizeof(Record));
    uint32_t position = 0;
    *record_count = 0;
    while (records && position + REPORT_RECORD_WORDS <= count) {
        uint32_t site = words[position], size = words[position + 2], start = position + REPORT_RECORD_WORDS;
        if (site >= data->site_count || size != data->sites[site].word_count || size > count - start) {
            break;
        }
        records[*record_count].site = &data->sites[site];
        records[*record_count].iteration = words[position + 1];
        records[*record_count].order = *record_count;
        records[*record_count].words = words + start;
        (*record_count)++;
        position = start + size;
    }
    if (records) {
        qsort(records, *record_count, sizeof(Record), compare_records);
    }
    return records;
}

static void (*print_callback)(const char *text, uint64_t size, void *user);
static void *print_user;

static void show_prints(const KernelData *data, const uint32_t *words, uint32_t count) {
    StringBuilder output = {NULL, 0, 0, false};
    uint32_t record_count, i;
    Record *records = find_records(data, words, count, &record_count);
    for (i = 0; records && i < record_count; i++) {
        if (records[i].site->kind == SITE_PRINT) {
            add_print(&output, &records[i]);
        }
    }
    if (output.length && print_callback) {
        print_callback(output.bytes, output.length, print_user);
    } else if (output.length) {
        fwrite(output.bytes, 1, output.length, stdout);
        fflush(stdout);
    }
    free(output.bytes);
    free(records);
}

/* Fail with the first failed check, in the order of the loops. */
static bool fail_check(TiKernel kernel, const uint32_t *words, uint32_t count, uint32_t failures) {
    StringBuilder output = {NULL, 0, 0, false};
    uint32_t record_count, first, i;
    Record *records = find_records(kernel->data, words, count, &record_count);
    for (first = 0; records && first < record_count && records[first].site->kind != SITE_CHECK; first++) {
    }
    if (records && first < record_count) {
        const Record *record = &records[first];
        const Task *task = &kernel->data->tasks[record->site->task];
        for (i = first + 1;
             i < record_count && records[i].site->kind == SITE_CALL && records[i].iteration == record->iteration; i++) {
        }
        while (--i > first) {
            add_frames(&output, records[i].site);
        }
        add_frames(&output, record->site);
        add_message(&output, record);
        if (!task->is_serial) {
            builder_format(&output, "\n(in the parallel loop of line %u: ", task->loop_line);
            add_indices(&output, kernel, task, record->iteration);
            builder_format(&output, ")");
        }
    }
    fail(TI_ERROR_ASSERTION, "%u check%s of kernel `%.100s` failed%s%.3600s", failures, failures == 1 ? "" : "s",
         kernel->data->name, output.length ? ":\n" : "; none can be read", output.length ? output.bytes : "");
    free(output.bytes);
    free(records);
    return false;
}

/* Wait for a kernel that prints or checks, print its records and fail with its first failed check. */
static bool show_reports(TiRuntime runtime, TiKernel kernel) {
    const Backend *backend = runtime->backend;
    uint32_t header[REPORT_HEADER_WORDS], prints, failures;
    uint32_t *words;
    bool is_good, was_showing = runtime->is_showing; /* the print callback may launch kernels */
    if (!runtime->report || !backend->wait(runtime) ||
        !backend->read(runtime, runtime->report, 0, header, sizeof header)) {
        return runtime->report == NULL;
    }
    if (header[0] == REPORT_HEADER_WORDS && header[3] == REPORT_FIRST && !header[2] && !header[6]) {
        return true;
    }
    prints = (uint32_t)larger_u64(smaller_u64(header[0], REPORT_FIRST), REPORT_HEADER_WORDS) - REPORT_HEADER_WORDS;
    failures = (uint32_t)larger_u64(smaller_u64(header[3], REPORT_LAST), REPORT_FIRST) - REPORT_FIRST;
    words = (uint32_t *)allocate_zeroed(((size_t)prints + failures) * 4);
    is_good = words && backend->read(runtime, runtime->report, REPORT_HEADER_WORDS * 4, words, (uint64_t)prints * 4) &&
              backend->read(runtime, runtime->report, REPORT_FIRST * 4, words + prints, (uint64_t)failures * 4) &&
              clear_report(runtime);
    if (is_good) {
        runtime->is_showing = true;
        show_prints(kernel->data, words, prints);
        runtime->is_showing = was_showing;
        if (header[2]) {
            fprintf(stderr,
                    "shadesmith: kernel `%s`: the buffer for prints is full, %u prints of this launch are lost\n",
                    kernel->data->name, header[2]);
        }
        is_good = !header[6] || fail_check(kernel, words + prints, failures, header[6]);
    }
    free(words);
    return is_good;
}
