/* A backend under test, and kernels that every backend can run: a host function for the simulator, PTX text for CUDA.
 */
#ifndef FERRY_TESTS_BACKEND_MACHINE_H
#define FERRY_TESTS_BACKEND_MACHINE_H

#include "alloc/backend.h"
#include "tests/test.h"

extern const backend *machine;

/* Opens the backend of that name into `machine`: sim, cuda or faulty; skips when there is none. */
void machine_open(const char *name);
bool machine_concurrent(void); /* concurrent managed access on every device */

uint32_t *machine_reserve(size_t bytes, bool host_homed);
backend_stream *machine_stream(int device);
backend_event *machine_event(int device);

/* to[i] = from[i] + value, for i < n; `from` may be `to`. Declares what it touches. */
void machine_add(uint32_t *to, uint32_t *from, uint32_t value, size_t n, backend_stream *stream);
ferry_status machine_move(void *address, size_t bytes, ferry_place to, backend_move_kind kind, backend_stream *stream);

void fill(uint32_t *x, size_t n, uint32_t first);              /* x[i] = first + i */
int64_t mismatch(const uint32_t *x, size_t n, uint32_t first); /* the first i with another value, else -1 */

#endif
