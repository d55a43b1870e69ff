#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "beside.h"
#include "run_preload.h"
#include "tool.h"

#define LIBRARY "libferry-preload.so"
#define SCRIPTS_MOST 4 /* whose interpreter is a script, and so on */

static const char *const PLACES[] = {"../" FERRY_LIBRARY_FOLDER "/" LIBRARY, "../lib/" LIBRARY, "../preload/" LIBRARY};

static int find_library(char path[PATH_MAX]) {
    char own[PATH_MAX];
    const char *named = getenv("FERRY_PRELOAD");
    if (named && *named)
        return realpath(named, path) ? EXIT_DONE : fail("FERRY_PRELOAD: %s: %s", named, strerror(errno));
    if (find_beside(PLACES, sizeof PLACES / sizeof *PLACES, path, own))
        return EXIT_DONE;
    return fail(LIBRARY " is neither in %s../" FERRY_LIBRARY_FOLDER " nor where FERRY_PRELOAD says", own);
}

/* What execvp would find, into `path`; false: nothing. */
static bool find_program(const char *name, char path[PATH_MAX]) {
    const char *folders = getenv("PATH");
    if (strchr(name, '/')) {
        snprintf(path, PATH_MAX, "%s", name);
        return true;
    }
    for (const char *at = folders ? folders : "/bin:/usr/bin"; at; at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
        int length = (int)strcspn(at, ":");
        snprintf(path, PATH_MAX, "%.*s%s%s", length, at, length ? "/" : "./", name);
        if (access(path, X_OK) == 0)
            return true;
    }
    return false;
}

typedef struct program {
    char path[PATH_MAX];
    struct stat status;
    unsigned char head[4096];
    size_t head_bytes;
    char loader[PATH_MAX]; /* "": none */
} program;

static bool read_program(program *p) {
    int file = open(p->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return false;
    ssize_t got = fstat(file, &p->status) == 0 && S_ISREG(p->status.st_mode) ? read(file, p->head, sizeof p->head) : -1;
    close(file);
    p->head_bytes = got < 0 ? 0 : (size_t)got;
    return got > 0;
}

/* The interpreter of a script takes its place. */
static bool follow_script(program *p) {
    char *line = (char *)p->head;
    if (p->head_bytes < 3 || memcmp(line, "#!", 2) != 0)
        return false;
    line[p->head_bytes < sizeof p->head ? p->head_bytes : sizeof p->head - 1] = '\0';
    line += 2 + strspn(line + 2, " \t");
    line[strcspn(line, " \t\n")] = '\0';
    snprintf(p->path, sizeof p->path, "%s", line);
    return true;
}

/* Its segments are in front, as the linker writes them. */
static void find_loader(program *p, const Elf64_Ehdr *header) {
    p->loader[0] = '\0';
    for (unsigned i = 0; i < header->e_phnum; i++) {
        Elf64_Phdr segment;
        size_t at = header->e_phoff + i * sizeof segment;
        if (header->e_phoff > p->head_bytes || at + sizeof segment > p->head_bytes)
            return;
        memcpy(&segment, p->head + at, sizeof segment);
        if (segment.p_type == PT_INTERP && segment.p_offset < p->head_bytes)
            snprintf(p->loader, sizeof p->loader, "%.*s", (int)(p->head_bytes - segment.p_offset),
                     (const char *)p->head + segment.p_offset);
    }
}

static bool is_elf(const program *p) {
    return p->head_bytes >= sizeof(Elf64_Ehdr) && memcmp(p->head, ELFMAG, SELFMAG) == 0;
}

/* A program whose rights are others' than the user's: the loader takes no libraries from that user. */
static bool has_more_rights(const program *p) {
    if ((p->status.st_mode & S_ISUID) != 0 && p->status.st_uid != getuid())
        return true;
    if ((p->status.st_mode & S_ISGID) != 0 && p->status.st_gid != getgid())
        return true;
    return getuid() != 0 && getxattr(p->path, "security.capability", NULL, 0) > 0;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* NULL: nothing. *refused: the other loader would end the program over it. */
static const char *what_is_in_the_way(program *p, bool *refused) {
    Elf64_Ehdr header, own_header;
    program own = {.path = "/proc/self/exe"};
    if (!is_elf(p) || !read_program(&own))
        return NULL;
    memcpy(&header, p->head, sizeof header);
    memcpy(&own_header, own.head, sizeof own_header);
    if (header.e_ident[EI_CLASS] != own_header.e_ident[EI_CLASS] || header.e_machine != own_header.e_machine)
        return "is for another architecture";
    if (has_more_rights(p))
        return "runs with another user's rights";
    find_loader(p, &header);
    find_loader(&own, &own_header);
    if (p->loader[0] == '\0')
        return "is linked statically";
    *refused = strcmp(base_name(p->loader), base_name(own.loader)) != 0;
    return *refused ? "has another C library" : NULL;
}

/* False: LD_PRELOAD must not be set. */
static bool warn(const char *name) {
    program p = {.path = ""};
    bool refused = false, found = find_program(name, p.path) && read_program(&p);
    for (int i = 0; found && i < SCRIPTS_MOST && follow_script(&p); i++)
        found = read_program(&p);
    const char *reason = found ? what_is_in_the_way(&p, &refused) : NULL;
    if (reason)
        fail("%s %s: it runs as if unpreloaded", p.path, reason);
    return !refused;
}

int run_preload(const char *name) {
    char path[PATH_MAX];
    if (find_library(path) != EXIT_DONE)
        return EXIT_FAILED;
    if (strpbrk(path, " :"))
        return fail("%s: the loader takes no path with a space or a colon", path);
    if (!warn(name))
        return EXIT_DONE;
    const char *others = getenv("LD_PRELOAD");
    if (others && *others) {
        char *both;
        if (asprintf(&both, "%s:%s", path, others) < 0)
            return fail("out of memory");
        setenv("LD_PRELOAD", both, 1);
        free(both);
    } else {
        setenv("LD_PRELOAD", path, 1);
    }
    return EXIT_DONE;
}
