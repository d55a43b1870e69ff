#include "kmeans.h"
#include "with_ferry.h"

#include "kmeans.cuh"

/* New centres are made on a stream of their own, while the host looks at the tallies. */
void kmeans_run(const struct kmeans *kmeans) {
    ferry_kernel *assign = OPEN(kmeans_assign), *centre = OPEN(kmeans_centre), *paint = OPEN(kmeans_paint);
    ferry_stream *centring;
    int iteration = 0;
    lap_start();
    CHECK(ferry_stream_create(0, &centring));
    ferry_array points = array_on_device(FERRY_FLOAT32, (int64_t)kmeans->points * kmeans->features);
    ferry_array centres = array_on_device(FERRY_FLOAT32, (int64_t)CLUSTERS * kmeans->features);
    ferry_array labels = array_of_kernels(FERRY_INT32, kmeans->points);
    ferry_array tallies = array_at_home(FERRY_FLOAT64, 2 * kmeans->blocks);
    ferry_array shades = array_at_home(FERRY_UINT8, kmeans->points);
    lap("allocate");
    kmeans_fill(kmeans, points.view.data);
    kmeans_start(kmeans, centres.view.data);
    lap("input");
    do {
        iteration++;
        LAUNCH(assign, kmeans->blocks, NULL, IN(points), IN(centres), INOUT(labels), OUT(tallies),
               VALUE(kmeans->points), VALUE(kmeans->features), VALUE(iteration));
        LAUNCH(centre, kmeans->features, centring, IN(points), IN(labels), INOUT(centres), VALUE(kmeans->points));
        CHECK(ferry_host_acquire(&tallies.view, FERRY_READ));
    } while (kmeans_moved(kmeans, tallies.view.data) > 0 && iteration < kmeans->iterations);
    LAUNCH(paint, kmeans->blocks, NULL, IN(labels), OUT(shades), VALUE(kmeans->points));
    CHECK(ferry_host_acquire(&shades.view, FERRY_READ));
    lap("work");
    kmeans_answer(kmeans, iteration, tallies.view.data, shades.view.data);
    ferry_array_release(&points);
    ferry_array_release(&centres);
    ferry_array_release(&labels);
    ferry_array_release(&tallies);
    ferry_array_release(&shades);
    ferry_stream_destroy(centring);
}
