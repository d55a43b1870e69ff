/* Live bytes over time, as text. */
#include <inttypes.h>

#include "run_text.h"
#include "tool.h"

enum { COLUMNS = 60, ROWS = 8 };

static uint64_t live_bytes(const ferry_run_sample *sample) {
    uint64_t bytes = 0;
    for (int i = 0; i < FERRY_RUN_HOMES; i++)
        bytes += sample->live_bytes[i];
    return bytes;
}

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* The most that lived in each column's time: what its samples say, and what lives on from before. */
static void fill(const ferry_run_record *r, uint64_t span_ns, uint64_t columns[COLUMNS]) {
    uint64_t live = 0;
    uint32_t next = 0;
    for (int c = 0; c < COLUMNS; c++) {
        double end_ns = (double)span_ns * (c + 1) / COLUMNS;
        columns[c] = live;
        for (; next < r->nsamples && ((double)r->samples[next].time_ns < end_ns || c == COLUMNS - 1); next++) {
            columns[c] = larger(columns[c], r->samples[next].peak_bytes);
            live = live_bytes(&r->samples[next]);
        }
    }
}

static void print_row(FILE *to, const uint64_t columns[COLUMNS], uint64_t most, int row) {
    char label[SIZE_TEXT] = "";
    double floor = (double)most * (row - 1) / ROWS;
    int used = 0;
    if (row == ROWS)
        size_text((double)most, label);
    fprintf(to, "  %*s |", RUN_LABEL - 2, label);
    for (int c = 0; c < COLUMNS; c++)
        used = (double)columns[c] > floor ? c + 1 : used;
    for (int c = 0; c < used; c++)
        fputc((double)columns[c] > floor ? '#' : ' ', to);
    fputc('\n', to);
}

void run_print_plot(FILE *to, const run_process *p) {
    const ferry_run_record *r = p->record;
    if (r->nsamples == 0)
        return;
    uint64_t columns[COLUMNS], most = 0;
    uint64_t span_ns = larger(p->lasted_ns, r->samples[r->nsamples - 1].time_ns);
    char span[SIZE_TEXT];
    fill(r, larger(span_ns, 1), columns);
    for (int c = 0; c < COLUMNS; c++)
        most = larger(most, columns[c]);
    if (most == 0)
        return;
    time_text((double)span_ns, span);
    fputs("  live bytes over time:\n", to);
    for (int row = ROWS; row > 0; row--)
        print_row(to, columns, most, row);
    fprintf(to, "  %*s +", RUN_LABEL - 2, "0");
    for (int c = 0; c < COLUMNS; c++)
        fputc('-', to);
    fprintf(to, " %s\n", span);
}
