#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "progress.h"
#include "tool.h"

#define PATIENCE_NS 1000000000u /* shorter work needs no line */
#define INTERVAL_NS 100000000u

void progress_init(progress *p) {
    *p = (progress){.start_ns = now_ns(), .terminal = isatty(STDERR_FILENO) == 1};
}

static void draw(progress *p, const char *rest) {
    const char *slash = strrchr(p->path, '/');
    fprintf(stderr, "\r%s %.40s%s\033[K", p->verb, slash ? slash + 1 : p->path, rest);
    fflush(stderr);
    p->drawn = true;
    p->drawn_ns = now_ns();
}

static bool due(const progress *p) {
    uint64_t now = now_ns();
    return p->terminal && now - p->start_ns > PATIENCE_NS && now - p->drawn_ns > INTERVAL_NS;
}

void progress_step(progress *p, const char *verb, const char *path) {
    p->verb = verb;
    p->path = path;
    if (due(p))
        draw(p, "");
}

void progress_update(void *context, int64_t done_bytes, int64_t total_bytes) {
    progress *p = context;
    if (!due(p) || total_bytes <= 0)
        return;
    char done[SIZE_TEXT], total[SIZE_TEXT], rest[3 * SIZE_TEXT];
    size_text((double)done_bytes, done);
    size_text((double)total_bytes, total);
    snprintf(rest, sizeof rest, "  %3.0f %%  %s of %s", 100.0 * (double)done_bytes / (double)total_bytes, done, total);
    draw(p, rest);
}

void progress_share(progress *p, double done) {
    char rest[SIZE_TEXT];
    if (!due(p))
        return;
    snprintf(rest, sizeof rest, "  %3.0f %%", 100 * done);
    draw(p, rest);
}

void progress_clear(progress *p) {
    if (p->drawn)
        fputs("\r\033[K", stderr);
    p->drawn = false;
}
