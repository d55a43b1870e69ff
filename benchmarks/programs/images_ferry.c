#include "images.h"
#include "with_ferry.h"

#include "images.cuh"

/* Two of everything: the host writes the edges of an image, and reads the next but one, while the next is on its way.
 */
void images_run(const struct images *images) {
    ferry_kernel *rows = OPEN(images_rows), *columns = OPEN(images_columns), *find = OPEN(images_edges);
    ferry_array values[2], blurred[2], both[2], edges[2];
    ferry_stream *streams[2];
    lap_start();
    for (int i = 0; i < 2; i++) {
        values[i] = array_touched(FERRY_UINT8, (int64_t)images->most_bytes);
        blurred[i] = array_of_kernels(FERRY_UINT16, (int64_t)images->most_bytes);
        both[i] = array_of_kernels(FERRY_UINT8, (int64_t)images->most_bytes);
        edges[i] = array_at_home(FERRY_UINT8, (int64_t)images->most_bytes);
        CHECK(ferry_stream_create(0, &streams[i]));
    }
    lap("allocate");
    for (int i = 0; i <= images->count; i++) {
        int slot = i % 2;
        if (i < images->count) {
            const struct image *image = &images->list[i];
            ferry_array from = array_first(&values[slot], (int64_t)image->bytes);
            ferry_array to = array_first(&edges[slot], (int64_t)image->bytes);
            CHECK(ferry_host_acquire(&from.view, FERRY_WRITE));
            image_read(images, i, from.view.data);
            LAUNCH(rows, image->height, streams[slot], IN(from), OUT(blurred[slot]), VALUE(image->row),
                   VALUE(image->channels));
            LAUNCH(columns, image->height, streams[slot], IN(blurred[slot]), OUT(both[slot]), VALUE(image->row));
            LAUNCH(find, image->height, streams[slot], IN(both[slot]), OUT(to), VALUE(image->row),
                   VALUE(image->channels));
        }
        if (i > 0) {
            CHECK(ferry_host_acquire(&edges[1 - slot].view, FERRY_READ));
            image_write(images, i - 1, edges[1 - slot].view.data);
        }
    }
    lap("work");
    for (int i = 0; i < 2; i++) {
        ferry_array_release(&values[i]);
        ferry_array_release(&blurred[i]);
        ferry_array_release(&both[i]);
        ferry_array_release(&edges[i]);
        ferry_stream_destroy(streams[i]);
    }
}
