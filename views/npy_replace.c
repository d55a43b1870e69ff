/* Files that are written beside their target and renamed. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_TMPFILE, faccessat's AT_EACCESS */
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "npy_replace.h"

#define LINK_HOPS 40 /* as the kernel's own bound */
#define NAME_TRIES 100

static ferry_status write_failed(const char *path, int reason) {
    return ferry_error(FERRY_IO, "%s: cannot be written: %s", path, strerror(reason));
}

/* The length of the folder's part of a path, its slash included; 0 for a bare name. */
static int folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (int)(slash + 1 - path) : 0;
}

static bool fits(int length) {
    return length >= 0 && length < PATH_MAX;
}

/* The folder's real name; false when there is none. */
static bool real_folder(const char *path, char *real) {
    char folder[PATH_MAX];
    int length = folder_length(path);
    snprintf(folder, sizeof folder, "%.*s", length ? length : 1, length ? path : ".");
    return realpath(folder, real) != NULL;
}

static bool lies_in_proc(const char *path) {
    char folder[PATH_MAX];
    return real_folder(path, folder) && strncmp(folder, "/proc/", 6) == 0;
}

/* The descriptor of this process that a link in /proc stands for, -1 when it stands for something else. */
static int own_descriptor(const char *link) {
    char folder[PATH_MAX], own[PATH_MAX];
    const char *number = link + folder_length(link);
    if (!real_folder(link, folder) || realpath("/proc/self/fd", own) == NULL || strcmp(folder, own) != 0)
        return -1;
    return strspn(number, "0123456789") == strlen(number) ? atoi(number) : -1;
}

/*
 * Follows the last component's symbolic links, also to a target that does not exist yet. A link inside /proc (as
 * /dev/stdout leads to) stands for an open file and is not to be replaced: *direct.
 */
static int follow_links(const char *path, char *target, bool *direct) {
    *direct = false;
    if (!fits(snprintf(target, PATH_MAX, "%s", path)))
        return ENAMETOOLONG;
    for (int hop = 0; hop < LINK_HOPS; hop++) {
        char link[PATH_MAX], folder[PATH_MAX];
        ssize_t length = readlink(target, link, sizeof link - 1);
        if (length < 0)
            return 0;
        link[length] = '\0';
        if (lies_in_proc(target)) {
            *direct = true;
            return 0;
        }
        snprintf(folder, sizeof folder, "%.*s", link[0] == '/' ? 0 : folder_length(target), target);
        if (!fits(snprintf(target, PATH_MAX, "%s%s", folder, link)))
            return ENAMETOOLONG;
    }
    return ELOOP;
}

/* A name that nobody else of this machine is using now; O_EXCL and EEXIST settle the rest. */
static bool next_name(replacement *r) {
    static atomic_uint counter;
    return fits(snprintf(r->temporary, sizeof r->temporary, "%.*s.ferry-%ld-%u.tmp", folder_length(r->target),
                         r->target, (long)getpid(), atomic_fetch_add(&counter, 1)));
}

/* The file's name among the process's descriptors, through which it can be linked into a folder. */
static void descriptor_path(int fd, char text[32]) {
    snprintf(text, 32, "/proc/self/fd/%d", fd);
}

static int open_nameless(const replacement *r, mode_t mode) {
    char folder[PATH_MAX], descriptor[32];
    int length = folder_length(r->target);
    snprintf(folder, sizeof folder, "%.*s", length ? length : 1, length ? r->target : ".");
    int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
    if (fd < 0)
        return -1;
    descriptor_path(fd, descriptor);
    if (access(descriptor, F_OK) == 0)
        return fd;
    close(fd);
    return -1;
}

static int open_named(replacement *r, mode_t mode) {
    for (int i = 0; i < NAME_TRIES; i++) {
        if (!next_name(r)) {
            errno = ENAMETOOLONG;
            break;
        }
        int fd = open(r->temporary, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode);
        if (fd >= 0)
            return fd;
        if (errno != EEXIST)
            break;
    }
    r->temporary[0] = '\0';
    return -1;
}

/* Gives a nameless file a temporary name; rename alone replaces a target in one step. 0 or an errno. */
static int give_name(replacement *r) {
    char descriptor[32];
    descriptor_path(r->fd, descriptor);
    int reason = EEXIST;
    for (int i = 0; i < NAME_TRIES && reason == EEXIST; i++) {
        if (!next_name(r))
            reason = ENAMETOOLONG;
        else
            reason = linkat(AT_FDCWD, descriptor, AT_FDCWD, r->temporary, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
    }
    if (reason != 0)
        r->temporary[0] = '\0';
    return reason;
}

/* What the process has open is written on from where it is: to open it anew would empty a file that is appended to. */
static ferry_status begin_direct(replacement *r) {
    int descriptor = own_descriptor(r->target);
    r->direct = true;
    r->fd = descriptor >= 0 ? fcntl(descriptor, F_DUPFD_CLOEXEC, 0) : open(r->path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    return r->fd >= 0 ? FERRY_OK : write_failed(r->path, errno);
}

static ferry_status begin_beside(replacement *r, const struct stat *old) {
    mode_t mode = old ? old->st_mode & 0777 : 0666;
    if (old && faccessat(AT_FDCWD, r->target, W_OK, AT_EACCESS) != 0)
        return write_failed(r->path, errno);
    r->fd = open_nameless(r, mode);
    if (r->fd < 0)
        r->fd = open_named(r, mode);
    if (r->fd < 0)
        return write_failed(r->path, errno);
    /* A file system without modes refuses; then the mode that open was given is as good as it gets. */
    if (old && fchmod(r->fd, mode) != 0)
        errno = 0;
    return FERRY_OK;
}

ferry_status replace_begin(const char *path, replacement *out) {
    struct stat st;
    bool exists = stat(path, &st) == 0, magic;
    if (!exists && errno != ENOENT)
        return write_failed(path, errno);
    if (exists && S_ISDIR(st.st_mode))
        return write_failed(path, EISDIR);
    out->path = path;
    out->temporary[0] = '\0';
    out->direct = false;
    int reason = follow_links(path, out->target, &magic);
    if (reason != 0)
        return write_failed(path, reason);
    if (exists && (magic || !S_ISREG(st.st_mode)))
        return begin_direct(out);
    return begin_beside(out, exists ? &st : NULL);
}

static int rename_over(replacement *r) {
    int reason = r->direct || r->temporary[0] != '\0' ? 0 : give_name(r);
    if (close(r->fd) != 0 && reason == 0)
        reason = errno;
    if (!r->direct && reason == 0 && rename(r->temporary, r->target) != 0)
        reason = errno;
    return reason;
}

static void remove_temporary(const replacement *r) {
    if (r->temporary[0] != '\0')
        unlink(r->temporary);
}

ferry_status replace_commit(replacement *r) {
    int reason = rename_over(r);
    if (reason == 0)
        return FERRY_OK;
    remove_temporary(r);
    return write_failed(r->path, reason);
}

void replace_abandon(replacement *r) {
    close(r->fd);
    remove_temporary(r);
}
