// The compiler proper of gcc, cc1, stays: LD_PRELOAD puts this library into the real program.
//
// To start, to make its tables of types and built-in functions and those of registers and costs of instructions takes cc1
// 20 ms; a small kernel itself takes as long. So it is given a program that includes one file (RESIDENT_SOURCE). Where it
// would open that file, it waits on a socket instead. For each request it forks, and the child includes the source of the
// client (gcc_client.c): it is the same program with the same options, and the code that it writes is the same.
#include <stdarg.h>

#include "serving.h"

// Makes the tables of registers and costs, which cc1 otherwise makes for the first function; absent in other versions.
#define MAKE_TABLES "_Z14initialize_rtlv"

// How cc1 opens files; standard input is the source, standard output gets the assembler's text.
int open(const char *name, int flags, ...) {
    int (*real)(const char *, int, int) = (int (*)(const char *, int, int))dlsym(RTLD_NEXT, "open");
    const char *path = getenv("RESIDENT_SOCKET"), *source = getenv("RESIDENT_SOURCE");
    va_list more;
    va_start(more, flags);
    int mode = va_arg(more, int);
    va_end(more);
    if (is_serving || path == NULL || source == NULL || strcmp(name, source) != 0) return real(name, flags, mode);
    char *arguments[MOST_ARGUMENTS + 1];
    void (*make_tables)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, MAKE_TABLES);
    if (make_tables != NULL) make_tables();
    serve(path, atoi(getenv("RESIDENT_STOP")), arguments);
    return dup(STDIN_FILENO);
}
