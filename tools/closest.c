/* "Did you mean …?" */
#include <string.h>

#include "tool.h"

#define LONGEST_NAME 31

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Levenshtein distance, one row at a time. */
static size_t distance(const char *a, const char *b) {
    size_t row[LONGEST_NAME + 1], length = strlen(b);
    for (size_t j = 0; j <= length; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= length; j++) {
            size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = least(substituted, 1 + least(row[j], row[j - 1]));
        }
    }
    return row[length];
}

const char *closest_name(const char *word, const char *(*name)(size_t), size_t count) {
    const char *best = NULL;
    size_t length = strlen(word), best_distance = length < 4 ? 2 : 3; /* one edit in a short word, two in others */
    if (length < 2 || length > LONGEST_NAME)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        const char *candidate = name(i);
        size_t edits = strlen(candidate) > LONGEST_NAME ? LONGEST_NAME : distance(word, candidate);
        if (edits >= best_distance)
            continue;
        best = candidate;
        best_distance = edits;
    }
    for (size_t i = 0; i < count && !best; i++)
        if (strncmp(name(i), word, length) == 0)
            best = name(i);
    return best;
}
