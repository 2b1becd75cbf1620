// A glslangValidator that stays: LD_PRELOAD puts this library into the real tool.
//
// Before it reads a shader, glslang parses the declarations of all built-in functions, which takes 100 ms; the shader
// itself takes 3 ms. So the tool first compiles a small shader, which fills its tables. Where it would write the result
// (a file named WARM_UP), it waits on a socket instead. For each request it forks, and the child calls `main` again with
// the arguments, the working folder and the standard streams of the client (client.c): the tool is the same program, and
// the module that it writes is the same, byte for byte.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define WARM_UP "resident-warm-up"
enum { MOST_JOBS = 64, MOST_ARGUMENTS = 255, MOST_BYTES = 65536, BAD_REQUEST = 250 };

struct job {
    pid_t pid;
    int client;
};

static int (*tool_main)(int, char **, char **);
static int is_serving;
static struct job jobs[MOST_JOBS];
static int job_count;

// In the child: take the request (folder, arguments, three descriptors), and be the tool.
static void compile(int client, int listener) {
    static char data[MOST_BYTES];
    int streams[3];
    union {
        char bytes[CMSG_SPACE(sizeof streams)];
        struct cmsghdr aligned;
    } control;
    struct iovec part = {data, sizeof data};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    ssize_t size = recvmsg(client, &message, 0);
    struct cmsghdr *head = size > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (head == NULL || head->cmsg_len != CMSG_LEN(sizeof streams)) _exit(BAD_REQUEST);
    memcpy(streams, CMSG_DATA(head), sizeof streams);
    close(client);
    close(listener);
    for (int i = 0; i < 3; i++) dup2(streams[i], i);
    for (int i = 0; i < 3; i++) close(streams[i]);
    char *arguments[MOST_ARGUMENTS + 1];
    int count = 0;
    for (char *at = data + strlen(data) + 1; at < data + size && count < MOST_ARGUMENTS; at += strlen(at) + 1)
        arguments[count++] = at;
    arguments[count] = NULL;
    if (chdir(data)) _exit(BAD_REQUEST);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    exit(tool_main(count, arguments, environ));
}

// A child has ended: its client gets the status, as `waitpid` gives it.
static void report_ended(void) {
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (int i = 0; i < job_count; i++) {
            if (jobs[i].pid != pid) continue;
            (void)!write(jobs[i].client, &status, sizeof status);
            close(jobs[i].client);
            jobs[i] = jobs[--job_count];
            break;
        }
    }
}

static void accept_request(int listener) {
    int client = accept(listener, NULL, NULL);
    if (client < 0) return;
    pid_t pid = fork();
    if (pid == 0) compile(client, listener);
    if (pid < 0) close(client);
    else jobs[job_count++] = (struct job){pid, client};
}

// Serve until whoever started the tool closes its standard input. A client that has gone takes its job with it.
static void serve(const char *path) {
    is_serving = 1;
    fflush(NULL); // what the warm-up has printed is not for clients
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, MOST_JOBS)) _exit(BAD_REQUEST);
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    int signals = signalfd(-1, &ends, SFD_CLOEXEC);
    for (;;) {
        struct pollfd all[MOST_JOBS + 3] = {{0, POLLIN}, {signals, POLLIN}, {listener, POLLIN}};
        if (job_count == MOST_JOBS) all[2].events = 0;
        for (int i = 0; i < job_count; i++) all[3 + i].fd = jobs[i].client;
        if (poll(all, 3 + job_count, -1) < 0) continue;
        if (all[0].revents) _exit(0);
        for (int i = 0; i < job_count; i++)
            if (all[3 + i].revents & (POLLHUP | POLLERR)) kill(jobs[i].pid, SIGKILL);
        if (all[1].revents) {
            struct signalfd_siginfo ended;
            (void)!read(signals, &ended, sizeof ended);
            report_ended();
        }
        if (all[2].revents) accept_request(listener);
    }
}

// How std::ofstream opens files: the first shader is compiled, and the tables are there.
FILE *fopen64(const char *name, const char *mode) {
    FILE *(*real)(const char *, const char *) = dlsym(RTLD_NEXT, "fopen64");
    const char *path = getenv("RESIDENT_SOCKET");
    if (!is_serving && path != NULL && strstr(name, WARM_UP) != NULL) serve(path);
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
