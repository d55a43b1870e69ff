#include <string.h>

#include "epoch.h"
#include "with_ferry.h"

#include "epoch.cuh"

/* Two batches: the host reads one while the other is used, each on a stream of its own. */
void epoch_run(const struct epoch *epoch) {
    ferry_kernel *gradient = OPEN(epoch_gradient), *update = OPEN(epoch_update);
    ferry_array samples[2], weights, gradients, losses;
    ferry_stream *streams[2];
    lap_start();
    for (int i = 0; i < 2; i++) {
        samples[i] = array_touched(FERRY_FLOAT32, (int64_t)epoch->batch * FIELDS);
        CHECK(ferry_stream_create(0, &streams[i]));
    }
    weights = array_on_device(FERRY_FLOAT32, FIELDS);
    gradients = array_of_kernels(FERRY_FLOAT32, GROUPS * FIELDS);
    losses = array_of_kernels(FERRY_FLOAT64, GROUPS);
    memset(weights.view.data, 0, FIELDS * sizeof(float));
    lap("allocate");
    for (int batch = 0; batch < epoch->batches; batch++) {
        int slot = batch % 2, count = epoch_count(epoch, batch);
        ferry_array some = array_first(&samples[slot], (int64_t)count * FIELDS);
        CHECK(ferry_host_acquire(&some.view, FERRY_WRITE));
        epoch_read(epoch, batch, some.view.data);
        LAUNCH(gradient, GROUPS, streams[slot], IN(some), IN(weights), OUT(gradients), INOUT(losses), VALUE(count),
               VALUE(batch));
        LAUNCH(update, FIELDS / THREADS, streams[slot], IN(gradients), INOUT(weights), VALUE(count), VALUE(batch));
    }
    CHECK(ferry_host_acquire(&weights.view, FERRY_READ));
    CHECK(ferry_host_acquire(&losses.view, FERRY_READ));
    lap("work");
    epoch_answer(epoch, losses.view.data, weights.view.data);
    for (int i = 0; i < 2; i++) {
        ferry_array_release(&samples[i]);
        ferry_stream_destroy(streams[i]);
    }
    ferry_array_release(&weights);
    ferry_array_release(&gradients);
    ferry_array_release(&losses);
}
