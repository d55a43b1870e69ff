#include "sentence.h"

#include <stdarg.h>
#include <stdio.h>

void sentence_begin(struct sentence *sentence, char *text, size_t bytes) {
    *sentence = (struct sentence){text, bytes, 0};
    if (bytes > 0) {
        *text = '\0';
    }
}

void sentence_add(struct sentence *sentence, const char *format, ...) {
    const size_t room = sentence->bytes - sentence->used;
    if (room == 0) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(sentence->text + sentence->used, room, format, arguments);
    va_end(arguments);
    if (length > 0) {
        sentence->used += (size_t)length < room ? (size_t)length : room - 1;
    }
}

void sentence_add_place(struct sentence *sentence, ferry_place place) {
    if (place >= 0) {
        sentence_add(sentence, "device %d", place);
    } else {
        sentence_add(sentence, "the host");
    }
}
