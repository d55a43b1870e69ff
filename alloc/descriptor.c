#include "descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

/* The kernel's table of descriptors grows to the highest: 32 KiB here. */
#define LIMIT_MOST 4096

/* Room for many is left above it. */
static int high_number(void) {
    struct rlimit limit;
    const rlim_t numbers =
        getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < LIMIT_MOST ? limit.rlim_cur : LIMIT_MOST;
    return (int)(numbers / 4 * 3);
}

int descriptor_out_of_the_way(int file) {
    if (file < 0) {
        return file;
    }
    const int saved = errno;
    int moved = fcntl(file, F_DUPFD_CLOEXEC, high_number());
    if (moved < 0 && file <= STDERR_FILENO) {
        moved = fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    }
    errno = saved;
    if (moved < 0) {
        return file;
    }
    close(file);
    return moved;
}
