/*
 * Reads lines "IN OUT SLICES AXES" with tabs between: loads IN, takes a view of it, saves that to OUT and answers "ok"
 * or the error. SLICES is "start:stop:step" per leading axis, parted by commas, with parts left out as in Python, AXES
 * a permutation such as "1,0"; either may be empty. The test's Python half compares OUT with what NumPy saves.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ferry/npy.h"

static int64_t number(const char **text, int64_t otherwise) {
    char *end;
    long long value = strtoll(*text, &end, 10);
    bool none = end == *text;
    *text = end + (*end == ':');
    return none ? otherwise : value;
}

static ferry_status take_slices(ferry_view *view, const char *text) {
    ferry_slice slices[FERRY_MAX_DIMS];
    int n = 0;
    while (*text != '\0' && n < FERRY_MAX_DIMS) {
        slices[n].start = number(&text, FERRY_SLICE_NONE);
        slices[n].stop = number(&text, FERRY_SLICE_NONE);
        slices[n++].step = number(&text, 1);
        text += *text == ',';
    }
    return ferry_view_slice(view, n, slices, view);
}

static ferry_status take_axes(ferry_view *view, const char *text) {
    int axes[FERRY_MAX_DIMS], n = 0;
    ferry_view from = *view;
    while (*text != '\0' && n < FERRY_MAX_DIMS) {
        char *end;
        axes[n++] = (int)strtol(text, &end, 10);
        text = end + (*end == ',');
    }
    return ferry_view_transpose(&from, axes, view);
}

static ferry_status copy(const char *in, const char *out, const char *slices, const char *axes) {
    ferry_array array;
    ferry_status status = ferry_npy_load(NULL, in, &array);
    if (status != FERRY_OK)
        return status;
    ferry_view view = array.view;
    if (*slices)
        status = take_slices(&view, slices);
    if (status == FERRY_OK && *axes)
        status = take_axes(&view, axes);
    if (status == FERRY_OK)
        status = ferry_npy_save(out, &view);
    ferry_array_release(&array);
    return status;
}

int main(void) {
    char line[8192];
    while (fgets(line, sizeof line, stdin)) {
        char *fields[4] = {"", "", "", ""}, *rest = line;
        line[strcspn(line, "\n")] = '\0';
        for (int i = 0; i < 4 && rest; i++)
            fields[i] = strsep(&rest, "\t");
        puts(copy(fields[0], fields[1], fields[2], fields[3]) == FERRY_OK ? "ok" : ferry_error_detail());
        fflush(stdout);
    }
    return 0;
}
