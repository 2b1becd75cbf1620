// What is called glslangValidator in a test run: hands its arguments, folder and standard streams to the tool that
// stays (server.c), and ends as that did. Where there is none, it becomes the real tool (TOOL).
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define SOCKET_VARIABLE "SHADESMITH_TESTS_GLSLANG"
enum { MOST_BYTES = 65536, MOST_ARGUMENTS = 255, LOST = 252 };

// Send the request; returns the socket, -1 where nobody serves or the request is too long.
static int request(int argc, char **argv) {
    static char data[MOST_BYTES];
    const char *path = getenv(SOCKET_VARIABLE);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (path == NULL || strlen(path) >= sizeof address.sun_path || argc > MOST_ARGUMENTS) return -1;
    strcpy(address.sun_path, path);
    if (getcwd(data, sizeof data / 2) == NULL) return -1;
    size_t size = strlen(data) + 1;
    for (int i = 0; i < argc; i++) {
        size_t length = strlen(argv[i]) + 1;
        if (size + length > sizeof data) return -1;
        memcpy(data + size, argv[i], length);
        size += length;
    }
    int server = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    if (server < 0 || connect(server, (struct sockaddr *)&address, sizeof address)) return -1;
    int streams[3] = {0, 1, 2};
    union {
        char bytes[CMSG_SPACE(sizeof streams)];
        struct cmsghdr aligned;
    } control = {0};
    struct iovec part = {data, size};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof streams);
    memcpy(CMSG_DATA(head), streams, sizeof streams);
    return sendmsg(server, &message, MSG_NOSIGNAL) < 0 ? -1 : server;
}

int main(int argc, char **argv) {
    int server = request(argc, argv), status;
    if (server < 0) {
        execv(TOOL, argv);
        return 127;
    }
    if (read(server, &status, sizeof status) != sizeof status) return LOST;
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    return WEXITSTATUS(status);
}
