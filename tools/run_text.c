#include <inttypes.h>
#include <string.h>

#include "run_text.h"
#include "tool.h"

static const char *const ENDS[RUN_ENDS] = {
    [RUN_EXITED] = "exited",          [RUN_LEFT] = "left by _exit", [RUN_REPLACED] = "replaced by exec",
    [RUN_LIVES] = "is still running", [RUN_KILLED] = "killed",      [RUN_GONE] = "ended without a word",
};

void run_print_text(FILE *to, const char *text, int most) {
    int columns = 0;
    bool fits = strlen(text) <= (size_t)most;
    for (const unsigned char *at = (const unsigned char *)text; *at && (fits || columns < most - 3); at++) {
        fputc(*at < 0x20 || *at == 0x7f ? '?' : *at, to);
        columns++;
    }
    fputs(fits ? "" : "...", to);
}

void run_print_stack(FILE *to, const char *text) {
    static const char between[] = " < ";
    const char *first = text;
    int columns = 0;
    while (*text) {
        const char *next = strstr(text, between);
        int length = next ? (int)(next - text) : (int)strlen(text);
        char frame[FERRY_RUN_SITE_TEXT];
        snprintf(frame, sizeof frame, "%.*s", length, text);
        bool breaks = columns > 0 && columns + length > RUN_WIDTH - RUN_LABEL;
        columns = breaks ? length : columns + length + (int)strlen(between);
        fputs(breaks ? "\n" : "", to);
        fprintf(to, "%*s", breaks || text == first ? RUN_LABEL : 1, "");
        run_print_text(to, frame, RUN_WIDTH);
        fputs(next ? " <" : "\n", to);
        text += next ? length + (int)strlen(between) : length;
    }
}

void run_print_end(FILE *to, const run_process *p) {
    char lasted[SIZE_TEXT];
    time_text((double)p->lasted_ns, lasted);
    fputs(ENDS[p->end], to);
    if (p->end == RUN_KILLED)
        fprintf(to, " by signal %d (%s)", p->signal, strsignal(p->signal));
    if (p->lasted_ns > 0)
        fprintf(to, " after %s", lasted);
}
