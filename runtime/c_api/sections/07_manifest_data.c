/* --- manifest: its data ------------------------------------------------------------------------------------------- */

typedef enum Operator {
    OP_CONST,
    OP_MEMBER,
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_FLOORDIV,
    OP_MOD,
    OP_MIN,
    OP_MAX,
    OP_NEG,
    OP_SHL,
    OP_SAR,
    OP_BIT_AND,
    OP_BIT_OR,
    OP_BIT_XOR,
    OP_ABS,
    OP_RAW_DIV,
    OP_SELECT,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_EQ,
    OP_NE
} Operator;

static const struct {
    const char *name;
    uint32_t operands;
} OPERATORS[] = {
    {"const", 0},   {"member", 0}, {"add", 2}, {"sub", 2}, {"mul", 2},     {"floordiv", 2}, {"mod", 2},     {"min", 2},
    {"max", 2},     {"neg", 1},    {"shl", 2}, {"sar", 2}, {"bit_and", 2}, {"bit_or", 2},   {"bit_xor", 2}, {"abs", 1},
    {"raw_div", 2}, {"select", 3}, {"lt", 2},  {"le", 2},  {"gt", 2},      {"ge", 2},       {"eq", 2},      {"ne", 2},
};

/* A number that the host computes from the arguments. value: the constant, or the number of the member. */
typedef struct Expression {
    Operator operation;
    int64_t value;
    const struct Expression *operands[3];
} Expression;

typedef enum SourceKind {
    SOURCE_ARGUMENT,
    SOURCE_POINTER,
    SOURCE_GRADIENT,
    SOURCE_SHAPE,
    SOURCE_STRIDE,
    SOURCE_BEGIN,
    SOURCE_CAPACITY,
    SOURCE_TEXTURE_SHAPE,
    SOURCE_SEED,
    SOURCE_DIVISOR,
    SOURCE_TEMPORARIES,
    SOURCE_RESULT,
    SOURCE_REPORT
} SourceKind;

static const struct {
    const char *name;
    uint32_t operands;
} SOURCES[] = {{"argument", 2}, {"pointer", 1},       {"gradient", 1}, {"shape", 2},       {"stride", 2}, {"begin", 1},
               {"capacity", 1}, {"texture_shape", 2}, {"seed", 0},     {"divisor", 1},     {"temporaries", 0},
               {"result", 0},   {"report", 0}};

typedef enum ConstantKind { CONSTANT_NONE, CONSTANT_INTEGER, CONSTANT_ADDRESS } ConstantKind;

/* One member of the argument block. first, second: operands of its source. tree, value: the parts of its constant. */
typedef struct BlockMember {
    const char *name;
    TiDataType type;
    uint32_t offset, size;
    SourceKind source;
    uint32_t first, second;
    ConstantKind constant;
    uint32_t tree;
    int64_t value;
} BlockMember;

typedef enum ParameterKind {
    PARAMETER_SCALAR,
    PARAMETER_MATRIX,
    PARAMETER_STRUCT,
    PARAMETER_NDARRAY,
    PARAMETER_TEMPLATE,
    PARAMETER_TEXTURE,
    PARAMETER_RW_TEXTURE
} ParameterKind;

/* types: of the numbers of a scalar, matrix or struct, in order. type: of the elements of an ndarray, UNKNOWN for
   structs; of the components of texels. element_size: size of an element with its shape [bytes]. format: of texels that
   are loaded and stored. gradient: number of the parameter that is the gradient of this ndarray, 0 for none. */
typedef struct Parameter {
    const char *name;
    ParameterKind kind;
    const TiDataType *types;
    uint32_t count;
    TiDataType type;
    TiNdShape element_shape;
    uint32_t dim_count;
    uint64_t element_size;
    TiFormat format;
    uint32_t gradient;
} Parameter;

/* parameter: number of the parameter that is the array, -1 for a field. */
typedef struct ArrayBinding {
    const char *name;
    int32_t parameter;
    uint32_t dim_count;
} ArrayBinding;

/* parameter: number of the parameter that is the texture. Its index in the list is its binding. */
typedef struct TextureBinding {
    uint32_t parameter;
    bool is_storage;
} TextureBinding;

typedef struct LoopAxis {
    const char *name;
    const Expression *start; /* null if only the device knows it */
    int64_t step;
} LoopAxis;

typedef struct IndexComponent {
    uint32_t axis;
    int64_t extent, weight;
} IndexComponent;

/* few_block: threads of a block for up to FEW_ITERATIONS, 0 if it is block_dim. extents: null if only the device knows the number of iterations. axes: of the loop, none for serial tasks. order: how
   an iteration number is split into indices. */
typedef struct Task {
    const char *name, *entry;
    uint32_t file, block_dim, few_block, items;
    bool is_serial, is_strided, is_folded;
    const Expression **extents;
    uint32_t extent_count, axis_count, order_count;
    LoopAxis *axes;
    IndexComponent *order;
    uint32_t loop_line;
} Task;

typedef struct ResultValue {
    TiDataType type;
    uint32_t offset, size;
} ResultValue;

typedef enum SiteKind { SITE_PRINT, SITE_CHECK, SITE_CALL } SiteKind;

/* One value of a record. words_type: its type in the record; type: its type in Python. */
typedef struct SiteValue {
    TiDataType words_type, type;
    uint32_t dim_count, dims[2], count;
} SiteValue;

/* A print or a check. parts: of a print; message: of a check; frames: its location in Python, and the calls that lead
   to it. */
typedef struct Site {
    SiteKind kind;
    uint32_t task, value_count, word_count;
    SiteValue *values;
    const Json *parts, *frames;
    const char *message;
} Site;

/* A file of a kernel. code: what the device runs (SPIR-V or cubin); ptx: null, or PTX in addition to or instead of a
   cubin. */
typedef struct CodeFile {
    const char *name;
    const ZipMember *code, *ptx;
} CodeFile;

/* args_size: of the argument block [bytes]. divisors: numbers by which the code divides. unsupported: null, or what the kernel needs that this runtime does not
   support; then only its parameters are read. parameter_count: with the gradients of ndarrays, which come last;
   declared_count: without. */
typedef struct KernelData {
    const char *name;
    const char *unsupported;
    Parameter *parameters;
    BlockMember *members;
    ArrayBinding *arrays;
    TextureBinding *textures;
    CodeFile *files;
    Task *tasks;
    ResultValue *results;
    Site *sites;
    const Expression **divisors;
    uint32_t parameter_count, member_count, array_count, texture_count, file_count, task_count, result_count;
    uint32_t divisor_count;
    uint32_t site_count, declared_count;
    uint32_t args_size;
    uint64_t result_size, temporaries_size;
    bool is_recursive;
} KernelData;

typedef struct FieldData {
    const char *name;
    uint32_t tree;
    bool is_even;  /* the elements have constant strides */
    TiField field; /* without its memory */
} FieldData;

/* argument: of the graph, -1 for constants. */
typedef struct DispatchArgument {
    int32_t argument;
    TiArgument constant;
} DispatchArgument;

typedef struct Dispatch {
    uint32_t kernel;
    DispatchArgument *arguments;
    uint32_t argument_count;
} Dispatch;

typedef struct GraphData {
    const char *name;
    const char **argument_names;
    Dispatch *dispatches;
    uint32_t argument_count, dispatch_count;
} GraphData;

/* The contents of an archive. Strings and tables are allocated from `arena`; binaries stay in the bytes of the archive.
 */
typedef struct Manifest {
    Arena arena;
    Zip zip;
    TiArch arch; /* TI_ARCH_RESERVED for C */
    KernelData *kernels;
    GraphData *graphs;
    FieldData *fields;
    uint64_t *tree_sizes;
    uint32_t kernel_count, graph_count, field_count, tree_count;
    uint32_t cuda_arch, cuda_ptx; /* 90 for sm_90; 0 where there is none */
} Manifest;
