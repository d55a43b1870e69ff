#include "images.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *path_of(char path[4096], const char *folder, const char *name) {
    if (snprintf(path, 4096, "%s/%s", folder, name) >= 4096)
        fail("%s/%s: too long a name", folder, name);
    return path;
}

void image_read(const struct images *images, int index, uint8_t *values) {
    const struct image *image = &images->list[index];
    char path[4096];
    file_read(path_of(path, images->from, image->name), image->offset, values, image->bytes);
}

void image_write(const struct images *images, int index, const uint8_t *values) {
    const struct image *image = &images->list[index];
    char path[4096];
    picture_write(path_of(path, images->to, image->name), image->row / image->channels, image->height, image->channels,
                  values);
}

static struct image image_open(const char *folder, const char *name) {
    char path[4096];
    struct picture found = picture_open(path_of(path, folder, name));
    int64_t row = (int64_t)found.width * found.channels;
    if (found.bytes_per_value != 1 || row % 4 != 0 || found.height < 2 || row > 1 << 20)
        fail("%s: images have 8 bits a value, two rows or more, and a multiple of 4 values in each", path);
    return (struct image){.height = found.height,
                          .channels = found.channels,
                          .row = (int)row,
                          .bytes = (size_t)row * (size_t)found.height,
                          .offset = found.offset,
                          .name = name};
}

int main(int argc, char **argv) {
    const char *folders[2];
    options_read(argc, argv, "images FROM TO", NULL, 0, folders, 2);
    struct images images = {.from = folders[0], .to = folders[1]};
    char **names[] = {folder_list(images.from, ".pgm"), folder_list(images.from, ".ppm")};
    struct image *list = NULL;
    for (int i = 0; i < 2; i++) {
        for (char **name = names[i]; *name != NULL; name++, images.count++) {
            list = realloc(list, (size_t)(images.count + 1) * sizeof *list);
            if (list == NULL)
                fail("no memory for the list of images");
            list[images.count] = image_open(images.from, *name);
            images.most_bytes =
                list[images.count].bytes > images.most_bytes ? list[images.count].bytes : images.most_bytes;
        }
    }
    if (images.count == 0)
        fail("%s holds no .pgm or .ppm", images.from);
    images.list = list;
    version_start();
    images_run(&images);
    answer_number("images", images.count);
    report_print("images");
    for (int i = 0; i < 2; i++) {
        for (char **name = names[i]; *name != NULL; name++)
            free(*name);
        free(names[i]);
    }
    free(list);
    return 0;
}
