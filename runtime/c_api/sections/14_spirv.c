/* --- SPIR-V: validation of shaders -------------------------------------------------------------------------------- */

/* Drivers crash on damaged modules (mesa 22.3 does), so every word is checked first: instructions are complete and
   known, ids are defined, and the entry point and the argument block are those of the manifest. */

enum {
    SPIRV_MAGIC = 0x07230203,
    SPIRV_HEADER_WORDS = 5,
    SPIRV_MAX_BOUND = 1 << 22,
    SPIRV_MODEL_COMPUTE = 5,
    SPIRV_MODE_LOCAL_SIZE = 17,
    SPIRV_STORAGE_UNIFORM_CONSTANT = 0,
    SPIRV_STORAGE_INPUT = 1,
    SPIRV_STORAGE_WORKGROUP = 4,
    SPIRV_STORAGE_PRIVATE = 6,
    SPIRV_STORAGE_FUNCTION = 7,
    SPIRV_STORAGE_PUSH_CONSTANT = 9,
    SPIRV_DECORATION_BINDING = 33,
    SPIRV_DECORATION_DESCRIPTOR_SET = 34,
    SPIRV_DECORATION_OFFSET = 35
};

enum {
    OP_ENTRY_POINT = 15,
    OP_EXECUTION_MODE = 16,
    OP_CAPABILITY = 17,
    OP_TYPE_INT = 21,
    OP_TYPE_FLOAT = 22,
    OP_TYPE_VECTOR = 23,
    OP_TYPE_IMAGE = 25,
    OP_TYPE_SAMPLED_IMAGE = 27,
    OP_TYPE_STRUCT = 30,
    OP_TYPE_POINTER = 32,
    OP_FUNCTION_END = 56,
    OP_VARIABLE = 59,
    OP_DECORATE = 71,
    OP_MEMBER_DECORATE = 72
};

/* Operands of instructions: T the type of the result, R the result, i an id, l a word, s a string; at the end I: ids,
   L: words, X: words or ids. Source: SPIR-V Specification 1.6, section 3.49. */
static const struct {
    uint16_t first, last;
    const char *operands;
} INSTRUCTIONS[] = {
    {0, 0, ""},
    {1, 1, "TR"},
    {2, 2, "s"},
    {3, 3, "llX"},
    {4, 4, "s"},
    {5, 5, "is"},
    {6, 6, "ils"},
    {7, 7, "Rs"},
    {8, 8, "ill"},
    {10, 10, "s"},
    {11, 11, "Rs"},
    {12, 12, "TRilI"},
    {14, 14, "ll"},
    {15, 15, "lisI"},
    {16, 16, "ilL"},
    {17, 17, "l"},
    {19, 20, "R"},
    {21, 21, "Rll"},
    {22, 22, "RlL"},
    {23, 24, "Ril"},
    {25, 25, "RillllllL"},
    {26, 26, "R"},
    {27, 27, "Ri"},
    {28, 28, "Rii"},
    {29, 29, "Ri"},
    {30, 30, "RI"},
    {32, 32, "Rli"},
    {33, 33, "RiI"},
    {39, 39, "il"},
    {41, 42, "TR"},
    {43, 43, "TRL"},
    {44, 44, "TRI"},
    {46, 46, "TR"},
    {48, 49, "TR"},
    {50, 50, "TRL"},
    {51, 51, "TRI"},
    {52, 52, "TRlX"},
    {54, 54, "TRli"},
    {55, 55, "TR"},
    {56, 56, ""},
    {57, 57, "TRiI"},
    {59, 59, "TRlI"},
    {60, 60, "TRiii"},
    {61, 61, "TRiL"},
    {62, 62, "iiL"},
    {63, 63, "iiL"},
    {64, 64, "iiiL"},
    {65, 66, "TRiI"},
    {67, 67, "TRiiI"},
    {68, 68, "TRil"},
    {70, 70, "TRiiI"},
    {71, 71, "ilX"},
    {72, 72, "illX"},
    {73, 73, "R"},
    {74, 74, "iI"},
    {77, 77, "TRii"},
    {78, 78, "TRiii"},
    {79, 79, "TRiiL"},
    {80, 80, "TRI"},
    {81, 81, "TRiL"},
    {82, 82, "TRiiL"},
    {83, 84, "TRi"},
    {86, 86, "TRii"},
    {87, 98, "TRiiX"},
    {99, 99, "iiiX"},
    {100, 100, "TRi"},
    {101, 107, "TRI"},
    {109, 124, "TRi"},
    {126, 127, "TRi"},
    {128, 152, "TRii"},
    {154, 160, "TRi"},
    {161, 167, "TRii"},
    {168, 168, "TRi"},
    {169, 169, "TRiii"},
    {170, 191, "TRii"},
    {194, 199, "TRii"},
    {200, 200, "TRi"},
    {201, 201, "TRiiii"},
    {202, 203, "TRiii"},
    {204, 205, "TRi"},
    {224, 224, "iii"},
    {225, 225, "ii"},
    {227, 227, "TRiii"},
    {228, 228, "iiii"},
    {229, 229, "TRiiii"},
    {230, 231, "TRiiiiii"},
    {232, 233, "TRiii"},
    {234, 242, "TRiiii"},
    {245, 245, "TRI"},
    {246, 246, "iilL"},
    {247, 247, "il"},
    {248, 248, "R"},
    {249, 249, "i"},
    {250, 250, "iiiL"},
    {251, 251, "iiX"},
    {252, 253, ""},
    {254, 254, "i"},
    {255, 255, ""},
    {317, 317, ""},
    {330, 330, "s"},
    {331, 332, "ilI"},
    {333, 333, "TRi"},
    {334, 336, "TRii"},
    {337, 337, "TRiii"},
    {338, 340, "TRii"},
    {341, 341, "TRiii"},
    {342, 342, "TRilI"},
    {343, 344, "TRii"},
    {345, 348, "TRiii"},
    {349, 364, "TRilI"},
    {365, 366, "TRiii"},
    {400, 400, "TRi"},
    {401, 403, "TRii"},
    {5056, 5056, "TRi"},
    {5614, 5615, "TRiiii"},
    {6035, 6035, "TRiiii"},
};

/* A module while it is checked. definitions: for each id the word at which its instruction starts, 0 for none. */
typedef struct Spirv {
    const char *name;
    uint32_t *words;
    uint32_t count, bound;
    uint32_t *definitions;
} Spirv;

static bool fail_spirv(const Spirv *module, uint32_t position, const char *message) {
    return fail(TI_ERROR_CORRUPTED_DATA, "`%s` is not a shader that a driver may read: %s (word %u)", module->name,
                message, position);
}

static const char *operands_of(uint32_t opcode) {
    size_t low = 0, high = sizeof INSTRUCTIONS / sizeof *INSTRUCTIONS;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (opcode < INSTRUCTIONS[middle].first) {
            high = middle;
        } else if (opcode > INSTRUCTIONS[middle].last) {
            low = middle + 1;
        } else {
            return INSTRUCTIONS[middle].operands;
        }
    }
    return NULL;
}

/* Return the number of words of a string, 0 if it does not end. */
static uint32_t string_word_count(const uint32_t *words, uint32_t count) {
    uint32_t i;
    for (i = 0; i < count; i++) {
        if (!(words[i] & 0xff) || !(words[i] >> 8 & 0xff) || !(words[i] >> 16 & 0xff) || !(words[i] >> 24)) {
            return i + 1;
        }
    }
    return 0;
}

/* Check one id. The first pass records the results, the second one requires all other ids to be recorded. */
static bool spirv_id(Spirv *module, uint32_t start, uint32_t position, bool is_result, bool is_first) {
    uint32_t id = module->words[position];
    if (id == 0 || id >= module->bound) {
        return fail_spirv(module, position, "an id is out of its bound");
    }
    if (is_result && is_first) {
        if (module->definitions[id]) {
            return fail_spirv(module, position, "an id is defined twice");
        }
        module->definitions[id] = start;
    }
    return is_result || is_first || module->definitions[id] ? true
                                                            : fail_spirv(module, position, "an id is not defined");
}

/* Check the operands of one instruction from `start` to `end`. */
static bool spirv_operands(Spirv *module, const char *operands, uint32_t start, uint32_t end, bool is_first) {
    uint32_t position = start + 1, length;
    for (; *operands; operands++) {
        switch (*operands) {
        case 'L':
        case 'X': return true;
        case 'I':
            for (; position < end; position++) {
                if (!spirv_id(module, start, position, false, is_first)) {
                    return false;
                }
            }
            return true;
        case 's':
            length = string_word_count(module->words + position, end - position);
            if (!length) {
                return fail_spirv(module, position, "a string does not end");
            }
            position += length;
            break;
        default:
            if (position >= end) {
                return fail_spirv(module, start, "an instruction has too few operands");
            }
            if (*operands != 'l' && !spirv_id(module, start, position, *operands == 'R', is_first)) {
                return false;
            }
            position++;
        }
    }
    return position == end ? true : fail_spirv(module, start, "an instruction has too many operands");
}

static bool spirv_instructions(Spirv *module, bool is_first) {
    uint32_t position = SPIRV_HEADER_WORDS, end, opcode = 0;
    while (position < module->count) {
        const char *operands;
        opcode = module->words[position] & 0xffff;
        end = position + (module->words[position] >> 16);
        if (end == position || end > module->count) {
            return fail_spirv(module, position, "an instruction ends outside the module");
        }
        operands = operands_of(opcode);
        if (!operands) {
            return fail_spirv(module, position, "an instruction is none of a compute shader that this runtime knows");
        }
        if (!spirv_operands(module, operands, position, end, is_first)) {
            return false;
        }
        position = end;
    }
    return opcode == OP_FUNCTION_END ? true : fail_spirv(module, position, "it does not end with a function");
}

/* Return the first word of the instruction that defines an id if it has this opcode, else null. */
static const uint32_t *spirv_definition(const Spirv *module, uint32_t id, uint32_t opcode) {
    const uint32_t *instruction =
        id < module->bound && module->definitions[id] ? module->words + module->definitions[id] : NULL;
    return instruction && (*instruction & 0xffff) == opcode ? instruction : NULL;
}

/* Return the size of a scalar, vector or pointer [bytes], 0 for other types. */
static uint32_t spirv_type_size(const Spirv *module, uint32_t id) {
    const uint32_t *type = module->words + module->definitions[id];
    switch (*type & 0xffff) {
    case OP_TYPE_INT:
    case OP_TYPE_FLOAT: return type[2] / 8;
    case OP_TYPE_VECTOR: {
        const uint32_t *component = module->words + module->definitions[type[2]];
        uint32_t opcode = *component & 0xffff;
        return opcode == OP_TYPE_INT || opcode == OP_TYPE_FLOAT ? component[2] / 8 * (type[3] & 0xff) : 0;
    }
    case OP_TYPE_POINTER: return 8;
    default: return 0;
    }
}

/* Check that the members of a struct have the offsets of the members of the kernel's argument block. */
static bool spirv_check_struct(const Spirv *module, uint32_t structure, const KernelData *kernel) {
    const uint32_t *type = spirv_definition(module, structure, OP_TYPE_STRUCT);
    uint32_t position, i, member_count;
    if (!type) {
        return fail_spirv(module, 0, "its arguments are no struct");
    }
    member_count = (*type >> 16) - 2;
    for (position = SPIRV_HEADER_WORDS; position < module->count; position += module->words[position] >> 16) {
        const uint32_t *instruction = module->words + position;
        if ((*instruction & 0xffff) != OP_MEMBER_DECORATE || *instruction >> 16 != 5 || instruction[1] != structure ||
            instruction[3] != SPIRV_DECORATION_OFFSET) {
            continue;
        }
        for (i = 0; i < kernel->member_count && kernel->members[i].offset != instruction[4]; i++) {
        }
        if (i == kernel->member_count || instruction[2] >= member_count ||
            instruction[4] + (uint64_t)spirv_type_size(module, type[2 + instruction[2]]) > kernel->args_size) {
            return fail_spirv(module, position, "its arguments have other offsets than the manifest says");
        }
    }
    return true;
}

/* Check the block of push constants: the arguments themselves, or their address. */
static bool spirv_check_arguments(const Spirv *module, const KernelData *kernel) {
    uint32_t position;
    for (position = SPIRV_HEADER_WORDS; position < module->count; position += module->words[position] >> 16) {
        const uint32_t *instruction = module->words + position, *pointer, *block;
        if ((*instruction & 0xffff) != OP_VARIABLE || instruction[3] != SPIRV_STORAGE_PUSH_CONSTANT) {
            continue;
        }
        pointer = spirv_definition(module, instruction[1], OP_TYPE_POINTER);
        if (!pointer) {
            return fail_spirv(module, position, "a variable is no pointer");
        }
        if (kernel->args_size <= MAX_PUSH_BYTES) {
            return spirv_check_struct(module, pointer[3], kernel);
        }
        block = spirv_definition(module, pointer[3], OP_TYPE_STRUCT);
        pointer = block && *block >> 16 == 3 ? spirv_definition(module, block[2], OP_TYPE_POINTER) : NULL;
        return pointer ? spirv_check_struct(module, pointer[3], kernel)
                       : fail_spirv(module, position, "its push constants are not the address of its arguments");
    }
    return true;
}

/* Return the value of a decoration of an id, -1 if it has none. */
static int64_t spirv_decoration(const Spirv *module, uint32_t id, uint32_t decoration) {
    uint32_t position;
    for (position = SPIRV_HEADER_WORDS; position < module->count; position += module->words[position] >> 16) {
        const uint32_t *instruction = module->words + position;
        if ((*instruction & 0xffff) == OP_DECORATE && *instruction >> 16 == 4 && instruction[1] == id &&
            instruction[2] == decoration) {
            return instruction[3];
        }
    }
    return -1;
}

/* Check that the variable of a texture has the type that the kernel binds. */
static bool spirv_is_texture(const Spirv *module, uint32_t pointer_type, const TextureBinding *binding,
                             const Parameter *parameter) {
    const uint32_t *pointer = spirv_definition(module, pointer_type, OP_TYPE_POINTER), *type = NULL, *image, *number;
    if (pointer && !binding->is_storage) {
        type = spirv_definition(module, pointer[3], OP_TYPE_SAMPLED_IMAGE);
    }
    image = pointer && binding->is_storage ? spirv_definition(module, pointer[3], OP_TYPE_IMAGE)
            : type                         ? spirv_definition(module, type[2], OP_TYPE_IMAGE)
                                           : NULL;
    if (!image || image[3] != parameter->dim_count - 1 || image[5] || image[6] ||
        image[7] != (binding->is_storage ? 2u : 1u) || image[8] != TEXEL_FORMATS[parameter->format].spirv) {
        return false;
    }
    number = spirv_definition(module, image[2], parameter->type == TI_DATA_TYPE_F32 ? OP_TYPE_FLOAT : OP_TYPE_INT);
    return number && number[2] == 32 &&
           (parameter->type == TI_DATA_TYPE_F32 || number[3] == (parameter->type == TI_DATA_TYPE_I32));
}

/* Check the interface of a shader: only its arguments and the textures that the manifest lists. */
static bool spirv_check_variables(const Spirv *module, const KernelData *kernel) {
    uint32_t position, seen = 0;
    for (position = SPIRV_HEADER_WORDS; position < module->count; position += module->words[position] >> 16) {
        const uint32_t *instruction = module->words + position;
        int64_t binding;
        if ((*instruction & 0xffff) != OP_VARIABLE) {
            continue;
        }
        switch (instruction[3]) {
        case SPIRV_STORAGE_INPUT:
        case SPIRV_STORAGE_WORKGROUP:
        case SPIRV_STORAGE_PRIVATE:
        case SPIRV_STORAGE_FUNCTION:
        case SPIRV_STORAGE_PUSH_CONSTANT: break;
        case SPIRV_STORAGE_UNIFORM_CONSTANT:
            /* counted first, which bounds the time of the search */
            binding = ++seen > kernel->texture_count
                          ? -1
                          : spirv_decoration(module, instruction[2], SPIRV_DECORATION_BINDING);
            if (binding < 0 || binding >= kernel->texture_count ||
                spirv_decoration(module, instruction[2], SPIRV_DECORATION_DESCRIPTOR_SET) != 0 ||
                !spirv_is_texture(module, instruction[1], &kernel->textures[binding],
                                  &kernel->parameters[kernel->textures[binding].parameter])) {
                return fail_spirv(module, position, "a texture is another than the manifest says");
            }
            break;
        default: return fail_spirv(module, position, "a variable is neither the shader's own nor an argument");
        }
    }
    return true;
}

static bool spirv_string_is(const uint32_t *words, uint32_t count, const char *string) {
    size_t length = strlen(string) + 1, i;
    for (i = 0; i < length; i++) {
        if (i / 4 >= count || (char)(words[i / 4] >> 8 * (i % 4) & 0xff) != string[i]) {
            return false;
        }
    }
    return true;
}

/* Check that the entry point of a task exists, and its number of threads a group. */
static bool spirv_check_entry(const Spirv *module, const Task *task) {
    uint32_t position, function = 0;
    for (position = SPIRV_HEADER_WORDS; position < module->count; position += module->words[position] >> 16) {
        const uint32_t *instruction = module->words + position;
        uint32_t length = *instruction >> 16;
        switch (*instruction & 0xffff) {
        case OP_ENTRY_POINT:
            if (spirv_string_is(instruction + 3, length - 3, task->entry)) {
                if (instruction[1] != SPIRV_MODEL_COMPUTE) {
                    return fail_spirv(module, position, "it is a shader of another stage");
                }
                function = instruction[2];
            }
            break;
        case OP_EXECUTION_MODE:
            if (function && instruction[1] == function && instruction[2] == SPIRV_MODE_LOCAL_SIZE) {
                if (length != 6 || (uint64_t)instruction[3] * instruction[4] > MAX_SHADER_BLOCK ||
                    (uint64_t)instruction[3] * instruction[4] * instruction[5] != task->block_dim) {
                    return fail_spirv(module, position, "its groups have another size than the manifest says");
                }
            }
            break;
        }
    }
    return function ? true
                    : fail(TI_ERROR_CORRUPTED_DATA, "`%s` has no entry point `%.64s`", module->name, task->entry);
}

static bool spirv_check_tasks(const Spirv *module, const KernelData *kernel, uint32_t file) {
    uint32_t i;
    for (i = 0; i < kernel->task_count; i++) {
        if (kernel->tasks[i].file == file && !spirv_check_entry(module, &kernel->tasks[i])) {
            return false;
        }
    }
    return spirv_check_variables(module, kernel) && spirv_check_arguments(module, kernel);
}

/* Check the shader of one file of a kernel; the caller frees `data`. */
static bool check_spirv(const KernelData *kernel, uint32_t file, const uint8_t *data) {
    Spirv module;
    uint32_t size = kernel->files[file].code->size;
    bool is_good;
    memset(&module, 0, sizeof module);
    module.name = kernel->files[file].code->name;
    if (size % 4 || size < 4 * (SPIRV_HEADER_WORDS + 1) || little_u32(data) != SPIRV_MAGIC) {
        return fail_spirv(&module, 0, "it is no SPIR-V");
    }
    module.count = size / 4;
    module.bound = little_u32(data + 12);
    if (module.bound == 0 || module.bound > SPIRV_MAX_BOUND || little_u32(data + 4) > 0x00010600 ||
        little_u32(data + 16)) {
        return fail_spirv(&module, 0, "its header is wrong");
    }
    module.words = (uint32_t *)allocate_zeroed(size);
    module.definitions = (uint32_t *)allocate_zeroed((size_t)module.bound * sizeof(uint32_t));
    is_good = module.words && module.definitions;
    if (is_good) {
        memcpy(module.words, data, size); /* the host is little endian, as the devices are */
        is_good = spirv_instructions(&module, true) && spirv_instructions(&module, false) &&
                  spirv_check_tasks(&module, kernel, file);
    }
    free(module.words);
    free(module.definitions);
    return is_good;
}
