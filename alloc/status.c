#include "ferry/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "ferry/version.h"

#define DETAIL_BYTES 4096 /* a compiler's log is cut to this */
#define TEXT(x) #x
#define VERSION(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

static _Thread_local char detail[DETAIL_BYTES];

static const char *const status_names[] = {
#define NAME(name, text) #name,
    FERRY_STATUS_LIST(NAME)
#undef NAME
};

static const char *const status_texts[] = {
#define SENTENCE(name, text) text,
    FERRY_STATUS_LIST(SENTENCE)
#undef SENTENCE
};

static bool is_status(ferry_status status) {
    return (size_t)status < sizeof status_names / sizeof *status_names;
}

const char *ferry_status_name(ferry_status status) {
    return is_status(status) ? status_names[status] : "UNKNOWN";
}

const char *ferry_status_text(ferry_status status) {
    return is_status(status) ? status_texts[status] : "unknown status";
}

const char *ferry_error_detail(void) {
    return detail;
}

ferry_status ferry_error(ferry_status status, const char *format, ...) {
    const int saved_errno = errno;
    /* Through a buffer of its own, so that a caller may quote the previous detail. */
    char text[DETAIL_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(detail, sizeof detail, "%s", text);
    errno = saved_errno;
    return status;
}

const char *ferry_version(void) {
    return VERSION(FERRY_VERSION_MAJOR, FERRY_VERSION_MINOR, FERRY_VERSION_PATCH);
}
