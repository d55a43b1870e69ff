/* Messages on standard error, numbers as text, and the clock. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tool.h"

static void say(const char *format, va_list args) {
    fputs("ferry: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

int fail(const char *format, ...) {
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
    return EXIT_FAILED;
}

int fail_library(const char *subject) {
    const char *detail = ferry_error_detail();
    if (!subject || strncmp(detail, subject, strlen(subject)) == 0)
        return fail("%s", detail);
    return fail("%s: %s", subject, detail);
}

int fail_usage(const char *command, const char *format, ...) {
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
    fprintf(stderr, "Try 'ferry %s%s--help'.\n", command ? command : "", command ? " " : "");
    return EXIT_USAGE;
}

int finish_output(void) {
    int reason = fflush(stdout) != 0 ? errno : ferror(stdout) ? EIO : 0;
    return reason == 0 ? EXIT_DONE : fail("standard output: %s", strerror(reason));
}

uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void size_text(double bytes, char text[SIZE_TEXT]) {
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
    size_t unit = 0;
    if (bytes < 1024) {
        snprintf(text, SIZE_TEXT, "%.0f bytes", bytes);
        return;
    }
    for (bytes /= 1024; bytes >= 1023.95 && unit + 1 < sizeof units / sizeof *units; unit++)
        bytes /= 1024;
    snprintf(text, SIZE_TEXT, bytes < 9.995 ? "%.2f %s" : bytes < 99.95 ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}

void time_text(double ns, char text[SIZE_TEXT]) {
    static const char *const units[] = {"us", "ms", "s"};
    size_t unit = 0;
    double value = ns / 1e3;
    for (; value >= 999.5 && unit + 1 < sizeof units / sizeof *units; unit++)
        value /= 1e3;
    snprintf(text, SIZE_TEXT, value < 9.995 ? "%.2f %s" : value < 99.95 ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

void grouped_text(uint64_t value, char text[SIZE_TEXT]) {
    char digits[SIZE_TEXT];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, value);
    char *at = text;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *at++ = ',';
        *at++ = digits[i];
    }
    *at = '\0';
}
