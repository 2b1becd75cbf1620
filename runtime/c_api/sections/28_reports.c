/* --- 12  what kernels print, and checks that failed --------------------------------------------------------------- */

/* Text that grows. */
typedef struct Text {
    char *bytes;
    size_t length, room;
    bool is_failed;
} Text;

static void text_add(Text *text, const char *bytes, size_t length) {
    if (text->length + length + 1 > text->room) {
        size_t room = (text->length + length + 1) * 2;
        char *larger = (char *)realloc(text->bytes, room);
        if (!larger) {
            text->is_failed = true;
            return;
        }
        text->bytes = larger;
        text->room = room;
    }
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = '\0';
}

PRINTF_LIKE(2, 3)
static void text_format(Text *text, const char *format, ...) {
    char bytes[1024];
    va_list values;
    int length;
    va_start(values, format);
    length = vsnprintf(bytes, sizeof bytes, format, values);
    va_end(values);
    text_add(text, bytes, (size_t)(length < 0 ? 0 : length < (int)sizeof bytes ? length : (int)sizeof bytes - 1));
}

/* How a number is written: as C's printf has it, or Python's `format`. letter: '\0' for the usual one. align: `<`,
   `>`, `^` or `=`; fill: what stands where there is room; group: `,` or `_` between thousands, or '\0'. */
typedef struct NumberFormat {
    bool is_python, has_plus, has_blank, is_alternate;
    int width, precision; /* precision: -1 for none */
    char letter, align, fill, group;
} NumberFormat;

enum { MAX_WIDTH = 256, MAX_PRECISION = 64 };

static const char *read_digits(const char *text, int most, int *number) {
    for (*number = 0; *text >= '0' && *text <= '9'; text++) {
        *number = *number * 10 + (*text - '0');
        *number = *number > most ? most : *number;
    }
    return text;
}

/* Read a specification as printf has it. False if it is none. */
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

/* Read a specification as Python's `format` has it: [[fill]align][sign][#][0][width][group][.precision][letter]. */
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

/* Read what stands behind the colon of an f-string. What neither printf nor this file knows is left out. */
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

static void add_repeated(Text *text, char character, int count) {
    for (; count > 0; count--) {
        text_add(text, &character, 1);
    }
}

/* Add sign and digits, filled up to the width. is_number: not nan or inf, which printf fills with blanks alone. */
static void add_filled(Text *text, const NumberFormat *format, bool is_number, const char *sign, const char *digits) {
    int length = (int)(strlen(sign) + strlen(digits)), room = format->width > length ? format->width - length : 0;
    char align = format->align, fill = format->fill;
    if (!is_number && !format->is_python && align == '=') {
        align = '>';
        fill = ' ';
    }
    add_repeated(text, fill, align == '>' ? room : align == '^' ? room / 2 : 0);
    text_add(text, sign, strlen(sign));
    add_repeated(text, fill, align == '=' ? room : 0);
    text_add(text, digits, strlen(digits));
    add_repeated(text, fill, align == '<' ? room : align == '^' ? room - room / 2 : 0);
}

/* Put marks between the thousands of a number's whole part. */
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

/* Write a number in a base; `text` has room for 64 digits. */
static void write_digits(char *text, uint64_t magnitude, unsigned base, bool is_upper) {
    char reversed[65];
    int count = 0;
    do {
        reversed[count++] = (is_upper ? "0123456789ABCDEF" : "0123456789abcdef")[magnitude % base];
        magnitude /= base;
    } while (magnitude);
    while (count) {
        *text++ = reversed[--count];
    }
    *text = '\0';
}

static void add_integer(Text *text, const NumberFormat *format, Number number) {
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
    add_filled(text, format, true, sign, digits);
}

static void add_shortest(Text *text, double value, TiDataType type);

static void add_real(Text *text, const NumberFormat *format, double value, bool is_double) {
    char digits[MAX_PRECISION + 512];
    const char *sign = signbit(value) && !isnan(value) ? "-" : format->has_plus ? "+" : format->has_blank ? " " : "";
    char letter = format->letter ? format->letter : 'f';
    int precision = format->precision;
    bool is_upper = letter == 'E' || letter == 'G' || letter == 'F';
    Text shortest = {NULL, 0, 0, false};
    if (isnan(value) || isinf(value)) {
        add_filled(text, format, false, sign, isnan(value) ? (is_upper ? "NAN" : "nan") : (is_upper ? "INF" : "inf"));
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
    add_filled(text, format, true, sign, digits);
}

/* Add a float with as many digits as tell it apart from others, as NumPy and Python write it; `.0` is left out. */
static void add_shortest(Text *text, double value, TiDataType type) {
    char scientific[40], digits[24];
    int precision, most = type == TI_DATA_TYPE_F64 ? 17 : type == TI_DATA_TYPE_F32 ? 9 : 5, exponent, count = 0, i;
    const char *at;
    if (isnan(value) || isinf(value)) {
        text_format(text, "%s", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
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
    text_format(text, "%s", signbit(value) ? "-" : "");
    if (exponent < -4 || exponent >= 16) {
        text_format(text, count > 1 ? "%c." : "%c", digits[0]);
        text_add(text, digits + 1, (size_t)count - 1);
        text_format(text, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
        return;
    }
    if (exponent < 0) {
        text_format(text, "0.%.*s", -exponent - 1, "0000");
    }
    for (i = 0; i < count || i <= exponent; i++) {
        text_add(text, i < count ? &digits[i] : "0", 1);
        if (i == exponent && i + 1 < count) {
            text_add(text, ".", 1);
        }
    }
}

/* A record in the buffer. order: where it was found. */
typedef struct Record {
    const Site *site;
    uint32_t turn, order;
    const uint32_t *words;
} Record;

static void add_scalar(Text *text, const SiteValue *value, const uint32_t *words, const char *specification,
                       bool is_check) {
    Number number = read_number(value->words_type, words);
    bool is_real = is_float_type(value->type);
    NumberFormat format = read_format(specification, is_real);
    if (!is_real) {
        add_integer(text, &format, number);
    } else if (is_check && !*specification) {
        add_shortest(text, number.real, value->type);
    } else {
        add_real(text, &format, number.real, value->type == TI_DATA_TYPE_F64);
    }
}

/* Add a value of a record: a number, `[a, b]` or `[[a, b], [c, d]]`. */
static void add_value(Text *text, const Record *record, uint32_t number, const char *specification) {
    const Site *site = record->site;
    const SiteValue *value = &site->values[number];
    const uint32_t *words = record->words;
    uint32_t size, i, row = value->dim_count == 2 ? value->dims[1] : value->count;
    for (i = 0; i < number; i++) {
        words += site->values[i].count * (scalar_of(site->values[i].words_type)->size / 4);
    }
    size = scalar_of(value->words_type)->size / 4;
    if (value->dim_count == 2) {
        text_add(text, "[", 1);
    }
    for (i = 0; i < value->count; i++) {
        if (value->dim_count && i % row == 0) {
            text_add(text, i ? ", [" : "[", i ? 3 : 1);
        } else if (i) {
            text_add(text, ", ", 2);
        }
        add_scalar(text, value, words + (size_t)i * size, specification, site->kind == SITE_CHECK);
        if (value->dim_count && i % row == row - 1) {
            text_add(text, "]", 1);
        }
    }
    if (value->dim_count == 2) {
        text_add(text, "]", 1);
    }
}

static void add_print(Text *text, const Record *record) {
    const Json *part;
    for (part = record->site->parts->value.first; part; part = part->next) {
        if (part->kind == JSON_TEXT) {
            text_add(text, part->value.text, part->count);
        } else {
            add_value(text, record, (uint32_t)part->value.first->value.integer, part->value.first->next->value.text);
        }
    }
}

/* Add the message of a check: `i is {0:.2f}`, with braces doubled where they stand for themselves. */
static void add_message(Text *text, const Record *record) {
    const char *at = record->site->message;
    while (*at) {
        char specification[32] = "";
        int number;
        const char *end;
        if ((*at == '{' || *at == '}') && at[1] == *at) {
            text_add(text, at, 1);
            at += 2;
            continue;
        }
        end = *at == '{' ? strchr(at, '}') : NULL;
        if (!end) {
            text_add(text, at++, 1);
            continue;
        }
        at = read_digits(at + 1, INT16_MAX, &number);
        if (*at == ':') {
            snprintf(specification, sizeof specification, "%.*s", (int)smaller_u64((uint64_t)(end - at - 1), 31),
                     at + 1);
        }
        if ((uint32_t)number < record->site->value_count) {
            add_value(text, record, (uint32_t)number, specification);
        }
        at = end + 1;
    }
}

/* Add where a site stands, the calls that led to it first. */
static void add_frames(Text *text, const Site *site) {
    const Json *frame;
    for (frame = site->frames->value.first; frame; frame = frame->next) {
        const Json *span = json_member(frame, "span")->value.first;
        text_format(text, "File \"%.200s\", line %lld, column %lld, in %.100s:\n",
                    json_member(frame, "file")->value.text, (long long)span->value.integer,
                    (long long)span->next->value.integer, json_member(frame, "function")->value.text);
        if (json_member(frame, "text")->count) {
            text_format(text, "%.300s\n", json_member(frame, "text")->value.text);
        }
    }
}

/* Add the indices of a turn: `i = 3, j = 1`. */
static void add_indices(Text *text, TiKernel kernel, const Task *task, uint32_t turn) {
    int64_t values[MAX_AXES], begin, extent, rest = turn;
    uint32_t axis, i;
    bool is_known =
        task->axis_count > 0 && task->extents && (task->order_count || task->extent_count == task->axis_count);
    memset(values, 0, sizeof values);
    for (axis = 0; is_known && axis < task->axis_count; axis++) {
        is_known = task->axes[axis].begin != NULL;
    }
    for (i = task->order_count; is_known && i > 0; i--) {
        const OrderDigit *digit = &task->order[i - 1];
        values[digit->axis] += rest % digit->extent * digit->weight;
        rest /= digit->extent;
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
        is_known = is_known && evaluate(kernel, loop->begin, &begin);
        if (is_known) {
            uint64_t step = task->order_count ? 1 : (uint64_t)loop->step;
            values[axis - 1] = (int64_t)((uint64_t)begin + step * (uint64_t)values[axis - 1]);
        }
    }
    if (!is_known) {
        text_format(text, "turn = %u", turn);
    }
    for (axis = 0; is_known && axis < task->axis_count; axis++) {
        text_format(text, "%s%.64s = %lld", axis ? ", " : "", task->axes[axis].name, (long long)values[axis]);
    }
}

static int compare_records(const void *a, const void *b) {
    const Record *one = (const Record *)a, *other = (const Record *)b;
    if (one->site->task != other->site->task) {
        return one->site->task < other->site->task ? -1 : 1;
    }
    if (one->turn != other->turn) {
        return one->turn < other->turn ? -1 : 1;
    }
    return one->order < other->order ? -1 : one->order > other->order;
}

/* Find the records of a room, in the order in which they are shown; the caller frees them. A record that no site of
   this kernel writes ends it. */
static Record *find_records(const KernelData *data, const uint32_t *words, uint32_t count, uint32_t *found) {
    Record *records = (Record *)take_zeroed(((size_t)count / REPORT_RECORD_WORDS + 1) * sizeof(Record));
    uint32_t position = 0;
    *found = 0;
    while (records && position + REPORT_RECORD_WORDS <= count) {
        uint32_t site = words[position], size = words[position + 2], begin = position + REPORT_RECORD_WORDS;
        if (site >= data->site_count || size != data->sites[site].word_count || size > count - begin) {
            break;
        }
        records[*found].site = &data->sites[site];
        records[*found].turn = words[position + 1];
        records[*found].order = *found;
        records[*found].words = words + begin;
        (*found)++;
        position = begin + size;
    }
    if (records) {
        qsort(records, *found, sizeof(Record), compare_records);
    }
    return records;
}

static void (*print_callback)(const char *text, uint64_t size, void *user);
static void *print_user;

static void show_prints(const KernelData *data, const uint32_t *words, uint32_t count) {
    Text text = {NULL, 0, 0, false};
    uint32_t found, i;
    Record *records = find_records(data, words, count, &found);
    for (i = 0; records && i < found; i++) {
        if (records[i].site->kind == SITE_PRINT) {
            add_print(&text, &records[i]);
        }
    }
    if (text.length && print_callback) {
        print_callback(text.bytes, text.length, print_user);
    } else if (text.length) {
        fwrite(text.bytes, 1, text.length, stdout);
        fflush(stdout);
    }
    free(text.bytes);
    free(records);
}

/* Fail with the first check that failed, in the order of the loops. */
static bool fail_check(TiKernel kernel, const uint32_t *words, uint32_t count, uint32_t failures) {
    Text text = {NULL, 0, 0, false};
    uint32_t found, first, i;
    Record *records = find_records(kernel->data, words, count, &found);
    for (first = 0; records && first < found && records[first].site->kind != SITE_CHECK; first++) {
    }
    if (records && first < found) {
        const Record *record = &records[first];
        const Task *task = &kernel->data->tasks[record->site->task];
        for (i = first + 1; i < found && records[i].site->kind == SITE_CALL && records[i].turn == record->turn; i++) {
        }
        while (--i > first) {
            add_frames(&text, records[i].site);
        }
        add_frames(&text, record->site);
        add_message(&text, record);
        if (!task->is_serial) {
            text_format(&text, "\n(in the parallel loop of line %u: ", task->loop_line);
            add_indices(&text, kernel, task, record->turn);
            text_format(&text, ")");
        }
    }
    fail(TI_ERROR_ASSERTION, "%u check%s of kernel `%.100s` failed%s%.3600s", failures, failures == 1 ? "" : "s",
         kernel->data->name, text.length ? ":\n" : "; none can be read", text.length ? text.bytes : "");
    free(text.bytes);
    free(records);
    return false;
}

/* Wait for a kernel that prints or checks, and show what it left behind. */
static bool show_reports(TiRuntime runtime, TiKernel kernel) {
    const Backend *backend = runtime->backend;
    uint32_t header[REPORT_HEADER_WORDS], prints, failures;
    uint32_t *words;
    bool is_good, was_showing = runtime->is_showing; /* a function of the caller's may launch */
    if (!runtime->report || !backend->wait(runtime) ||
        !backend->read(runtime, runtime->report, 0, header, sizeof header)) {
        return runtime->report == NULL;
    }
    if (header[0] == REPORT_HEADER_WORDS && header[3] == REPORT_FIRST && !header[2] && !header[6]) {
        return true;
    }
    prints = (uint32_t)larger_u64(smaller_u64(header[0], REPORT_FIRST), REPORT_HEADER_WORDS) - REPORT_HEADER_WORDS;
    failures = (uint32_t)larger_u64(smaller_u64(header[3], REPORT_LAST), REPORT_FIRST) - REPORT_FIRST;
    words = (uint32_t *)take_zeroed(((size_t)prints + failures) * 4);
    is_good = words && backend->read(runtime, runtime->report, REPORT_HEADER_WORDS * 4, words, (uint64_t)prints * 4) &&
              backend->read(runtime, runtime->report, REPORT_FIRST * 4, words + prints, (uint64_t)failures * 4) &&
              clear_report(runtime);
    if (is_good) {
        runtime->is_showing = true;
        show_prints(kernel->data, words, prints);
        runtime->is_showing = was_showing;
        if (header[2]) {
            fprintf(stderr, "shadesmith: kernel `%s`: %u prints of this launch found no room\n", kernel->data->name,
                    header[2]);
        }
        is_good = !header[6] || fail_check(kernel, words + prints, failures, header[6]);
    }
    free(words);
    return is_good;
}
