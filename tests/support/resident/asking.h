// The client's part of serving.h.
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_BYTES = 65536, MOST_ARGUMENTS = 255, CANNOT_START = 127 };

static void copy(int from, int to) {
    static char data[MOST_BYTES];
    ssize_t size;
    while ((size = read(from, data, sizeof data)) > 0)
        for (ssize_t done = 0, written; done < size; done += written)
            if ((written = write(to, data + done, size - done)) < 0) return;
}

// Send folder, arguments and streams; returns the socket, -1 where nobody serves or the request is too long.
static int request(const char *path, int argc, char **argv, const int streams[3]) {
    static char data[MOST_BYTES];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (path == NULL || strlen(path) >= sizeof address.sun_path) return -1;
    strcpy(address.sun_path, path);
    if (getcwd(data, sizeof data / 2) == NULL) return -1;
    size_t size = strlen(data) + 1;
    for (int i = 0; i < argc; i++) {
        size_t length = strlen(argv[i]) + 1;
        if (size + length > sizeof data) return -1;
        memcpy(data + size, argv[i], length);
        size += length;
    }
    int server = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (server < 0 || connect(server, (struct sockaddr *)&address, sizeof address)) return -1;
    union {
        char bytes[CMSG_SPACE(3 * sizeof(int))];
        struct cmsghdr aligned;
    } control = {0};
    struct iovec part = {data, size};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(3 * sizeof(int));
    memcpy(CMSG_DATA(head), streams, 3 * sizeof(int));
    return sendmsg(server, &message, MSG_NOSIGNAL) < 0 ? -1 : server;
}

// Whether the request was answered and the tool has ended well.
static int succeeds(int server) {
    int status;
    return server >= 0 && read(server, &status, sizeof status) == sizeof status && status == 0;
}
