// What is called glslangValidator in a test run: hands a shader to the tool that stays in memory (server.c). It becomes
// the real tool (TOOL) where none stays, for options that the tests rarely use, and for shaders that are refused: tables
// that are filled already are not all that messages depend on.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define SOCKET_VARIABLE "SHADESMITH_TESTS_GLSLANG"
enum { MOST_BYTES = 65536, MOST_ARGUMENTS = 255, CANNOT_START = 127 };

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

static void copy(int from, int to) {
    static char data[MOST_BYTES];
    ssize_t size;
    while ((size = read(from, data, sizeof data)) > 0)
        for (ssize_t done = 0, written; done < size; done += written)
            if ((written = write(to, data + done, size - done)) < 0) return;
}

// Send folder, arguments and streams; returns the socket, -1 where nobody serves or the request is too long.
static int request(int argc, char **argv, const int streams[3]) {
    static char data[MOST_BYTES];
    const char *path = getenv(SOCKET_VARIABLE);
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

int main(int argc, char **argv) {
    int reads_input = 0, status;
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
        int server = request(argc, argv, streams);
        if (server >= 0 && read(server, &status, sizeof status) == sizeof status && status == 0) {
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
