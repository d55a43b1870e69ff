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

void run_print_end(FILE *to, const run_process *p) {
    char lasted[SIZE_TEXT];
    time_text((double)p->lasted_ns, lasted);
    fputs(ENDS[p->end], to);
    if (p->end == RUN_KILLED)
        fprintf(to, " by signal %d (%s)", p->signal, strsignal(p->signal));
    if (p->lasted_ns > 0)
        fprintf(to, " after %s", lasted);
}
