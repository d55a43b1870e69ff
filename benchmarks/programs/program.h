/* What both versions of a program share: times, answers, files, and work of the host on several threads. */
#ifndef PROGRAMS_PROGRAM_H
#define PROGRAMS_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of the version that is linked: "explicit" or "ferry", and where its kernels run: "cuda", "sim" or "host". */
const char *version_name(void);
const char *version_backend(void);
/* Starts the runtime, which is not timed. */
void version_start(void);
/* Adds what the runtime has counted to the report. */
void version_end(void);

/* Prints a message to standard error, with a newline, and ends the program with status 1. */
void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Times: laps follow each other from lap_start on, and each is reported under its name, in ms. */
void lap_start(void);
void lap(const char *name);

/* Adds a figure or a text to the answer. The answers of two versions have to be the same, to the last digit. */
void answer_number(const char *name, double value);
void answer_bytes(const char *name, const void *bytes, size_t n); /* as a checksum */
/* Adds a count that is no part of the answer. */
void report_count(const char *name, uint64_t count);
/* One JSON object on standard output, at the end. */
void report_print(const char *program);

/* Options after the names of files: --name value. */
struct option {
    const char *name; /* "--size" */
    int64_t *value;   /* bytes for sizes: a suffix K, M or G multiplies */
    int64_t least;
};
/* Reads the options, all of them numbers, and up to `nfiles` other arguments; ends the program where that fails. */
void options_read(int argc, char **argv, const char *usage, const struct option *options, size_t n, const char **files,
                  size_t nfiles);

/* Calls work(context, first, last) on several threads, for pieces that make up 0 … n. */
void in_parallel(int64_t n, void (*work)(void *context, int64_t first, int64_t last), void *context);

/* The same number from the same place, evenly between 0 and 1 (splitmix64). */
double random_at(uint64_t place);

/* Whole files, or parts, by several threads. `file_write` makes the file anew: `head`, then the bytes. */
int64_t file_bytes(const char *path);
void file_read(const char *path, int64_t offset, void *to, size_t bytes);
void file_write(const char *path, const char *head, const void *from, size_t bytes);

/* PGM (P5, 8 or 16 bits) and PPM (P6, 8 bits). */
struct picture {
    int width, height, channels, bytes_per_value;
    int64_t offset; /* of the values in the file */
};
struct picture picture_open(const char *path);
void picture_write(const char *path, int width, int height, int channels, const uint8_t *values);

/* The names in a folder that end so, sorted: a NULL-terminated list, the caller's to keep. */
char **folder_list(const char *folder, const char *ending);

#ifdef __cplusplus
}
#endif
#endif
