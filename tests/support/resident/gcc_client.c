// What is called gcc in a test run: hands the source of a kernel to the cc1 that stays in memory (gcc_server.c), then
// starts assembler and linker as gcc does. It becomes the real gcc (TOOL) where none stays for these options, and for
// sources that are refused: messages are those of gcc.
//
// The table that SHADESMITH_TESTS_GCC names has four lines for each set of options: the words of a command without `-D`
// and `-o`, the socket, the assembler's and the linker's command. Words end with tabs.
#include "asking.h"

#define TABLE_VARIABLE "SHADESMITH_TESTS_GCC"
#define OBJECT_WORD "{object}"
#define OUTPUT_WORD "{output}"

extern char **environ;

static char definitions[MOST_BYTES], key[MOST_BYTES], table[MOST_BYTES];
static const char *output;

static int append(char *text, const char *first, int length, const char *second) {
    size_t size = strlen(text);
    return snprintf(text + size, MOST_BYTES - size, "%.*s%s", length, first, second) < (int)(MOST_BYTES - size);
}

// Split a command into key, definitions and output; false where it has other forms than shadesmith's.
static int is_usual(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *equal = strchr(argv[i], '=');
        if (!strcmp(argv[i], "-o") && i + 1 < argc) {
            output = argv[++i];
        } else if (!strncmp(argv[i], "-D", 2)) {
            if (equal == NULL || !append(definitions, "#define ", 8, "")) return 0;
            if (!append(definitions, argv[i] + 2, equal - argv[i] - 2, " ")) return 0;
            if (!append(definitions, equal + 1, strlen(equal + 1), "\n")) return 0;
        } else if (!append(key, argv[i], strlen(argv[i]), "\t")) {
            return 0;
        }
    }
    return output != NULL;
}

// Find the lines that follow a key.
static int find(const char *path, char *lines[3]) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? -1 : read(file, table, sizeof table - 1);
    if (size < 0) return 0;
    char *rest = table;
    for (char *line; (line = strsep(&rest, "\n")) != NULL && *line;) {
        for (int i = 0; i < 3; i++)
            if ((lines[i] = strsep(&rest, "\n")) == NULL) return 0;
        if (!strcmp(line, key)) return 1;
    }
    return 0;
}

// Run a line of the table, which is silent; returns whether it succeeds. input, log: its streams.
static int run(char *line, char *object, int input, int log) {
    char *words[MOST_ARGUMENTS + 1];
    int count = 0, status;
    for (char *word; (word = strsep(&line, "\t")) != NULL && *word && count < MOST_ARGUMENTS;)
        words[count++] = !strcmp(word, OBJECT_WORD) ? object : !strcmp(word, OUTPUT_WORD) ? (char *)output : word;
    words[count] = NULL;
    posix_spawn_file_actions_t streams;
    posix_spawn_file_actions_init(&streams);
    posix_spawn_file_actions_adddup2(&streams, input, 0);
    for (int i = 1; i < 3; i++) posix_spawn_file_actions_adddup2(&streams, log, i);
    pid_t pid;
    return count > 0 && posix_spawn(&pid, words[0], &streams, NULL, words, environ) == 0 &&
           waitpid(pid, &status, 0) == pid && status == 0;
}

int main(int argc, char **argv) {
    const char *path = getenv(TABLE_VARIABLE);
    char *lines[3], object[MOST_BYTES];
    if (path != NULL && lseek(0, 0, SEEK_CUR) == 0 && is_usual(argc, argv) && find(path, lines)) {
        int streams[3];
        for (int i = 0; i < 3; i++) streams[i] = memfd_create("stream", MFD_CLOEXEC);
        (void)!write(streams[0], definitions, strlen(definitions));
        copy(0, streams[0]);
        lseek(streams[0], 0, SEEK_SET);
        if (succeeds(request(lines[0], 0, argv, streams))) {
            lseek(streams[1], 0, SEEK_SET);
            snprintf(object, sizeof object, "%s.o", output);
            int done = run(lines[1], object, streams[1], streams[2]) && run(lines[2], object, streams[1], streams[2]);
            unlink(object);
            if (done) return 0;
        }
        lseek(0, 0, SEEK_SET);
    }
    argv[0] = TOOL; // gcc looks for its programs beside itself
    execv(TOOL, argv);
    return CANNOT_START;
}
