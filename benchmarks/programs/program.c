#include "program.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pthread.h>

#define THREADS_MAX 8 /* more hardly read or write memory any faster */

void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

static int64_t number(const char *name, const char *text) {
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    const char *unit = end != text && *end != '\0' ? strchr("KMG", *end) : NULL;
    int shift = unit == NULL ? 0 : *unit == 'K' ? 10 : *unit == 'M' ? 20 : 30;
    if (end == text || errno != 0 || end[unit != NULL] != '\0' || value < 0 || value > INT64_MAX >> shift)
        fail("%s: %s is no number", name, text);
    return value << shift;
}

static const struct option *option_find(const struct option *options, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++) {
        if (strcmp(options[i].name, name) == 0)
            return &options[i];
    }
    return NULL;
}

void options_read(int argc, char **argv, const char *usage, const struct option *options, size_t n, const char **files,
                  size_t nfiles) {
    size_t found = 0;
    for (int i = 1; i < argc; i++) {
        const struct option *option = option_find(options, n, argv[i]);
        if (option != NULL && i + 1 < argc) {
            *option->value = number(argv[i], argv[i + 1]);
            if (*option->value < option->least)
                fail("%s: at least %lld", argv[i], (long long)option->least);
            i++;
        } else if (option == NULL && argv[i][0] != '-' && found < nfiles) {
            files[found++] = argv[i];
        } else {
            fail("usage: %s", usage);
        }
    }
    if (found < nfiles)
        fail("usage: %s", usage);
}

struct piece {
    void (*work)(void *context, int64_t first, int64_t last);
    void *context;
    int64_t first, last;
};

static void *piece_run(void *argument) {
    const struct piece *piece = argument;
    piece->work(piece->context, piece->first, piece->last);
    return NULL;
}

void in_parallel(int64_t n, void (*work)(void *context, int64_t first, int64_t last), void *context) {
    struct piece pieces[THREADS_MAX];
    pthread_t threads[THREADS_MAX];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int count = cores < 1 ? 1 : cores < THREADS_MAX ? (int)cores : THREADS_MAX;
    for (int i = 0; i < count; i++) {
        pieces[i] = (struct piece){work, context, n * i / count, n * (i + 1) / count};
        if (i + 1 < count && pthread_create(&threads[i], NULL, piece_run, &pieces[i]) != 0)
            fail("no thread can be started");
    }
    piece_run(&pieces[count - 1]);
    for (int i = 0; i + 1 < count; i++)
        pthread_join(threads[i], NULL);
}

double random_at(uint64_t place) {
    uint64_t z = (place + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}
