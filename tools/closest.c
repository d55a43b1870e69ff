/* "Did you mean …?" */
#include <string.h>

#include "tool.h"

#define LONGEST_NAME 31

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

typedef struct table {
    size_t cost[LONGEST_NAME + 1][LONGEST_NAME + 1];
} table;

static size_t cost_at(const table *t, const char *a, const char *b, size_t i, size_t j) {
    size_t substituted = t->cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
    size_t best = least(substituted, 1 + least(t->cost[i - 1][j], t->cost[i][j - 1]));
    bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
    return exchanged ? least(best, 1 + t->cost[i - 2][j - 2]) : best;
}

/* Edits between two names: characters put in, left out, replaced, or neighbours exchanged (optimal string alignment).
 */
static size_t distance(const char *a, const char *b) {
    table t = {.cost = {{0}}};
    size_t rows = strlen(a), columns = strlen(b);
    for (size_t i = 0; i <= rows; i++)
        for (size_t j = 0; j <= columns; j++)
            t.cost[i][j] = i == 0 ? j : j == 0 ? i : cost_at(&t, a, b, i, j);
    return t.cost[rows][columns];
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
