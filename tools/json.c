#include <stdbool.h>
#include <stddef.h>

#include "json.h"

/* The length of the UTF-8 sequence at `text` (RFC 3629: shortest form, no surrogates, up to U+10FFFF), 0 when there is
 * none. */
static size_t sequence_length(const unsigned char *text) {
    unsigned char first = text[0], low = 0x80, high = 0xbf;
    size_t length = first < 0x80 ? 1 : first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : 4;
    if (length == 4 && (first < 0xf0 || first > 0xf4))
        return 0;
    if (first == 0xe0 || first == 0xf0)
        low = first == 0xe0 ? 0xa0 : 0x90;
    if (first == 0xed || first == 0xf4)
        high = first == 0xed ? 0x9f : 0x8f;
    for (size_t i = 1; i < length; i++, low = 0x80, high = 0xbf)
        if (text[i] < low || text[i] > high)
            return 0;
    return length;
}

static void json_character(FILE *stream, const unsigned char *text, size_t length) {
    if (length == 0)
        fputs("\\ufffd", stream);
    else if (length == 1 && (*text == '"' || *text == '\\'))
        fprintf(stream, "\\%c", *text);
    else if (length == 1 && (*text < 0x20 || *text == 0x7f))
        fprintf(stream, "\\u%04x", *text);
    else
        fwrite(text, 1, length, stream);
}

void json_string(FILE *stream, const char *string) {
    const unsigned char *text = (const unsigned char *)string;
    fputc('"', stream);
    while (*text != '\0') {
        size_t length = sequence_length(text);
        json_character(stream, text, length);
        text += length ? length : 1;
    }
    fputc('"', stream);
}
