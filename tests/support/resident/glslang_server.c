// A glslangValidator that stays: LD_PRELOAD puts this library into the real tool.
//
// Before it reads a shader, glslang parses the declarations of all built-in functions, which takes 100 ms; the shader
// itself takes 3 ms. So the tool first compiles a small shader, which fills its tables. Where it would write the result
// (a file named WARM_UP), it waits on a socket instead. For each request it forks, and the child calls `main` again with
// the arguments, the working folder and the standard streams of the client (glslang_client.c): the tool is the same program, and
// the module that it writes is the same, byte for byte.
#include "serving.h"

#define WARM_UP "resident-warm-up"

static int (*tool_main)(int, char **, char **);

// How std::ofstream opens files: the first shader is compiled, and the tables are there.
FILE *fopen64(const char *name, const char *mode) {
    FILE *(*real)(const char *, const char *) = dlsym(RTLD_NEXT, "fopen64");
    const char *path = getenv("RESIDENT_SOCKET");
    if (!is_serving && path != NULL && strstr(name, WARM_UP) != NULL) {
        char *arguments[MOST_ARGUMENTS + 1];
        fflush(NULL); // what the warm-up has printed is not for clients
        int count = serve(path, STDIN_FILENO, arguments);
        exit(tool_main(count, arguments, environ));
    }
    return real(name, mode);
}

int __libc_start_main(
    int (*program)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
    void (*rtld_fini)(void), void *stack_end) {
    int (*real)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void), void *) =
        dlsym(RTLD_NEXT, "__libc_start_main");
    tool_main = program;
    unsetenv("LD_PRELOAD");
    return real(program, argc, argv, init, fini, rtld_fini, stack_end);
}
