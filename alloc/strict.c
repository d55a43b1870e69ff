#include "strict.h"

#include <pthread.h>
#include <stdatomic.h>

#include "sentence.h"

/* A handler and its context belong together: the lock is held while the two are copied. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ferry_finding_handler handler;
static void *handler_context;
_Atomic bool strict_wanted;
static _Thread_local bool telling; /* the thread's handler is at work */

enum { SENTENCE_BYTES = 2048, PLACE_BYTES = 512 };

void strict_set(bool value) {
    atomic_store_explicit(&strict_wanted, value, memory_order_relaxed);
}

void ferry_on_finding(ferry_finding_handler chosen, void *context) {
    pthread_mutex_lock(&lock);
    handler = chosen;
    handler_context = context;
    pthread_mutex_unlock(&lock);
}

/* Three figures, as everywhere in ferry's reports. */
static void say_size(struct sentence *sentence, size_t size_bytes) {
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
    size_t unit = 0;
    double value = (double)size_bytes / 1024;
    if (size_bytes < 1024) {
        sentence_add(sentence, "%zu byte%s", size_bytes, size_bytes == 1 ? "" : "s");
        return;
    }
    while (value >= 1023.95 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1024;
        unit++;
    }
    sentence_add(sentence, value < 9.995 ? "%.2f %s" : value < 99.95 ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

/* "<before>step+0x87 in solver<after>"; nothing for a site that is not known. */
static void say_site(struct sentence *sentence, const char *before, ferry_site site, const char *after) {
    char place[PLACE_BYTES];
    if (site != 0) {
        ferry_site_describe(site, place, sizeof place);
        sentence_add(sentence, "%s%s%s", before, place, after);
    }
}

/* "64.0 MiB of the 1.00 GiB array at 0x7f… (allocated in load+0x31 in solver)" */
static void say_array(struct sentence *sentence, const struct strict_crossing *what) {
    if (what->bytes < what->storage_bytes || what->storage_bytes == 0) {
        say_size(sentence, what->bytes);
    } else {
        sentence_add(sentence, "all");
    }
    if (what->storage_bytes > 0) {
        sentence_add(sentence, " of the ");
        say_size(sentence, what->storage_bytes);
        sentence_add(sentence, " array");
    }
    sentence_add(sentence, " at %p", what->address);
    say_site(sentence, " (allocated in ", what->born, ")");
}

static void say_redundant(struct sentence *sentence, const struct strict_crossing *what) {
    say_array(sentence, what);
    sentence_add(sentence, " would cross to ");
    sentence_add_place(sentence, what->to);
    sentence_add(sentence, " again");
    say_site(sentence, " in ", what->now, "");
    sentence_add(sentence, ": the same bytes crossed");
    say_site(sentence, " in ", what->before, "");
    sentence_add(sentence, ", and nobody has written them since");
}

static void say_unsynchronised(struct sentence *sentence, const struct strict_crossing *what) {
    sentence_add(sentence, "the host touched ");
    say_array(sentence, what);
    sentence_add(sentence, " while a kernel");
    say_site(sentence, " launched in ", what->before, "");
    sentence_add(sentence, " could be using it: ferry_host_acquire or ferry_sync comes first");
    say_site(sentence, "; this was noticed in ", what->now, "");
}

void strict_sentence(ferry_finding_kind kind, const struct strict_crossing *what, char *text, size_t bytes) {
    struct sentence sentence;
    sentence_begin(&sentence, text, bytes);
    (kind == FERRY_FINDING_REDUNDANT ? say_redundant : say_unsynchronised)(&sentence, what);
}

static void tell(ferry_finding_kind kind, const struct strict_crossing *what, const char *text) {
    pthread_mutex_lock(&lock);
    const ferry_finding_handler chosen = handler;
    void *const context = handler_context;
    pthread_mutex_unlock(&lock);
    if (chosen == NULL || telling) {
        return;
    }
    const ferry_finding finding = {.kind = kind,
                                   .address = what->address,
                                   .storage_bytes = what->storage_bytes,
                                   .bytes = what->bytes,
                                   .to = what->to,
                                   .born = what->born,
                                   .before = what->before,
                                   .now = what->now,
                                   .text = text};
    telling = true;
    chosen(&finding, context);
    telling = false;
}

/* The detail is set last: the handler's own calls may fail. */
static ferry_status report(ferry_finding_kind kind, const struct strict_crossing *what, ferry_status status) {
    char text[SENTENCE_BYTES];
    strict_sentence(kind, what, text, sizeof text);
    tell(kind, what, text);
    return ferry_error(status, "%s", text);
}

ferry_status strict_redundant(const struct strict_crossing *what) {
    return report(FERRY_FINDING_REDUNDANT, what, FERRY_REDUNDANT);
}

ferry_status strict_unsynchronised(const struct strict_crossing *what) {
    return report(FERRY_FINDING_UNSYNCHRONISED, what, FERRY_UNSYNCHRONISED);
}
