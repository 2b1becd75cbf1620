// What is called glslangValidator in a test run: hands a shader to the tool that stays in memory (glslang_server.c). It becomes
// the real tool (TOOL) where none stays, for options that the tests rarely use, and for shaders that are refused: tables
// that are filled already are not all that messages depend on.
#include "asking.h"

#define SOCKET_VARIABLE "SHADESMITH_TESTS_GLSLANG"

// Whether the resident tool takes these arguments: those of shadesmith, and one file at most.
static int is_usual(int argc, char **argv, int *reads_input) {
    int files = 0;
    if (argc > MOST_ARGUMENTS) return 0;
    for (int i = 1; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--stdin")) *reads_input = 1, files++;
        else if (!strcmp(argv[i], "-S") && !strcmp(next, "comp")) i++;
        else if (!strcmp(argv[i], "--target-env") && !strcmp(next, "vulkan1.2")) i++;
        else if (!strcmp(argv[i], "-o") && *next) i++;
        else if (argv[i][0] != '-') files++;
        else if (strcmp(argv[i], "--quiet") && strcmp(argv[i], "-g") && strcmp(argv[i], "-gVS")) return 0;
    }
    return files == 1;
}

int main(int argc, char **argv) {
    int reads_input = 0;
    if (getenv(SOCKET_VARIABLE) != NULL && is_usual(argc, argv, &reads_input)) {
        int streams[3];
        for (int i = 0; i < 3; i++) streams[i] = memfd_create("stream", MFD_CLOEXEC);
        // The tool opens /dev/stdout anew for the module; its warnings follow, as in a pipe.
        for (int i = 1; i < 3; i++) fcntl(streams[i], F_SETFL, O_APPEND);
        if (reads_input) {
            copy(0, streams[0]);
            lseek(streams[0], 0, SEEK_SET);
            dup2(streams[0], 0);
        }
        if (succeeds(request(getenv(SOCKET_VARIABLE), argc, argv, streams))) {
            for (int i = 1; i < 3; i++) {
                lseek(streams[i], 0, SEEK_SET);
                copy(streams[i], i);
            }
            return 0;
        }
        if (reads_input) lseek(0, 0, SEEK_SET);
    }
    execv(TOOL, argv);
    return CANNOT_START;
}
