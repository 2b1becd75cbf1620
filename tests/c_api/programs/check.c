/* Check archives, each in a process of its own: check FILE... Prints a line for each: exit status or signal, most
   memory [KiB], time [ms], code and text of the error. */

#include "shadesmith.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

pid_t wait4(pid_t, int *, int, struct rusage *);

static int check(const char *path) {
    FILE *file = fopen(path, "rb");
    char *bytes;
    long size;
    TiError error;
    if (!file || fseek(file, 0, SEEK_END)) {
        return 2;
    }
    size = ftell(file);
    rewind(file);
    bytes = (char *)malloc(size ? (size_t)size : 1); /* of exactly this size: the sanitizer sees reads beyond */
    if (fread(bytes, 1, (size_t)size, file) != (size_t)size) {
        return 2;
    }
    fclose(file);
    error = ti_check_aot_module(bytes, (uint64_t)size);
    printf("%d %s", (int)error, error ? ti_get_last_error_message() : "");
    fflush(stdout);
    free(bytes);
    return error ? 1 : 0;
}

int main(int argc, char **argv) {
    int i;
    for (i = 1; i < argc; i++) {
        struct rusage usage;
        struct timespec start, end;
        int status;
        pid_t child;
        clock_gettime(CLOCK_MONOTONIC, &start);
        child = fork();
        if (child == 0) {
            exit(check(argv[i]));
        }
        wait4(child, &status, 0, &usage);
        clock_gettime(CLOCK_MONOTONIC, &end);
        printf("\t%d\t%ld\t%ld\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), usage.ru_maxrss,
               (long)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
                   (long)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000);
        fflush(stdout);
    }
    return 0;
}
