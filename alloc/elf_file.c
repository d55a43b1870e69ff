#include "elf_file.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define NATIVE_CLASS (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)
#define NATIVE_ORDER (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB)
#define MOST_SECTIONS 1000000 /* more than compilers make */

typedef ElfW(Ehdr) elf_header;
typedef ElfW(Shdr) elf_section;
typedef ElfW(Phdr) elf_segment;
typedef ElfW(Sym) elf_symbol;

/* All of the bytes at an offset. */
static bool read_at(int file, void *buffer, size_t bytes, uint64_t offset) {
    size_t done = 0;
    while (done < bytes) {
        if (offset > (uint64_t)LONG_MAX - done) {
            return false;
        }
        const ssize_t got = pread(file, (char *)buffer + done, bytes - done, (off_t)(offset + done));
        if (got <= 0 && !(got < 0 && errno == EINTR)) {
            return false;
        }
        done += got < 0 ? 0 : (size_t)got;
    }
    return true;
}

/* Element `index` of a table at `offset`. */
static bool read_nth(int file, void *buffer, size_t bytes, uint64_t offset, uint64_t index) {
    uint64_t distance, at;
    return !__builtin_mul_overflow(index, bytes, &distance) && !__builtin_add_overflow(offset, distance, &at) &&
           read_at(file, buffer, bytes, at);
}

static bool read_header(int file, elf_header *out) {
    return read_at(file, out, sizeof *out, 0) && memcmp(out->e_ident, ELFMAG, SELFMAG) == 0 &&
           out->e_ident[EI_CLASS] == NATIVE_CLASS && out->e_ident[EI_DATA] == NATIVE_ORDER;
}

static bool read_section(int file, const elf_header *header, uint64_t index, elf_section *out) {
    return header->e_shoff != 0 && header->e_shentsize == sizeof *out &&
           read_nth(file, out, sizeof *out, header->e_shoff, index);
}

/* A count that does not fit the header is in the first section. */
static uint64_t section_count(int file, const elf_header *header) {
    elf_section first;
    uint64_t count = header->e_shnum;
    if (count == 0 && read_section(file, header, 0, &first)) {
        count = first.sh_size;
    }
    return count < MOST_SECTIONS ? count : MOST_SECTIONS;
}

/* The first table of symbols of a type, with its names. */
static bool find_table(int file, const elf_header *header, uint32_t type, elf_section *symbols, elf_section *names) {
    const uint64_t count = section_count(file, header);
    for (uint64_t index = 0; index < count && read_section(file, header, index, symbols); index++) {
        if (symbols->sh_type == type) {
            return symbols->sh_entsize == sizeof(elf_symbol) && symbols->sh_link < count &&
                   read_section(file, header, symbols->sh_link, names) && names->sh_type == SHT_STRTAB;
        }
    }
    return false;
}

static bool is_function(const elf_symbol *symbol) {
    const unsigned type = ELF64_ST_TYPE(symbol->st_info); /* the same for both classes */
    return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF;
}

/* Of several names for one address: what is called from elsewhere is better known than a weak alias, or a local one. */
static int renown(const elf_symbol *symbol) {
    const unsigned binding = ELF64_ST_BIND(symbol->st_info);
    return binding == STB_GLOBAL ? 2 : binding == STB_WEAK ? 1 : 0;
}

/* Whether the symbol covers the address, and closer than `best` does. An unset best covers nothing. */
static bool is_closer(const elf_symbol *symbol, uint64_t address, const elf_symbol *best) {
    if (!is_function(symbol) || symbol->st_value > address || address - symbol->st_value >= symbol->st_size) {
        return false;
    }
    return best->st_size == 0 || symbol->st_value > best->st_value ||
           (symbol->st_value == best->st_value && renown(symbol) > renown(best));
}

/* The closest symbol of a table; st_size 0: none. False when the table cannot be read to its end. */
static bool search(int file, const elf_section *table, uint64_t address, elf_symbol *best) {
    enum { AT_ONCE = 256 };
    elf_symbol some[AT_ONCE];
    const uint64_t count = table->sh_size / sizeof *some;
    memset(best, 0, sizeof *best);
    for (uint64_t index = 0; index < count; index += AT_ONCE) {
        const size_t here = count - index < AT_ONCE ? (size_t)(count - index) : AT_ONCE;
        if (table->sh_offset > UINT64_MAX - index * sizeof *some ||
            !read_at(file, some, here * sizeof *some, table->sh_offset + index * sizeof *some)) {
            return false;
        }
        for (size_t i = 0; i < here; i++) {
            if (is_closer(&some[i], address, best)) {
                *best = some[i];
            }
        }
    }
    return true;
}

static bool read_name(int file, const elf_section *names, uint32_t offset, struct elf_function *out) {
    if (offset >= names->sh_size || names->sh_offset > UINT64_MAX - offset) {
        return false;
    }
    const uint64_t room = names->sh_size - offset;
    const size_t bytes = room < sizeof out->name - 1 ? (size_t)room : sizeof out->name - 1;
    memset(out->name, 0, sizeof out->name);
    return read_at(file, out->name, bytes, names->sh_offset + offset) && out->name[0] != '\0';
}

bool elf_function_around(int file, uint64_t address, struct elf_function *out) {
    static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM};
    elf_header header;
    if (!read_header(file, &header)) {
        return false;
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        elf_section symbols, names;
        elf_symbol best;
        if (find_table(file, &header, types[i], &symbols, &names) && search(file, &symbols, address, &best) &&
            best.st_size > 0 && read_name(file, &names, best.st_name, out)) {
            out->start = best.st_value;
            return true;
        }
    }
    return false;
}

/* Whether a segment's bytes in the file can be read in memory. */
static bool is_in_memory(const elf_segment *wanted, const struct dl_phdr_info *loaded) {
    for (size_t i = 0; i < loaded->dlpi_phnum; i++) {
        const elf_segment *load = &loaded->dlpi_phdr[i];
        if (load->p_type == PT_LOAD && (load->p_flags & PF_R) != 0 && wanted->p_vaddr >= load->p_vaddr &&
            wanted->p_vaddr - load->p_vaddr <= load->p_filesz &&
            wanted->p_filesz <= load->p_filesz - (wanted->p_vaddr - load->p_vaddr)) {
            return true;
        }
    }
    return false;
}

static bool equals_memory(int file, const elf_segment *segment, const struct dl_phdr_info *loaded) {
    const char *memory = (const char *)(uintptr_t)(loaded->dlpi_addr + segment->p_vaddr);
    char some[256];
    for (size_t done = 0; done < segment->p_filesz; done += sizeof some) {
        const size_t left = segment->p_filesz - done, here = left < sizeof some ? left : sizeof some;
        if (!read_at(file, some, here, segment->p_offset + done) || memcmp(some, memory + done, here) != 0) {
            return false;
        }
    }
    return true;
}

bool elf_is_loaded(int file, const struct dl_phdr_info *loaded) {
    elf_header header;
    if (!read_header(file, &header) || header.e_phentsize != sizeof(elf_segment) ||
        header.e_phnum != loaded->dlpi_phnum) {
        return false;
    }
    for (size_t i = 0; i < loaded->dlpi_phnum; i++) {
        const elf_segment *segment = &loaded->dlpi_phdr[i];
        elf_segment in_file;
        if (!read_nth(file, &in_file, sizeof in_file, header.e_phoff, i) ||
            memcmp(&in_file, segment, sizeof in_file) != 0 ||
            (segment->p_type == PT_NOTE && is_in_memory(segment, loaded) && !equals_memory(file, segment, loaded))) {
            return false;
        }
    }
    return true;
}
