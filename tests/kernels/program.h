/* Many kernels to a program for NVRTC, whose start costs. */
#ifndef FERRY_TESTS_KERNELS_PROGRAM_H
#define FERRY_TESTS_KERNELS_PROGRAM_H

#include "kernels/nvrtc_program.h"
#include "kernels/text.h"
#include "tests/test.h"

#define PROGRAM_KERNELS 64

static int program_architecture = 90;
static int program_count; /* kernels so far, of all programs */

/* A program that is growing; starts with the frame alone. */
typedef struct program {
    void (*frame)(text_buffer *);
    text_buffer source;
    int kernels;
} program;

static inline void program_compile(program *p) {
    nvrtc_request request = {.source = p->source.data, .name = "many", .architecture = program_architecture};
    code_image image = {NULL, 0};
    if (p->kernels > 0 && CHECK_OK(nvrtc_compile(&request, &image)))
        CHECK_THAT(image.bytes > 4 && memcmp(image.data, "\177ELF", 4) == 0, "no machine code for sm_%d",
                   program_architecture);
    free(image.data);
    free(p->source.data);
    *p = (program){.frame = p->frame};
}

/* Makes room for one more kernel, and gives its name. */
static inline text_buffer *program_next(program *p, char *name, size_t bytes) {
    if (p->kernels == PROGRAM_KERNELS)
        program_compile(p);
    if (p->kernels == 0)
        p->frame(&p->source);
    snprintf(name, bytes, "kernel%d", program_count++);
    p->kernels++;
    return &p->source;
}

/* The architecture that the test's first argument names; skipped where there is no NVRTC. */
static inline void program_start(int argc, char **argv) {
    char description[128];
    if (argc > 1)
        program_architecture = atoi(argv[1]);
    nvrtc_request probe = {.source = "", .name = "", .architecture = program_architecture};
    if (nvrtc_describe(&probe, description, sizeof description) != FERRY_OK)
        SKIP("%s", ferry_error_detail());
    fprintf(stderr, "%s\n", description);
}

#endif
