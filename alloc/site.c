#include "ferry/site.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "caller.h"
#include "symbol.h"

_Thread_local struct caller caller;
static _Atomic(ferry_site_describer) describer;

/*
 * A label's site is the address of its record, which no code can have. Records are only ever put in front of their
 * list, so the lists need no lock, and a child forked at any moment can go on with them.
 */
struct label {
    struct label *next;
    char text[];
};
enum { LISTS = 256 };
static _Atomic(struct label *) labels[LISTS];

ferry_site ferry_site_set(ferry_site site) {
    const ferry_site before = caller.site;
    caller.site = site;
    return before;
}

ferry_site ferry_site_get(void) {
    return caller.site;
}

/* FNV-1a (Fowler, Noll, Vo). */
static _Atomic(struct label *) *list_of(const char *text) {
    uint32_t hash = 2166136261u;
    for (const char *at = text; *at != '\0'; at++) {
        hash = (hash ^ (unsigned char)*at) * 16777619u;
    }
    return &labels[hash % LISTS];
}

/* Among the records from `first` on, up to one that has been looked at before. */
static const struct label *find_text(const struct label *first, const struct label *until, const char *text) {
    while (first != until && strcmp(first->text, text) != 0) {
        first = first->next;
    }
    return first == until ? NULL : first;
}

static struct label *make_label(const char *text) {
    const size_t bytes = strlen(text) + 1;
    struct label *made = malloc(sizeof *made + bytes);
    if (made != NULL) {
        memcpy(made->text, text, bytes);
    }
    return made;
}

/* Puts the label in front of `first`, unless others have put an equal one there meanwhile; the one that is there. */
static const struct label *add_label(_Atomic(struct label *) *list, struct label *first, struct label *made) {
    made->next = first;
    while (!atomic_compare_exchange_weak_explicit(list, &first, made, memory_order_acq_rel, memory_order_acquire)) {
        const struct label *found = find_text(first, made->next, made->text);
        if (found != NULL) {
            free(made);
            return found;
        }
        made->next = first;
    }
    return made;
}

ferry_site ferry_site_label(const char *text) {
    if (text == NULL) {
        return 0;
    }
    _Atomic(struct label *) *list = list_of(text);
    struct label *first = atomic_load_explicit(list, memory_order_acquire);
    const struct label *found = find_text(first, NULL, text);
    if (found == NULL) {
        struct label *made = make_label(text);
        found = made == NULL ? NULL : add_label(list, first, made);
    }
    return (ferry_site)found;
}

static const struct label *label_at(ferry_site site) {
    for (int i = 0; i < LISTS; i++) {
        const struct label *label = atomic_load_explicit(&labels[i], memory_order_acquire);
        for (; label != NULL; label = label->next) {
            if ((ferry_site)label == site) {
                return label;
            }
        }
    }
    return NULL;
}

static bool described_elsewhere(ferry_site site, char *text, size_t bytes) {
    const ferry_site_describer ask = atomic_load_explicit(&describer, memory_order_acquire);
    if (ask == NULL || !ask(site, text, bytes)) {
        return false;
    }
    text[bytes - 1] = '\0';
    return true;
}

void ferry_site_describe(ferry_site site, char *text, size_t bytes) {
    if (bytes == 0) {
        return;
    }
    if (site == 0) {
        snprintf(text, bytes, "an unknown place");
        return;
    }
    if (described_elsewhere(site, text, bytes)) {
        return;
    }
    const struct label *label = label_at(site);
    if (label != NULL) {
        snprintf(text, bytes, "%s", label->text);
    } else if (!symbol_describe(site, text, bytes)) {
        snprintf(text, bytes, "0x%zx", (size_t)site);
    }
}

void ferry_site_describe_with(ferry_site_describer ask) {
    atomic_store_explicit(&describer, ask, memory_order_release);
}
