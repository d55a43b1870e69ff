/* Generated CUDA kernels, compiled for the host by a C++ compiler: opening them, and the symbols of the shim. */
#ifndef FERRY_TESTS_KERNELS_EMULATE_H
#define FERRY_TESTS_KERNELS_EMULATE_H

#include <dlfcn.h>

#include "ferry/dtype.h"
#include "kernels/text.h"
#include "tests/scratch.h"

#define EMULATE_SHARED_TEXT "#define FERRY_FP_DIVIDE" /* what is before it is the shim's part */

/* The symbol "<prefix><i>", or "<prefix>" for i < 0. */
static inline void *emulate_symbol(void *library, const char *prefix, int i) {
    char name[32];
    snprintf(name, sizeof name, i < 0 ? "%s" : "%s%d", prefix, i);
    void *found = dlsym(library, name);
    CHECK_THAT(found != NULL, "no symbol %s", name);
    REQUIRE(found != NULL);
    return found;
}

static inline void emulate_set_up(void *library) {
    *(float (**)(uint16_t))emulate_symbol(library, "emulated_float_of_half", -1) = ferry_float16_to_float32;
    *(uint16_t(**)(float))emulate_symbol(library, "emulated_half_of_float", -1) = ferry_float32_to_float16;
    *(uint16_t(**)(double))emulate_symbol(library, "emulated_half_of_double", -1) = ferry_float64_to_float16;
}

static inline void emulate_write_frame(FILE *file, const char *shim, void (*frame)(text_buffer *)) {
    text_buffer text = {0};
    frame(&text);
    const char *shared = strstr(text.data, EMULATE_SHARED_TEXT);
    REQUIRE(shared != NULL);
    fprintf(file, "#include \"%s\"\n%s\n", shim, shared);
    free(text.data);
}

/* Compiles the frame's text behind the shim, then what `write_kernels` writes, and sets the shim up. */
static inline void *emulate_open(const char *compiler, const char *shim, void (*frame)(text_buffer *),
                                 void (*write_kernels)(FILE *)) {
    char folder[SCRATCH_BYTES], source[300], library[300], command[1600];
    scratch_make(folder);
    snprintf(source, sizeof source, "%s/kernels.cpp", folder);
    snprintf(library, sizeof library, "%s/kernels.so", folder);
    FILE *file = fopen(source, "w");
    REQUIRE(file != NULL);
    emulate_write_frame(file, shim, frame);
    write_kernels(file);
    fclose(file);
    snprintf(command, sizeof command, "%s -std=c++17 -w -O0 -ffp-contract=off -fPIC -shared %s -o %s", compiler, source,
             library);
    int status = system(command);
    CHECK_INT(status, 0);
    void *handle = status == 0 ? dlopen(library, RTLD_NOW | RTLD_LOCAL) : NULL;
    scratch_remove(folder);
    CHECK_THAT(handle != NULL, "%s", dlerror());
    REQUIRE(handle != NULL);
    emulate_set_up(handle);
    return handle;
}

#endif
