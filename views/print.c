/* numpy.array_str: nested brackets, lines of 75 columns, and large arrays by their corners. */
#include <string.h>

#include "column.h"
#include "ferry/movement.h"
#include "ferry/site.h"
#include "layout.h"

#define LINE_WIDTH 75
#define THRESHOLD 1000 /* arrays of more elements are summarised */
#define EDGE_ITEMS 3

/* Text as snprintf delivers it. Spaces wait until something follows them on the line, for lines end without any. */
typedef struct output {
    char *text;
    size_t bytes;
    size_t length;
    size_t spaces;
} output;

static void put_raw(output *out, char c) {
    if (out->length + 1 < out->bytes) {
        out->text[out->length] = c;
    }
    ++out->length;
}

static void put_char(output *out, char c) {
    if (c == ' ') {
        ++out->spaces;
        return;
    }
    if (c == '\n') {
        out->spaces = 0;
    }
    for (; out->spaces > 0; --out->spaces) {
        put_raw(out, ' ');
    }
    put_raw(out, c);
}

static void put_chars(output *out, char c, int count) {
    for (int i = 0; i < count; ++i) {
        put_char(out, c);
    }
}

static void put_text(output *out, const char *text, size_t length) {
    for (size_t i = 0; i < length; ++i) {
        put_char(out, text[i]);
    }
}

static void end_text(output *out) {
    if (out->bytes > 0) {
        out->text[out->length < out->bytes ? out->length : out->bytes - 1] = 0;
    }
}

typedef struct view_printer {
    const ferry_view *view;
    bool summarise;
    value_column column;
    output out;
} view_printer;

/* Elements at each end of the axis that are shown when not all are, else 0. */
static int64_t edge_of(const view_printer *printer, int axis) {
    return printer->summarise && printer->view->shape[axis] > 2 * EDGE_ITEMS ? EDGE_ITEMS : 0;
}

/* The index shown after `i`. */
static int64_t next_shown(int64_t i, int64_t edge, int64_t extent) {
    return edge > 0 && i + 1 == edge ? extent - edge : i + 1;
}

static void measure(view_printer *printer, int axis, const char *data) {
    if (axis == printer->view->ndim) {
        column_measure(&printer->column, data);
        return;
    }
    int64_t extent = printer->view->shape[axis];
    int64_t edge = edge_of(printer, axis);
    for (int64_t i = 0; i < extent; i = next_shown(i, edge, extent)) {
        measure(printer, axis + 1, data + i * printer->view->strides[axis]);
    }
}

/* Adds a word to the line of `*used` columns, on a new line when it does not fit and the line has more than its indent.
 */
static void put_word(output *out, const char *word, size_t length, int indent, int width, int *used) {
    if (*used + (int)length > width && *used > indent) {
        put_char(out, '\n');
        put_chars(out, ' ', indent);
        *used = indent;
    }
    put_text(out, word, length);
    *used += (int)length;
}

static void print_row(view_printer *printer, int axis, const char *data) {
    output *out = &printer->out;
    int64_t extent = printer->view->shape[axis];
    int64_t edge = edge_of(printer, axis);
    int indent = axis + 1;
    int width = LINE_WIDTH - indent;
    int used = indent;
    char word[COLUMN_WORD_BYTES];
    for (int64_t i = 0; i < extent; i = next_shown(i, edge, extent)) {
        if (i > 0) {
            put_char(out, ' ');
            ++used;
        }
        if (edge > 0 && i == extent - edge) {
            put_word(out, "...", 3, indent, width, &used);
            put_char(out, ' ');
            ++used;
        }
        size_t length = column_word(&printer->column, data + i * printer->view->strides[axis], word);
        put_word(out, word, length, indent, width, &used);
    }
}

static void print_axis(view_printer *printer, int axis, const char *data);

static void print_blocks(view_printer *printer, int axis, const char *data) {
    output *out = &printer->out;
    int64_t extent = printer->view->shape[axis];
    int64_t edge = edge_of(printer, axis);
    int newlines = printer->view->ndim - axis - 1;
    for (int64_t i = 0; i < extent; i = next_shown(i, edge, extent)) {
        if (edge > 0 && i == extent - edge) {
            put_chars(out, '\n', newlines);
            put_chars(out, ' ', axis + 1);
            put_text(out, "...", 3);
        }
        if (i > 0) {
            put_chars(out, '\n', newlines);
            put_chars(out, ' ', axis + 1);
        }
        print_axis(printer, axis + 1, data + i * printer->view->strides[axis]);
    }
}

static void print_axis(view_printer *printer, int axis, const char *data) {
    put_char(&printer->out, '[');
    if (axis == printer->view->ndim - 1) {
        print_row(printer, axis, data);
    } else {
        print_blocks(printer, axis, data);
    }
    put_char(&printer->out, ']');
}

static void print(view_printer *printer) {
    const ferry_view *view = printer->view;
    char word[COLUMN_WORD_BYTES];
    if (ferry_view_size(view) == 0) {
        put_text(&printer->out, "[]", 2);
    } else if (view->ndim == 0) {
        put_text(&printer->out, word, column_scalar(view->dtype, view->data, word));
    } else {
        measure(printer, 0, view->data);
        column_finish(&printer->column);
        print_axis(printer, 0, view->data);
    }
}

/* Brings home the corners that are shown, not the array: part is the view, cut down on the axes before `axis`. */
static ferry_status acquire_shown(const view_printer *printer, const ferry_view *part, int axis) {
    while (axis < part->ndim && edge_of(printer, axis) == 0) {
        ++axis;
    }
    if (axis == part->ndim) {
        return ferry_host_acquire(part, FERRY_READ);
    }
    ferry_view corner = *part;
    int64_t edge = edge_of(printer, axis);
    corner.shape[axis] = edge;
    ferry_status status = acquire_shown(printer, &corner, axis + 1);
    if (status == FERRY_OK) {
        corner.data = layout_advance(part->data, (part->shape[axis] - edge) * part->strides[axis]);
        status = acquire_shown(printer, &corner, axis + 1);
    }
    return status;
}

int64_t ferry_view_format(const ferry_view *view, char *text, size_t bytes) {
    view_printer printer = {
        .view = view,
        .summarise = ferry_view_size(view) > THRESHOLD,
        .column = column_make(view->dtype),
        .out = {.text = text, .bytes = bytes},
    };
    const ferry_site before = ferry_site_enter(__builtin_return_address(0));
    ferry_status status = acquire_shown(&printer, view, 0);
    ferry_site_set(before);
    if (status != FERRY_OK) {
        return -(int64_t)status;
    }
    print(&printer);
    end_text(&printer.out);
    return (int64_t)printer.out.length;
}
