/* Places in code, for reports. */
#ifndef FERRY_ALLOC_SYMBOL_H
#define FERRY_ALLOC_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Writes where the call is that returns to `address`: "step+0x87 in solver", static functions included; where nothing
 * is known of functions, "solver+0x1149", whose number addr2line takes. A return address is one past the call and may
 * belong to the next function: what is written is of the address before it. False, and nothing written, when the
 * address lies in no loaded file. Files are read: milliseconds.
 */
bool symbol_describe(uintptr_t address, char *text, size_t bytes);

#endif
