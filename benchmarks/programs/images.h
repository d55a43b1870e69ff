/* The edges in every picture of a folder: blurred, then Sobel's operator, each channel by itself. */
#ifndef PROGRAMS_IMAGES_H
#define PROGRAMS_IMAGES_H

#include "program.h"

#ifdef __cplusplus
extern "C" {
#endif

struct image {
    int height, channels;
    int row;      /* values in one: width times channels, a multiple of 4 */
    size_t bytes; /* height times row */
    int64_t offset;
    const char *name;
};

struct images {
    const char *from, *to; /* folders */
    int count;
    const struct image *list;
    size_t most_bytes; /* of the largest image */
};

void image_read(const struct images *images, int index, uint8_t *values);
void image_write(const struct images *images, int index, const uint8_t *values);

/* Of the version. */
void images_run(const struct images *images);

#ifdef __cplusplus
}
#endif
#endif
