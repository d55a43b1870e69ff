/*
 * sort_file INPUT OUTPUT: reads a file of records into one block, sorts it by their keys and writes it.
 * sort_file make FILE COUNT: makes an input, the same each time.
 *
 * It knows nothing of ferry, nor of CUDA.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The place in the input tells equal keys apart: then there is one right order. */
struct record {
    uint64_t key, place;
};

static int fail(const char *path) {
    fprintf(stderr, "sort_file: ");
    perror(path);
    return 1;
}

static bool write_all(FILE *file, const struct record *records, size_t count) {
    return fwrite(records, sizeof *records, count, file) == count;
}

/* Numerical Recipes' 64-bit congruential generator; the upper half is the better one. */
static bool make_records(FILE *file, size_t count) {
    uint64_t state = 1;
    for (size_t i = 0; i < count; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const struct record made = {.key = state >> 32, .place = i};
        if (!write_all(file, &made, 1)) {
            return false;
        }
    }
    return true;
}

static int make(const char *path, size_t count) {
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        return fail(path);
    }
    const bool made = make_records(file, count);
    return fclose(file) == 0 && made ? 0 : fail(path);
}

/* The file's records and their number; NULL with errno where it cannot be read. To be freed. */
static struct record *read_records(FILE *file, size_t *count) {
    if (fseek(file, 0, SEEK_END) != 0) {
        return NULL;
    }
    const long bytes = ftell(file);
    rewind(file);
    *count = bytes < 0 ? 0 : (size_t)bytes / sizeof(struct record);
    struct record *records = malloc(*count * sizeof *records + 1);
    if (records != NULL && fread(records, sizeof *records, *count, file) != *count) {
        free(records);
        return NULL;
    }
    return records;
}

static struct record *load(const char *path, size_t *count) {
    FILE *file = fopen(path, "rb");
    struct record *records = file == NULL ? NULL : read_records(file, count);
    if (file != NULL) {
        fclose(file);
    }
    return records;
}

static int compare(const void *one, const void *two) {
    const struct record *a = one, *b = two;
    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    return (a->place > b->place) - (a->place < b->place);
}

static int save(const char *path, const struct record *records, size_t count) {
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        return fail(path);
    }
    const bool written = write_all(file, records, count);
    return fclose(file) == 0 && written ? 0 : fail(path);
}

static int sort(const char *input, const char *output) {
    size_t count = 0;
    struct record *records = load(input, &count);
    if (records == NULL) {
        return fail(input);
    }
    qsort(records, count, sizeof *records, compare);
    const int status = save(output, records, count);
    if (status == 0) {
        printf("%zu records\n", count);
    }
    free(records);
    return status;
}

int main(int argc, char **argv) {
    if (argc == 4 && strcmp(argv[1], "make") == 0) {
        return make(argv[2], strtoull(argv[3], NULL, 10));
    }
    if (argc != 3) {
        fprintf(stderr, "usage: sort_file INPUT OUTPUT\n       sort_file make FILE COUNT\n");
        return 2;
    }
    return sort(argv[1], argv[2]);
}
