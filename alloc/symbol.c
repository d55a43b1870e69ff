/*
 * The program's files are read here, and not by a library for it, because little is wanted. dladdr knows exported
 * functions only. libbacktrace and libdw would add the line, but what the first reads for that, of every loaded file,
 * stays in memory for ever, and the second may ask a server for debugging information: neither is what a program
 * expects of its allocator. A debugger turns the answer into a line: docs/strict.md.
 */
#include "symbol.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf_file.h"

/* The loaded file around an address. */
struct module {
    uintptr_t address, bias; /* in memory; what is to be taken off for the address as linked */
    int file;                /* -1: it cannot be read, or is another one by now */
    char name[256];          /* without its folder */
};

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* A regular file; never waits for what else may be found in its place. */
static int open_file(const char *path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (file >= 0 && (fstat(file, &status) != 0 || !S_ISREG(status.st_mode))) {
        close(file);
        return -1;
    }
    return file;
}

static bool covers(const struct dl_phdr_info *loaded, uintptr_t address) {
    for (size_t i = 0; i < loaded->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &loaded->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && address - loaded->dlpi_addr - segment->p_vaddr < segment->p_memsz) {
            return true;
        }
    }
    return false;
}

/* The program itself has no name there; under this one it is found even when it has been deleted. */
#define PROGRAM "/proc/self/exe"

static void name_module(struct module *module, const char *path) {
    char target[4096];
    if (*path == '\0') {
        const ssize_t length = readlink(PROGRAM, target, sizeof target - 1);
        target[length < 0 ? 0 : length] = '\0';
        path = target;
    }
    snprintf(module->name, sizeof module->name, "%.255s", *path == '\0' ? "program" : base_name(path));
}

/* Called with the loader's lock held, which keeps the file's headers in memory. */
static int look_at(struct dl_phdr_info *loaded, size_t bytes, void *context) {
    struct module *module = context;
    (void)bytes;
    if (!covers(loaded, module->address)) {
        return 0;
    }
    module->bias = loaded->dlpi_addr;
    name_module(module, loaded->dlpi_name);
    module->file = open_file(*loaded->dlpi_name == '\0' ? PROGRAM : loaded->dlpi_name);
    if (module->file >= 0 && !elf_is_loaded(module->file, loaded)) {
        close(module->file);
        module->file = -1;
    }
    return 1;
}

/* The C++ runtime's demangler where the process has one; the answer is the caller's to free. NULL: as it is. */
static char *demangle(const char *name) {
    typedef char *demangler(const char *mangled, char *buffer, size_t *length, int *status);
    if (strncmp(name, "_Z", 2) != 0) {
        return NULL;
    }
    demangler *function;
    *(void **)&function = dlsym(RTLD_DEFAULT, "__cxa_demangle");
    return function == NULL ? NULL : function(name, NULL, NULL, NULL);
}

/* Names of templates can be endless: the file must still be legible. */
#define LONGEST_NAME 160

static void write_function(const struct elf_function *function, uintptr_t linked, const struct module *module,
                           char *text, size_t bytes) {
    char *demangled = demangle(function->name);
    const char *name = demangled == NULL ? function->name : demangled;
    snprintf(text, bytes, "%.*s%s+0x%zx in %s", LONGEST_NAME, name, strlen(name) > LONGEST_NAME ? "…" : "",
             (size_t)(linked - function->start), module->name);
    free(demangled);
}

bool symbol_describe(uintptr_t address, char *text, size_t bytes) {
    struct module module = {.address = address - 1, .file = -1};
    const int saved_errno = errno;
    const bool found = dl_iterate_phdr(look_at, &module) != 0;
    if (found) {
        const uintptr_t linked = module.address - module.bias;
        struct elf_function function;
        if (module.file >= 0 && elf_function_around(module.file, linked, &function)) {
            write_function(&function, linked, &module, text, bytes);
        } else {
            snprintf(text, bytes, "%s+0x%zx", module.name, (size_t)linked);
        }
    }
    if (module.file >= 0) {
        close(module.file);
    }
    errno = saved_errno;
    return found;
}
