#include "recorder.h"

#include <stdlib.h>

#include "alloc/backend_sim.h"

static const backend *wrapped;
static backend table;
static struct recording recording;

static void complain_unless(bool holds, const char *complaint) {
    if (!holds && recording.complaint == NULL) {
        recording.complaint = complaint;
    }
}

static void note_page(char *page, const backend_move *move) {
    if (recording.npages == recording.room) {
        recording.room = recording.room == 0 ? 1024 : 2 * recording.room;
        recording.pages = realloc(recording.pages, recording.room * sizeof *recording.pages);
        if (recording.pages == NULL) {
            abort();
        }
    }
    recording.pages[recording.npages++] =
        (struct recorded_page){page, backend_sim_page_place(page), move->to, move->kind};
}

static void check_moves(const backend_move *moves, size_t n) {
    complain_unless(n > 0, "a move of no ranges");
    for (size_t i = 0; i < n; i++) {
        const char *begin = moves[i].address, *end = begin + moves[i].bytes;
        complain_unless(moves[i].bytes > 0, "a move of no bytes");
        complain_unless((((uintptr_t)begin | moves[i].bytes) & (FERRY_PAGE_BYTES - 1)) == 0,
                        "a move of parts of pages");
        complain_unless(moves[i].to == moves[0].to, "a move to two places");
        for (size_t j = 0; j < i; j++) {
            const char *other = moves[j].address;
            complain_unless(other >= end || begin >= other + moves[j].bytes, "a move that names a range twice");
        }
    }
}

static ferry_status recorded_move(const backend_move *moves, size_t n, backend_stream *stream) {
    const size_t before = recording.npages;
    check_moves(moves, n);
    for (size_t i = 0; i < n; i++) {
        for (size_t at = 0; at < moves[i].bytes; at += FERRY_PAGE_BYTES) {
            note_page((char *)moves[i].address + at, &moves[i]);
        }
    }
    const ferry_status status = wrapped->move(moves, n, stream);
    recording.npages = status == FERRY_OK ? recording.npages : before;
    return status;
}

const backend *recorder(const backend *inner) {
    wrapped = inner;
    table = *inner;
    table.move = recorded_move;
    return &table;
}

const struct recording *recorder_recording(void) {
    return &recording;
}

void recorder_clear(void) {
    recording.npages = 0;
}
