#include "heat.h"
#include "with_ferry.h"

#include "heat.cuh"

/* Each of two pictures is painted on a stream of its own, so that steps go on meanwhile, and the host waits for the one
 * that it writes while the other is made. */
void heat_run(const struct heat *heat) {
    ferry_kernel *take_step = OPEN(heat_step), *paint = OPEN(heat_paint), *sum = OPEN(heat_sum);
    ferry_array grid[2], picture[2], row_sums;
    ferry_stream *painter[2];
    int64_t area = (int64_t)heat->area;
    int number = 0;
    lap_start();
    for (int i = 0; i < 2; i++) {
        grid[i] = i == 0 ? array_on_device(FERRY_FLOAT32, area) : array_of_kernels(FERRY_FLOAT32, area);
        CHECK(ferry_stream_create(0, &painter[i]));
        picture[i] = array_at_home(FERRY_UINT8, area);
    }
    row_sums = array_at_home(FERRY_FLOAT64, heat->size);
    lap("allocate");
    heat_fill(heat, grid[0].view.data);
    lap("input");
    for (int step = 1; step <= heat->steps; step++) {
        LAUNCH(take_step, heat->size, NULL, IN(grid[(step - 1) % 2]), OUT(grid[step % 2]), VALUE(heat->size));
        if (step % heat->every != 0)
            continue;
        int slot = ++number % 2;
        LAUNCH(paint, heat->size, painter[slot], IN(grid[step % 2]), OUT(picture[slot]), VALUE(heat->size));
        if (number > 1) {
            CHECK(ferry_host_acquire(&picture[1 - slot].view, FERRY_READ));
            heat_save(heat, number - 1, picture[1 - slot].view.data);
        }
    }
    CHECK(ferry_host_acquire(&picture[number % 2].view, FERRY_READ));
    heat_save(heat, number, picture[number % 2].view.data);
    LAUNCH(sum, heat->size, NULL, IN(grid[heat->steps % 2]), OUT(row_sums), VALUE(heat->size));
    CHECK(ferry_host_acquire(&row_sums.view, FERRY_READ));
    heat_answer(heat, row_sums.view.data);
    lap("work");
    for (int i = 0; i < 2; i++) {
        ferry_array_release(&grid[i]);
        ferry_array_release(&picture[i]);
        ferry_stream_destroy(painter[i]);
    }
    ferry_array_release(&row_sums);
}
