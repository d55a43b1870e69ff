/* What a program allocated and freed, in order. The format: make.py. */
#ifndef FERRY_BENCHMARKS_TRACE_H
#define FERRY_BENCHMARKS_TRACE_H

#include <stdbool.h>
#include <stddef.h>

struct trace_event {
    size_t block; /* its number, in the order of allocation */
    size_t bytes; /* 0: it is freed */
};

struct trace {
    struct trace_event *events;
    size_t count, blocks;
    size_t *sizes;     /* of every block */
    size_t peak_bytes; /* the most that was live at one time, as asked for */
};

/* False, with nothing to free, where the text is no trace or there is no memory. Blocks that the text leaves live are
 * freed at its end. */
bool trace_read(const char *text, size_t bytes, struct trace *out);
/* The same of a file, with errno set: EINVAL where it is no trace. */
bool trace_load(const char *path, struct trace *out);
void trace_free(struct trace *trace);

/* The traces that the program carries. */
struct trace_text {
    const char *name, *begin, *end;
};
#define TRACES 2
const struct trace_text *trace_text(size_t which);

#endif
