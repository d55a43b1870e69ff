#include "callers.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define OBJECTS_MOST 4096

static uint64_t seen[OBJECTS_MOST]; /* keys; `looking` */
static unsigned nseen;
static atomic_flag looking = ATOMIC_FLAG_INIT;
static unsigned long long known_adds; /* of the loader's count of objects loaded; `looking` */
static _Atomic bool cuda_seen;

extern const char __ehdr_start[] __attribute__((visibility("hidden")));

static bool begins(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static bool is_cuda(const char *name) {
    return begins(name, "libcuda.so") || begins(name, "libcudart");
}

static bool is_refused(const char *name) {
    static const char *const prefixes[] = {"libnvidia-", "libcupti.so", "libnvrtc", "libcudadebugger.so",
                                           "libc.so.",   "ld-linux",    "libdl.so."};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        if (begins(name, prefixes[i])) {
            return true;
        }
    }
    return is_cuda(name);
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE
/* The C library finds an address's object, without a lock. */
static void note_refused(const struct dl_phdr_info *object) {
    (void)object;
}

static bool is_refused_address(const void *address) {
    struct dl_find_object found;
    if (_dl_find_object((void *)address, &found) != 0) {
        return false;
    }
    return found.dlfo_map_start == (const void *)__ehdr_start || is_refused(base_name(found.dlfo_link_map->l_name));
}
#else
/* Where it is older than that (2.35), their ranges are kept. They are only added: where one was unloaded and another
 * lies now, that one is taken for it, which costs it its managed memory and nothing else. */
struct range {
    uintptr_t first, end;
};

static struct range refused[OBJECTS_MOST];
static _Atomic unsigned nrefused;

static void refuse(uintptr_t first, uintptr_t end) {
    const unsigned n = atomic_load_explicit(&nrefused, memory_order_relaxed);
    if (n < OBJECTS_MOST) {
        refused[n] = (struct range){first, end};
        atomic_store_explicit(&nrefused, n + 1, memory_order_release);
    }
}

static void note_refused(const struct dl_phdr_info *object) {
    if (object->dlpi_addr != (uintptr_t)__ehdr_start && !is_refused(base_name(object->dlpi_name))) {
        return;
    }
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0) {
            const uintptr_t first = object->dlpi_addr + segment->p_vaddr;
            refuse(first, first + segment->p_memsz);
        }
    }
}

static void look(void);

static bool is_refused_address(const void *address) {
    look();
    const unsigned n = atomic_load_explicit(&nrefused, memory_order_acquire);
    for (unsigned i = 0; i < n; i++) {
        if ((uintptr_t)address >= refused[i].first && (uintptr_t)address < refused[i].end) {
            return true;
        }
    }
    return false;
}
#endif

/* A runtime that is linked in statically shows by the kernels that were linked in with it. */
static bool has_kernels(const char *file, size_t bytes) {
    const ElfW(Ehdr) *header = (const void *)file;
    if (bytes < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_shentsize != sizeof(ElfW(Shdr)) || header->e_shoff > bytes ||
        header->e_shnum > (bytes - header->e_shoff) / sizeof(ElfW(Shdr)) || header->e_shstrndx >= header->e_shnum) {
        return false;
    }
    const ElfW(Shdr) *sections = (const void *)(file + header->e_shoff);
    const ElfW(Shdr) *names = &sections[header->e_shstrndx];
    if (names->sh_offset > bytes || names->sh_size > bytes - names->sh_offset) {
        return false;
    }
    for (unsigned i = 0; i < header->e_shnum; i++) {
        static const char wanted[] = ".nv_fatbin";
        const size_t at = sections[i].sh_name;
        if (at < names->sh_size && names->sh_size - at >= sizeof wanted &&
            memcmp(file + names->sh_offset + at, wanted, sizeof wanted) == 0) {
            return true;
        }
    }
    return false;
}

static bool file_has_kernels(const char *path) {
    bool found = false;
    struct stat status;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        const size_t bytes = (size_t)status.st_size;
        void *file = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
        if (file != MAP_FAILED) {
            found = has_kernels(file, bytes);
            munmap(file, bytes);
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return found;
}

/* FNV-1a, of the name, begun with the address: another object may lie where one was that is unloaded by now. */
static uint64_t key_of(const struct dl_phdr_info *object) {
    uint64_t key = (uintptr_t)object->dlpi_phdr;
    for (const char *c = object->dlpi_name; *c != '\0'; c++) {
        key = (key ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    }
    return key;
}

/* Whether the object was there the last time. */
static bool is_seen(const struct dl_phdr_info *object) {
    const uint64_t key = key_of(object);
    for (unsigned i = 0; i < nseen; i++) {
        if (seen[i] == key) {
            return true;
        }
    }
    if (nseen < OBJECTS_MOST) {
        seen[nseen++] = key;
    }
    return false;
}

static int look_at(struct dl_phdr_info *object, size_t bytes, void *argument) {
    (void)bytes, (void)argument;
    if (is_seen(object)) {
        return 0;
    }
    const char *name = base_name(object->dlpi_name);
    note_refused(object);
    const bool is_ours = object->dlpi_addr == (uintptr_t)__ehdr_start;
    const char *path = object->dlpi_name[0] == '\0' ? "/proc/self/exe" : object->dlpi_name;
    if (is_cuda(name) || (!is_ours && !atomic_load(&cuda_seen) && file_has_kernels(path))) {
        atomic_store(&cuda_seen, true);
    }
    return 0;
}

static int count_adds(struct dl_phdr_info *object, size_t bytes, void *adds) {
    (void)bytes;
    *(unsigned long long *)adds = object->dlpi_adds;
    return 1;
}

/*
 * Not for ever: whoever looks waits for a lock of the loader's, which a program's own callback of dl_iterate_phdr holds
 * while it allocates or forks.
 */
static bool begin_looking(int naps) {
    enum { YIELDS = 1000 };
    static const struct timespec nap = {.tv_nsec = 1000000};
    for (int i = 0; atomic_flag_test_and_set_explicit(&looking, memory_order_acquire); i++) {
        if (i >= YIELDS + naps) {
            return false;
        }
        if (i < YIELDS) {
            sched_yield();
        } else {
            nanosleep(&nap, NULL);
        }
    }
    return true;
}

static void end_looking(void) {
    atomic_flag_clear_explicit(&looking, memory_order_release);
}

static void look_at_new_ones(void) {
    unsigned long long adds = 0;
    dl_iterate_phdr(count_adds, &adds);
    if (adds == known_adds) {
        return;
    }
    dl_iterate_phdr(look_at, NULL);
    known_adds = adds;
}

/* Looks at what has been loaded since the last time; or goes by what is known. */
static void look(void) {
    if (begin_looking(0)) {
        look_at_new_ones();
        end_looking();
    }
}

/* The C library leaves the loader's lock in a child as it was, and nobody there would release it: a fork waits until no
 * thread holds it for us. */
static __thread bool waited;

static void before_fork(void) {
    enum { NAPS = 1000 };
    int cancellation;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation); /* a nap would be a cancellation point */
    waited = begin_looking(NAPS);
    pthread_setcancelstate(cancellation, NULL);
}

static void after_fork_in_parent(void) {
    if (waited) {
        end_looking();
    }
}

void callers_begin(void) {
    (void)pthread_atfork(before_fork, after_fork_in_parent, end_looking);
}

bool callers_refuse(const void *caller) {
    return is_refused_address(caller);
}

bool callers_have_cuda(void) {
    look();
    return atomic_load(&cuda_seen);
}

struct search {
    const char *prefix;
    char *path;
    size_t bytes;
};

static int compare(struct dl_phdr_info *object, size_t bytes, void *argument) {
    (void)bytes;
    const struct search *search = argument;
    const size_t path_bytes = strlen(object->dlpi_name) + 1;
    if (!begins(base_name(object->dlpi_name), search->prefix) || path_bytes > search->bytes) {
        return 0;
    }
    memcpy(search->path, object->dlpi_name, path_bytes);
    return 1;
}

bool callers_find_library(const char *prefix, char *path, size_t bytes) {
    struct search search = {prefix, path, bytes};
    return dl_iterate_phdr(compare, &search) != 0;
}
