#include "callers.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Objects are only added: where one was unloaded and another lies now, that one is taken for it, which costs it its
 * managed memory and nothing else. */
#define RANGES_MOST 64
#define OBJECTS_MOST 4096

struct range {
    uintptr_t first, end;
};

static struct range refused[RANGES_MOST];
static _Atomic unsigned nrefused;
static uintptr_t seen[OBJECTS_MOST]; /* by address and name, mixed; `looking` */
static unsigned nseen;
static atomic_flag looking = ATOMIC_FLAG_INIT;
static _Atomic unsigned long long known_adds; /* of the loader's count of objects loaded */
static _Atomic bool cuda_seen;

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

static bool begins(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static bool is_cuda(const char *name) {
    return begins(name, "libcuda.so") || begins(name, "libcudart.so");
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

static void refuse(uintptr_t first, uintptr_t end) {
    const unsigned n = atomic_load_explicit(&nrefused, memory_order_relaxed);
    if (n < RANGES_MOST) {
        refused[n] = (struct range){first, end};
        atomic_store_explicit(&nrefused, n + 1, memory_order_release);
    }
}

static void refuse_object(const struct dl_phdr_info *object) {
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0) {
            const uintptr_t first = object->dlpi_addr + segment->p_vaddr;
            refuse(first, first + segment->p_memsz);
        }
    }
}

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

/* Whether the object was there the last time. */
static bool is_seen(const struct dl_phdr_info *object) {
    const uintptr_t key = object->dlpi_addr ^ (uintptr_t)object->dlpi_phdr;
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
    if (is_refused(name)) {
        refuse_object(object);
    }
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

/* Looks at what has been loaded since the last time. A thread that finds another one looking goes by what is known. */
static void look(void) {
    unsigned long long adds = 0;
    dl_iterate_phdr(count_adds, &adds);
    if (adds == atomic_load(&known_adds) || atomic_flag_test_and_set(&looking)) {
        return;
    }
    if (atomic_load(&nrefused) == 0) {
        refuse((uintptr_t)__ehdr_start, (uintptr_t)etext);
    }
    dl_iterate_phdr(look_at, NULL);
    atomic_store(&known_adds, adds);
    atomic_flag_clear(&looking);
}

bool callers_refuse(const void *caller) {
    look();
    const uintptr_t address = (uintptr_t)caller;
    const unsigned n = atomic_load_explicit(&nrefused, memory_order_acquire);
    for (unsigned i = 0; i < n; i++) {
        if (address >= refused[i].first && address < refused[i].end) {
            return true;
        }
    }
    return false;
}

bool callers_have_cuda(void) {
    look();
    return atomic_load(&cuda_seen);
}
