#include "epoch.h"

#define SAMPLE_BYTES ((int64_t)sizeof(float) * FIELDS)
#define BESIDES_BYTES ((int64_t)4 << 20) /* of the budget, for gradients and the like */

int epoch_count(const struct epoch *epoch, int batch) {
    int64_t left = epoch->samples - (int64_t)batch * epoch->batch;
    return left < epoch->batch ? (int)left : epoch->batch;
}

void epoch_read(const struct epoch *epoch, int batch, float *samples) {
    file_read(epoch->path, (int64_t)batch * epoch->batch * SAMPLE_BYTES, samples,
              (size_t)(epoch_count(epoch, batch) * SAMPLE_BYTES));
}

void epoch_answer(const struct epoch *epoch, const double *losses, const float *weights) {
    double loss = 0;
    for (int i = 0; i < GROUPS; i++)
        loss += losses[i];
    answer_number("samples", (double)epoch->samples);
    answer_number("loss", loss / (double)epoch->samples);
    answer_bytes("weights", weights, FIELDS * sizeof *weights);
}

int main(int argc, char **argv) {
    int64_t budget = 32 << 20;
    const struct option options[] = {{"--budget", &budget, 2 * BESIDES_BYTES}};
    struct epoch epoch = {0};
    options_read(argc, argv, "epoch [--budget BYTES] SAMPLES", options, 1, &epoch.path, 1);
    int64_t bytes = file_bytes(epoch.path);
    if (bytes <= budget || bytes % SAMPLE_BYTES != 0 || budget > INT64_C(1) << 40)
        fail("%s: not samples of %d numbers, or not more than the budget", epoch.path, FIELDS);
    epoch.samples = bytes / SAMPLE_BYTES;
    epoch.batch = (int)((budget - BESIDES_BYTES) / 2 / SAMPLE_BYTES);
    epoch.batches = (int)((epoch.samples + epoch.batch - 1) / epoch.batch);
    version_start();
    epoch_run(&epoch);
    report_print("epoch");
    return 0;
}
