// A tool that stays: it waits on a socket where it would go on, forks for each request, and the child goes on.
// The client (asking.h) sends its folder, its arguments and three streams, and gets the child's status.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
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

enum { MOST_JOBS = 64, MOST_ARGUMENTS = 255, MOST_BYTES = 65536, BAD_REQUEST = 250 };

struct job {
    pid_t pid;
    int client;
};

static int is_serving;
static struct job jobs[MOST_JOBS];
static int job_count;

// In the child: take the folder, the arguments and the streams of the client; returns the number of arguments.
static int take_request(int client, char *arguments[MOST_ARGUMENTS + 1]) {
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
    for (int i = 0; i < 3; i++) { // 0 to 2 may be free in a tool, and so be among the numbers that streams come with
        int stream = fcntl(streams[i], F_DUPFD_CLOEXEC, 3);
        close(streams[i]);
        streams[i] = stream;
    }
    for (int i = 0; i < 3; i++) {
        dup2(streams[i], i);
        close(streams[i]);
    }
    int count = 0;
    for (char *at = data + strlen(data) + 1; at < data + size && count < MOST_ARGUMENTS; at += strlen(at) + 1)
        arguments[count++] = at;
    arguments[count] = NULL;
    if (chdir(data)) _exit(BAD_REQUEST);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    return count;
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

// Serve until whoever started the tool closes the other end of `stop`. A client that has gone takes its job with it.
// Returns in the children only: the number of arguments.
static int serve(const char *path, int stop, char *arguments[MOST_ARGUMENTS + 1]) {
    is_serving = 1;
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
        struct pollfd all[MOST_JOBS + 3] = {{stop, POLLIN}, {signals, POLLIN}, {listener, POLLIN}};
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
        int client = all[2].revents ? accept(listener, NULL, NULL) : -1;
        if (client < 0) continue;
        pid_t pid = fork();
        if (pid == 0) {
            close(listener);
            close(signals);
            for (int i = 0; i < job_count; i++) close(jobs[i].client);
            return take_request(client, arguments);
        }
        if (pid < 0) close(client);
        else jobs[job_count++] = (struct job){pid, client};
    }
}
