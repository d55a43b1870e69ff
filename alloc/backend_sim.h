/* What tests may ask the simulator beside the backend contract. After backend_sim.open only. */
#ifndef FERRY_ALLOC_BACKEND_SIM_H
#define FERRY_ALLOC_BACKEND_SIM_H

#include "backend.h"

/* The truth: where the page of the address is. FERRY_PLACE_HOST for addresses outside every region. Touches nothing. */
ferry_place backend_sim_page_place(const void *address);

/*
 * Host touches that did not wait: of pages that something still queued will overwrite; stores to pages that something
 * still queued loads from; without concurrent managed access, touches of pages that a launch took while anything is
 * queued. One a page, until the page is used again.
 */
uint64_t backend_sim_unsynchronised(void);

/* Whether stores to pages that queued work only loads from are noticed: not everywhere under userfaultfd. */
bool backend_sim_tells_stores(void);

/* Operations queued on all streams and not performed yet. */
uint64_t backend_sim_pending(void);

/* As trace_read, but since open. */
backend_measure backend_sim_totals(void);

/* How host touches are noticed: "userfaultfd", "mprotect" or "off". */
const char *backend_sim_touch_tracking(void);

#endif
