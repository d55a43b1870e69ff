#include "observe.h"

#include <string.h>

#include "core.h"
#include "counters.h"
#include "region.h"
#include "stream.h"

#define LAST_QUESTIONS 4

uint64_t observe_round;

void observe_begin_round(void) {
    observe_round++;
}

void observe_pages(const struct region *region, size_t page, size_t n, unsigned char *present) {
    if (core.backend->observe == NULL) {
        memset(present, 1, n);
        return;
    }
    COUNT(observations, 1);
    if (core.backend->observe(region->base + page * FERRY_PAGE_BYTES, n, present) != FERRY_OK) {
        memset(present, 1, n);
    }
}

/* A move that has not been carried out yet leaves pages in the host's tables: only what is at rest can be asked about.
 */
static bool is_due(struct storage *storage) {
    struct observer *observer = &storage->memories.observer;
    if (storage->memories.exports > 0) {
        return use_has_ended(storage); /* whoever has it waits for nobody */
    }
    if (observer->round == observe_round) {
        if (++observer->launches < OBSERVE_LAUNCHES_MAX) {
            return false;
        }
        /* A storage that is always in use is not looked at by every launch from then on. */
        observer->launches = OBSERVE_LAUNCHES_MAX / 2;
        return !use_pending(storage);
    }
    observer->round = observe_round;
    if (observer->left > 0) {
        observer->left--;
        return false;
    }
    return use_has_ended(storage);
}

/* The first page from `page` on, before end_page, that a device is believed to hold; end_page when there is none. */
static size_t next_on_device(const struct region *region, size_t page, size_t end_page) {
    while (page < end_page) {
        const struct residency_run run = residency_run_at(&region->residency, page, end_page);
        if (state_place(run.state) >= 0) {
            return page;
        }
        page = run.end_page;
    }
    return end_page;
}

/* Asks about one page that a device is believed to hold, another one each time; whether it has come home. */
static bool one_came_home(const struct storage_place *place) {
    const size_t first = region_page(place->region, place->base), end = first + place->storage->pages;
    const uint64_t scattered = ++place->storage->memories.observer.asked * UINT64_C(0x9e3779b97f4a7c15);
    size_t page = next_on_device(place->region, first + (size_t)(scattered >> 33) % place->storage->pages, end);
    page = page == end ? next_on_device(place->region, first, end) : page;
    if (page == end) {
        return false;
    }
    unsigned char present = 0;
    observe_pages(place->region, page, 1, &present);
    return present != 0;
}

/* Pages that came home, whatever the host did to them: they may have been written. */
static void note_home(const struct storage_place *place, size_t first_page, size_t end_page, page_state before) {
    const size_t bytes = (end_page - first_page) * FERRY_PAGE_BYTES;
    residency_set(&place->region->residency, first_page, end_page, state_of_place(FERRY_PLACE_HOST));
    memories_host_touch(place, bytes, memories_passes(place, state_passes(before)), ENDING_READ);
    COUNT(observed_bytes, bytes);
}

/* The run, split where pages' answers differ. */
static void correct_run(const struct storage_place *place, const struct residency_run *run) {
    enum { PAGES_AT_ONCE = 4096 };
    unsigned char present[PAGES_AT_ONCE];
    for (size_t page = run->first_page; page < run->end_page;) {
        const size_t left = run->end_page - page, n = left < PAGES_AT_ONCE ? left : PAGES_AT_ONCE;
        observe_pages(place->region, page, n, present);
        for (size_t i = 0, j; i < n; i = j) {
            for (j = i + 1; j < n && (present[j] != 0) == (present[i] != 0); j++) {
            }
            if (present[i] != 0) {
                note_home(place, page + i, page + j, run->state);
            }
        }
        page += n;
    }
}

static void correct(const struct storage_place *place) {
    struct history *history = &place->storage->memories.history;
    if (history->unseen < UNSEEN_MOST) {
        history->unseen++;
    }
    const size_t first = region_page(place->region, place->base), end = first + place->storage->pages;
    for (size_t page = first; page < end;) {
        const struct residency_run run = residency_run_at(&place->region->residency, page, end);
        if (state_place(run.state) >= 0) {
            correct_run(place, &run);
        }
        page = run.end_page;
    }
}

static bool can_ask(const struct storage_place *place) {
    return core.hints && core.backend->observe != NULL && !place->region->tiny;
}

void observe_storage(const struct storage_place *place) {
    struct observer *observer = &place->storage->memories.observer;
    if (!can_ask(place)) {
        *observer = (struct observer){.round = observe_round}; /* considered, and so for the next launches as well */
        return;
    }
    if (!is_due(place->storage)) {
        return;
    }
    observer->launches = 0;
    if (one_came_home(place)) {
        correct(place);
        observer->wait = 0;
    } else if (observer->wait < OBSERVE_ROUNDS_MAX) {
        observer->wait = (uint8_t)(2 * observer->wait + 1);
    }
    observer->left = observer->wait;
}

void observe_last(const struct storage_place *place) {
    for (int i = 0; i < LAST_QUESTIONS && can_ask(place); i++) {
        if (one_came_home(place)) {
            correct(place);
            return;
        }
    }
}
