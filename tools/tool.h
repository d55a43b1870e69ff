/* What the parts of the command share. */
#ifndef FERRY_TOOLS_TOOL_H
#define FERRY_TOOLS_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ferry/status.h"

/* Exit statuses. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* Print "ferry: …" as a line on standard error and return EXIT_FAILED. */
int fail(const char *format, ...) FERRY_PRINTF(1, 2);
/* The same from the library's latest error; `subject` (may be NULL) goes in front of a detail that does not name it. */
int fail_library(const char *subject);
/* Prints what was wrong with the command line and where to read on; returns EXIT_USAGE. `command` may be NULL. */
int fail_usage(const char *command, const char *format, ...) FERRY_PRINTF(2, 3);

/* Flushes standard output; EXIT_FAILED with a message when something printed there was lost. */
int finish_output(void);

/* The name most like `word`, by prefix or few edits; NULL when none is near. */
const char *closest_name(const char *word, const char *(*name)(size_t), size_t count);

/* Monotonic. */
uint64_t now_ns(void);

/* "1.00 GiB", "512 bytes"; into 32 characters. */
#define SIZE_TEXT 32
void size_text(double bytes, char text[SIZE_TEXT]);
/* "1,073,741,824"; into 32 characters. */
void grouped_text(uint64_t value, char text[SIZE_TEXT]);

/* "1.50 s", "340 us"; into 32 characters. */
void time_text(double ns, char text[SIZE_TEXT]);

/* SIGXFSZ, which the command ignores for itself alone, is as it was when the command began. */
void restore_xfsz(void);

/* The commands: arguments without the program's and the command's names. */
int command_apply(int argc, char **argv);
int command_bench(int argc, char **argv);
int command_calibrate(int argc, char **argv);
int command_info(int argc, char **argv);
int command_report(int argc, char **argv);
int command_run(int argc, char **argv);

#endif
