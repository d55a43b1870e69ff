/*
 * The functions of an ELF file. Everything is read with bounded reads of the file, nothing is mapped and nothing in it
 * is believed: a damaged file, or one that is truncated meanwhile, gives no answer.
 */
#ifndef FERRY_ALLOC_ELF_FILE_H
#define FERRY_ALLOC_ELF_FILE_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct elf_function {
    uint64_t start; /* as linked */
    char name[512]; /* as linked; cut to fit */
};

/* The function around an address as linked: from the file's symbol table, else from that of its dynamic symbols.
 * `file` is a descriptor that can be read anywhere; its position stays. */
bool elf_function_around(int file, uint64_t address, struct elf_function *out);

/* Whether the file is what was loaded: its program headers and notes, the build's identity among them, are the ones in
 * memory. */
bool elf_is_loaded(int file, const struct dl_phdr_info *loaded);

#endif
