#include "link_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <locale.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ferry/cache.h"
#include "link.h"

#define PATH_BYTES 4096
#define TEXT_BYTES 4096

/* FNV-1a (Fowler, Noll, Vo), 64 bits. */
static uint64_t hash(const char *text) {
    uint64_t value = UINT64_C(0xcbf29ce484222325);
    for (; *text != '\0'; text++) {
        value = (value ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    }
    return value;
}

__attribute__((format(printf, 3, 4))) static size_t append(char *text, size_t used, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(text + used, TEXT_BYTES - used, format, arguments);
    va_end(arguments);
    return n >= 0 && (size_t)n < TEXT_BYTES - used ? used + (size_t)n : TEXT_BYTES - 1;
}

/* 17 digits give the same number back. */
static void write_text(const char *identity, const ferry_link_costs *costs, char text[TEXT_BYTES]) {
    size_t used = append(text, 0, "ferry link costs 1\nidentity %s\n", identity);
#define LINE(name, meaning) used = append(text, used, #name " %.17g\n", costs->name);
    FERRY_LINK_LIST(LINE)
#undef LINE
    append(text, used, "check %016" PRIx64 "\n", hash(text));
}

static bool read_numbers(const char *text, ferry_link_costs *out) {
#define NUMBER(name, meaning)                                                                                          \
    text = strstr(text, "\n" #name " ");                                                                               \
    if (text == NULL) {                                                                                                \
        return false;                                                                                                  \
    }                                                                                                                  \
    out->name = strtod(text + strlen("\n" #name " "), NULL);
    FERRY_LINK_LIST(NUMBER)
#undef NUMBER
    return true;
}

/* What was read from a text is right when it makes the same text. */
static bool read_text(const char *text, const char *identity, ferry_link_costs *out) {
    ferry_link_costs costs;
    char again[TEXT_BYTES];
    if (!read_numbers(text, &costs)) {
        return false;
    }
    write_text(identity, &costs, again);
    if (strcmp(text, again) != 0 || !link_plausible(&costs)) {
        return false;
    }
    *out = costs;
    return true;
}

/* Numbers have a point in them, whatever the process's locale. */
static locale_t enter_plain_locale(locale_t *plain) {
    *plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    return uselocale(*plain);
}

static void leave_plain_locale(locale_t plain, locale_t before) {
    uselocale(before);
    if (plain != (locale_t)0) {
        freelocale(plain);
    }
}

ferry_status link_file_path(const char *identity, char *path, size_t bytes) {
    char folder[PATH_BYTES];
    const ferry_status status = ferry_cache_folder(folder, sizeof folder);
    if (status != FERRY_OK) {
        return status;
    }
    const int n = snprintf(path, bytes, "%s/link-%016" PRIx64 ".txt", folder, hash(identity));
    return n >= 0 && (size_t)n < bytes ? FERRY_OK : ferry_error(FERRY_IO, "%s: the folder's name is too long", folder);
}

static bool read_file(const char *path, char text[TEXT_BYTES]) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    const ssize_t n = read(file, text, TEXT_BYTES);
    close(file);
    if (n < 0 || n == TEXT_BYTES || memchr(text, '\0', (size_t)n) != NULL) {
        return false;
    }
    text[n] = '\0';
    return true;
}

bool link_file_load(const char *identity, ferry_link_costs *out) {
    char path[PATH_BYTES], text[TEXT_BYTES];
    if (link_file_path(identity, path, sizeof path) != FERRY_OK || !read_file(path, text)) {
        return false;
    }
    locale_t plain;
    const locale_t before = enter_plain_locale(&plain);
    const bool read = read_text(text, identity, out);
    leave_plain_locale(plain, before);
    return read;
}

/* So little is written at once or not at all. */
static bool write_file(const char *path, const char *text) {
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) {
        return false;
    }
    const bool written = write(file, text, strlen(text)) == (ssize_t)strlen(text);
    return close(file) == 0 && written;
}

static ferry_status replace_file(const char *path, const char *text) {
    static atomic_uint counter;
    char scratch[PATH_BYTES];
    const int n = snprintf(scratch, sizeof scratch, "%s.%ld.%u", path, (long)getpid(), atomic_fetch_add(&counter, 1));
    if (n < 0 || (size_t)n >= sizeof scratch) {
        return ferry_error(FERRY_IO, "%s: the name is too long", path);
    }
    if (write_file(scratch, text) && rename(scratch, path) == 0) {
        return FERRY_OK;
    }
    const int reason = errno;
    unlink(scratch);
    return ferry_error(FERRY_IO, "%s: the file cannot be written: %s", path, strerror(reason));
}

ferry_status link_file_store(const char *identity, const ferry_link_costs *costs) {
    char path[PATH_BYTES], text[TEXT_BYTES];
    const ferry_status status = link_file_path(identity, path, sizeof path);
    if (status != FERRY_OK) {
        return status;
    }
    locale_t plain;
    const locale_t before = enter_plain_locale(&plain);
    write_text(identity, costs, text);
    leave_plain_locale(plain, before);
    return replace_file(path, text);
}
