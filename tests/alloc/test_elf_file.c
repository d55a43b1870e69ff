/* Functions of ELF files: a small file made by hand, then the same file damaged in every way. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "alloc/elf_file.h"
#include "tests/test.h"

/* Names at fixed offsets of the string table. */
static const char names[] = "\0outer\0inner\0alias\0weak\0data\0empty\0undefined\0resolver\0late";
enum { OUTER = 1, INNER = 7, ALIAS = 13, WEAK = 19, DATA = 24, EMPTY = 29, UNDEFINED = 35, RESOLVER = 45, LATE = 54 };

enum { SYMBOLS = 10, SECTIONS = 5 };
struct image {
    ElfW(Ehdr) header;
    ElfW(Phdr) segment;
    ElfW(Sym) symbols[SYMBOLS], dynamic[2];
    char names[sizeof names];
    ElfW(Shdr) sections[SECTIONS];
    char rest[1024]; /* so that what is read beyond a table is not stopped by the file's end */
};

static ElfW(Sym)
    make_symbol(unsigned name, unsigned binding, unsigned type, uint16_t section, uint64_t value, uint64_t bytes) {
    return (ElfW(Sym)){.st_name = name,
                       .st_info = (unsigned char)ELF64_ST_INFO(binding, type),
                       .st_shndx = section,
                       .st_value = value,
                       .st_size = bytes};
}

static ElfW(Shdr) make_section(unsigned type, size_t offset, size_t bytes, unsigned link, size_t entry_bytes) {
    return (ElfW(Shdr)){
        .sh_type = type, .sh_offset = offset, .sh_size = bytes, .sh_link = link, .sh_entsize = entry_bytes};
}

static struct image make_image(void) {
    struct image image;
    memset(&image, 0, sizeof image);
    memcpy(image.header.e_ident, ELFMAG, SELFMAG);
    image.header.e_ident[EI_CLASS] = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    image.header.e_ident[EI_DATA] = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    image.header.e_phoff = offsetof(struct image, segment);
    image.header.e_phentsize = sizeof(ElfW(Phdr));
    image.header.e_phnum = 1;
    image.header.e_shoff = offsetof(struct image, sections);
    image.header.e_shentsize = sizeof(ElfW(Shdr));
    image.header.e_shnum = SECTIONS;
    image.segment = (ElfW(Phdr)){.p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = 100, .p_memsz = 100};
    image.symbols[1] = make_symbol(DATA, STB_GLOBAL, STT_OBJECT, 1, 0x1000, 0x1000);
    image.symbols[2] = make_symbol(OUTER, STB_LOCAL, STT_FUNC, 1, 0x1000, 0x400);
    image.symbols[3] = make_symbol(WEAK, STB_WEAK, STT_FUNC, 1, 0x1100, 0x100);
    image.symbols[4] = make_symbol(INNER, STB_GLOBAL, STT_FUNC, 1, 0x1100, 0x100);
    image.symbols[5] = make_symbol(ALIAS, STB_LOCAL, STT_FUNC, 1, 0x1100, 0x100);
    image.symbols[6] = make_symbol(EMPTY, STB_GLOBAL, STT_FUNC, 1, 0x1180, 0);
    image.symbols[7] = make_symbol(UNDEFINED, STB_GLOBAL, STT_FUNC, SHN_UNDEF, 0x1100, 0x100);
    image.symbols[8] = make_symbol(RESOLVER, STB_GLOBAL, STT_GNU_IFUNC, 1, 0x2000, 8);
    image.symbols[9] = make_symbol(LATE, STB_GLOBAL, STT_FUNC, 1, 0xf80, 0x400);
    image.dynamic[1] = make_symbol(OUTER, STB_GLOBAL, STT_FUNC, 1, 0x3000, 8);
    memcpy(image.names, names, sizeof names);
    image.sections[1] =
        make_section(SHT_DYNSYM, offsetof(struct image, dynamic), sizeof image.dynamic, 3, sizeof(ElfW(Sym)));
    image.sections[2] =
        make_section(SHT_SYMTAB, offsetof(struct image, symbols), sizeof image.symbols, 3, sizeof(ElfW(Sym)));
    image.sections[3] = make_section(SHT_STRTAB, offsetof(struct image, names), sizeof names, 0, 0);
    return image;
}

/* A file in memory with these bytes. */
static int file_of(const void *contents, size_t bytes) {
    static int file = -1;
    if (file < 0) {
        file = memfd_create("elf", MFD_CLOEXEC);
        REQUIRE(file >= 0);
    }
    REQUIRE(ftruncate(file, (off_t)bytes) == 0);
    REQUIRE(pwrite(file, contents, bytes, 0) == (ssize_t)bytes);
    return file;
}

/* The name around an address, with the offset; "" where there is none. */
static const char *around(const struct image *image, uint64_t address) {
    static char text[600];
    struct elf_function function;
    *text = '\0';
    if (elf_function_around(file_of(image, sizeof *image), address, &function)) {
        snprintf(text, sizeof text, "%s+%" PRIu64, function.name, address - function.start);
    }
    return text;
}

static void the_closest_function_is_found(void) {
    const struct image image = make_image();
    CHECK_STRING(around(&image, 0xf7f), "");
    CHECK_STRING(around(&image, 0xfff), "late+127");
    CHECK_STRING(around(&image, 0x1000), "outer+0");
    CHECK_STRING(around(&image, 0x10ff), "outer+255");
    CHECK_STRING(around(&image, 0x1100), "inner+0");
    CHECK_STRING(around(&image, 0x1180), "inner+128");
    CHECK_STRING(around(&image, 0x11ff), "inner+255");
    CHECK_STRING(around(&image, 0x1200), "outer+512");
    CHECK_STRING(around(&image, 0x13ff), "outer+1023");
    CHECK_STRING(around(&image, 0x1400), "");
    CHECK_STRING(around(&image, 0x2007), "resolver+7");
    CHECK_STRING(around(&image, 0x2008), "");
    CHECK_STRING(around(&image, 0), "");
    CHECK_STRING(around(&image, UINT64_MAX), "");
}

static void stripped_files_have_dynamic_symbols(void) {
    struct image image = make_image();
    CHECK_STRING(around(&image, 0x3001), "outer+1");
    image.sections[2].sh_type = SHT_NULL;
    CHECK_STRING(around(&image, 0x1000), "");
    CHECK_STRING(around(&image, 0x3001), "outer+1");
    image.header.e_shoff = 0;
    CHECK_STRING(around(&image, 0x3001), "");
}

static void many_sections_are_counted_in_the_first(void) {
    struct image image = make_image();
    image.header.e_shnum = 0;
    CHECK_STRING(around(&image, 0x1000), "");
    image.sections[0].sh_size = SECTIONS;
    CHECK_STRING(around(&image, 0x1000), "outer+0");
}

static void damage_is_an_answer_too(void) {
    struct image image = make_image();
    image.header.e_ident[EI_CLASS] ^= 3;
    CHECK_STRING(around(&image, 0x1000), "");
    image = make_image();
    image.sections[2].sh_link = SECTIONS;
    image.sections[1].sh_link = UINT32_MAX;
    CHECK_STRING(around(&image, 0x1000), "");
    image = make_image();
    image.sections[2].sh_size = UINT64_MAX;
    CHECK_STRING(around(&image, 0x1000), "");
    image = make_image();
    image.sections[2].sh_offset = UINT64_MAX - 16;
    CHECK_STRING(around(&image, 0x1000), "");
    image = make_image();
    image.symbols[2].st_name = sizeof names;
    CHECK_STRING(around(&image, 0x1000), "");
    image.symbols[2].st_name = 0;
    CHECK_STRING(around(&image, 0x1000), "");
    image = make_image();
    image.symbols[2].st_value = UINT64_MAX - 3;
    image.symbols[2].st_size = UINT64_MAX;
    CHECK_STRING(around(&image, 0x1000), "late+128");
    CHECK_STRING(around(&image, UINT64_MAX), "outer+3");
    image.sections[3].sh_size = 3;
    CHECK_STRING(around(&image, UINT64_MAX), "ou+3");
    CHECK_STRING(around(&image, 0x1100), "");
    image.sections[3].sh_size = sizeof names;
    memset(image.names, 'x', sizeof image.names);
    CHECK_UINT(strlen(around(&image, 0x1100)), sizeof names - INNER + strlen("+0"));
}

static void check_any(const void *contents, size_t bytes, uint64_t address) {
    struct elf_function function;
    if (elf_function_around(file_of(contents, bytes), address, &function)) {
        CHECK(memchr(function.name, '\0', sizeof function.name) != NULL && function.name[0] != '\0');
        CHECK(function.start <= address);
    }
}

static void truncated_files_do_no_harm(void) {
    const struct image image = make_image();
    for (size_t bytes = 0; bytes < sizeof image; bytes++) {
        check_any(&image, bytes, 0x1100);
    }
}

/* Fields set to what overflows, and random bytes anywhere. */
static void damaged_files_do_no_harm(void) {
    static const uint64_t nasty[] = {0,         1,          0x7f,      0xff,       0xffff,
                                     INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX, UINT64_MAX - 23};
    test_random random = {test_seed(11)};
    for (int i = 0; i < 30000; i++) {
        struct image image = make_image();
        unsigned char *bytes = (unsigned char *)&image;
        for (int64_t changes = test_random_int(&random, 1, 4); changes > 0; changes--) {
            const size_t width = (size_t)1 << test_random_int(&random, 0, 3);
            const size_t at = (size_t)test_random_int(&random, 0, (int64_t)(sizeof image / width) - 1) * width;
            const uint64_t value = test_random_int(&random, 0, 1) != 0
                                       ? nasty[test_random_int(&random, 0, sizeof nasty / sizeof *nasty - 1)]
                                       : test_random_next(&random);
            memcpy(bytes + at, &value, width);
        }
        check_any(&image, sizeof image, (uint64_t)test_random_int(&random, 0xf00, 0x3100));
    }
}

/* One's own file is what was loaded; one whose headers or build differ is not. */
struct program {
    int file, copy;
};

static int compare(struct dl_phdr_info *loaded, size_t bytes, void *context) {
    const struct program *program = context;
    (void)bytes;
    CHECK(elf_is_loaded(program->file, loaded));
    CHECK(elf_is_loaded(program->copy, loaded));
    for (size_t i = 0; i < loaded->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &loaded->dlpi_phdr[i];
        if (segment->p_type == PT_NOTE && segment->p_filesz > 0) {
            unsigned char last;
            const off_t at = (off_t)(segment->p_offset + segment->p_filesz - 1);
            REQUIRE(pread(program->copy, &last, 1, at) == 1);
            last ^= 1;
            REQUIRE(pwrite(program->copy, &last, 1, at) == 1);
            CHECK(!elf_is_loaded(program->copy, loaded));
            last ^= 1;
            REQUIRE(pwrite(program->copy, &last, 1, at) == 1);
        }
    }
    REQUIRE(ftruncate(program->copy, sizeof(ElfW(Ehdr)) + sizeof(ElfW(Phdr))) == 0);
    CHECK(!elf_is_loaded(program->copy, loaded));
    return 1;
}

static void the_file_is_compared_with_memory(void) {
    const struct program program = {.file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
                                    .copy = memfd_create("copy", MFD_CLOEXEC)};
    REQUIRE(program.file >= 0 && program.copy >= 0);
    char some[65536];
    for (ssize_t got; (got = read(program.file, some, sizeof some)) > 0;) {
        REQUIRE(write(program.copy, some, (size_t)got) == got);
    }
    CHECK_INT(dl_iterate_phdr(compare, (void *)(uintptr_t)&program), 1);
    close(program.copy);
    close(program.file);
}

int main(void) {
    RUN(the_closest_function_is_found);
    RUN(stripped_files_have_dynamic_symbols);
    RUN(many_sections_are_counted_in_the_first);
    RUN(damage_is_an_answer_too);
    RUN(truncated_files_do_no_harm);
    RUN(damaged_files_do_no_harm);
    RUN(the_file_is_compared_with_memory);
    return test_finish();
}
