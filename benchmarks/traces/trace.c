#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A number that ends its line; SIZE_MAX where there is none. */
static size_t read_number(const char *at, const char *end) {
    size_t value = 0;
    if (at == end)
        return SIZE_MAX;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9' || value > SIZE_MAX / 20)
            return SIZE_MAX;
        value = value * 10 + (size_t)(*at - '0');
    }
    return value;
}

static bool add_line(struct trace *trace, const char *line, const char *end, bool *live) {
    if (line == end || *line == '#')
        return true;
    size_t number = read_number(line + 1, end);
    if (number == 0 || number == SIZE_MAX)
        return false;
    if (*line == '+') {
        live[trace->blocks] = true;
        trace->sizes[trace->blocks] = number;
        trace->events[trace->count++] = (struct trace_event){trace->blocks++, number};
        return true;
    }
    if (*line != '-' || number > trace->blocks || !live[trace->blocks - number])
        return false;
    live[trace->blocks - number] = false;
    trace->events[trace->count++] = (struct trace_event){.block = trace->blocks - number};
    return true;
}

static bool add_lines(struct trace *trace, const char *at, const char *end, bool *live) {
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end;
        if (!add_line(trace, at, stop, live))
            return false;
        at = stop + 1;
    }
    for (size_t i = 0; i < trace->blocks; i++)
        if (live[i])
            trace->events[trace->count++] = (struct trace_event){.block = i};
    return trace->blocks > 0;
}

static void find_peak(struct trace *trace) {
    size_t live = 0;
    for (size_t i = 0; i < trace->count; i++) {
        const struct trace_event *event = &trace->events[i];
        live = event->bytes ? live + event->bytes : live - trace->sizes[event->block];
        trace->peak_bytes = live > trace->peak_bytes ? live : trace->peak_bytes;
    }
}

/* A line has two characters and its end at least, and what is not freed is freed once more. */
bool trace_read(const char *text, size_t bytes, struct trace *out) {
    size_t lines = bytes / 3 + 1;
    struct trace trace = {.events = calloc(2 * lines, sizeof *trace.events),
                          .sizes = calloc(lines, sizeof *trace.sizes)};
    bool *live = calloc(lines, sizeof *live);
    bool whole = trace.events && trace.sizes && live && add_lines(&trace, text, text + bytes, live);
    free(live);
    if (!whole) {
        trace_free(&trace);
        return false;
    }
    find_peak(&trace);
    *out = trace;
    return true;
}

static bool load_open(int file, struct trace *out) {
    struct stat about;
    if (fstat(file, &about))
        return false;
    size_t bytes = (size_t)about.st_size;
    void *text = bytes ? mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    if (bytes && text == MAP_FAILED)
        return false;
    bool whole = bytes && trace_read(text, bytes, out);
    if (bytes)
        munmap(text, bytes);
    if (!whole)
        errno = EINVAL;
    return whole;
}

bool trace_load(const char *path, struct trace *out) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    bool whole = load_open(file, out);
    int error = errno;
    close(file);
    errno = error;
    return whole;
}

void trace_free(struct trace *trace) {
    free(trace->events);
    free(trace->sizes);
    *trace = (struct trace){0};
}
