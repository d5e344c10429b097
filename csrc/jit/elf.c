/* elf.c: whether the bytes of an object are whole.
 *
 * The system's loader maps what the headers of a file say and follows what it
 * finds there: a file that ends too early, or whose end was never written, kills
 * the process inside of it. So everything that it will follow is followed here
 * first, with a look at where each thing ends: segments, sections (a linker puts
 * their table at the end of the file), notes, dynamic entries, the hash table,
 * symbols, relocations. What is called while an object is loaded must lie in its
 * code, and code with a hole in it, as a disk leaves one, is refused. What the
 * code computes is not judged: the compiler is believed.
 *
 * Other systems than 64-bit Linux have other files; there nothing is checked. */
#include "private.h"

#if defined(__linux__) && defined(__LP64__)
#include <elf.h>
#include <string.h>

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#define RELATIVE R_X86_64_RELATIVE
#define CALLS(type) ((type) == R_X86_64_IRELATIVE || (type) == R_X86_64_COPY)
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#define RELATIVE R_AARCH64_RELATIVE
#define CALLS(type) ((type) == R_AARCH64_IRELATIVE || (type) == R_AARCH64_COPY)
#else
#define MACHINE EM_NONE /* not compared */
#define RELATIVE UINT32_MAX
#define CALLS(type) false
#endif
#if !defined(DT_RELR) /* before glibc 2.36, and in musl */
#define DT_RELRSZ 35
#define DT_RELR 36
#define DT_RELRENT 37
#endif
#define HOLE 64                  /* zeros, one behind the other, that no code has */
#define SPAN ((uint64_t)1 << 30) /* more than any kernel takes */

typedef struct {
    const char *bytes;
    uint64_t n;
    const Elf64_Ehdr *head;
    const Elf64_Phdr *segment;
    const Elf64_Shdr *section;
    const Elf64_Dyn *dynamic;
    uint64_t nsegment, nsection, ndynamic, nname, nsymbol;
} file;

/* count elements of a size at an offset; null where they do not lie in the file, or not where a number may. */
static const void *at(const file *f, uint64_t offset, uint64_t count, uint64_t size)
{
    const uint64_t align = size >= 8 ? 8 : size;
    if (offset > f->n || offset % align || count > (f->n - offset) / size) return NULL;
    return f->bytes + offset;
}

/* The segment in whose memory, or in whose part of the file, size bytes at an address lie. */
static const Elf64_Phdr *holder(const file *f, uint64_t address, uint64_t size, bool filed)
{
    for (const Elf64_Phdr *s = f->segment; s < f->segment + f->nsegment; s++) {
        const uint64_t room = filed ? s->p_filesz : s->p_memsz;
        if (s->p_type == PT_LOAD && address >= s->p_vaddr && size <= room &&
            address - s->p_vaddr <= room - size)
            return s;
    }
    return NULL;
}

static bool allows(const file *f, uint64_t address, uint64_t size, uint32_t what)
{
    const Elf64_Phdr *s = holder(f, address, size, false);
    return s && (s->p_flags & what) == what;
}

/* count elements of a size at an address, as they are in the file. */
static const void *mapped(const file *f, uint64_t address, uint64_t count, uint64_t size)
{
    const Elf64_Phdr *s = count > f->n / size ? NULL : holder(f, address, count * size, true);
    return s ? at(f, s->p_offset + (address - s->p_vaddr), count, size) : NULL;
}

/* ---- head, segments, sections ---- */
static const char *check_head(file *f)
{
    const Elf64_Ehdr *h = f->head = at(f, 0, 1, sizeof *h);
    if (!h || memcmp(h->e_ident, ELFMAG, SELFMAG)) return "it is not an ELF file";
    if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB ||
        (MACHINE && h->e_machine != MACHINE))
        return "it is made for another architecture";
    if (h->e_type != ET_DYN || h->e_version != EV_CURRENT) return "it is not a shared object";
    f->nsegment = h->e_phnum;
    f->nsection = h->e_shnum;
    f->segment =
        h->e_phentsize == sizeof *f->segment ? at(f, h->e_phoff, f->nsegment, sizeof *f->segment) : NULL;
    f->section = at(f, h->e_shoff, f->nsection, sizeof *f->section);
    if (!f->segment) return "its segments lie outside of it";
    return f->section && (!f->nsection || h->e_shentsize == sizeof *f->section) ? NULL : "it ends too early";
}

static const char *check_notes(const file *f, const Elf64_Phdr *s)
{
    const char *p = at(f, s->p_offset, s->p_filesz, 1);
    for (uint64_t left = s->p_filesz; left >= sizeof(Elf64_Nhdr);) {
        Elf64_Nhdr note;
        memcpy(&note, p, sizeof note);
        const uint64_t name = ((uint64_t)note.n_namesz + 3) & ~(uint64_t)3;
        const uint64_t size = sizeof note + name + (((uint64_t)note.n_descsz + 7) & ~(uint64_t)7);
        if (sizeof note + name + note.n_descsz > left) return "a note ends behind its segment";
        if (size >= left) break;
        p += size;
        left -= size;
    }
    return NULL;
}

static const char *check_segment(const file *f, const Elf64_Phdr *s)
{
    if (s->p_type == PT_GNU_STACK) return s->p_flags & PF_X ? "it asks for code on the stack" : NULL;
    if (!at(f, s->p_offset, s->p_filesz, 1)) return "a segment ends behind it";
    if (s->p_filesz > s->p_memsz || s->p_memsz > SPAN || s->p_vaddr > SPAN || s->p_align > SPAN)
        return "a segment is too large";
    if (s->p_type != PT_LOAD && s->p_memsz) {
        const Elf64_Phdr *in = holder(f, s->p_vaddr, 0, false);
        const uint64_t pages = s->p_type == PT_GNU_RELRO && in ? in->p_align : 0; /* ends with a page */
        if (!in || s->p_vaddr + s->p_memsz > in->p_vaddr + in->p_memsz + pages)
            return "a segment is not part of its memory";
    }
    return s->p_type == PT_NOTE || s->p_type == PT_GNU_PROPERTY ? check_notes(f, s) : NULL;
}

static const char *check_segments(const file *f)
{
    uint64_t end = 0;
    for (const Elf64_Phdr *s = f->segment; s < f->segment + f->nsegment; s++) {
        const char *wrong = check_segment(f, s);
        if (wrong) return wrong;
        if (s->p_type != PT_LOAD) continue;
        if (s->p_vaddr < end) return "segments lie over each other";
        end = s->p_vaddr + s->p_memsz;
    }
    return NULL;
}

static bool has_hole(const char *s, uint64_t n)
{
    const uint64_t most = n < HOLE ? n : HOLE;
    uint64_t zeros = 0;
    for (uint64_t i = 0; i < n && zeros < most; i++) zeros = s[i] ? 0 : zeros + 1;
    return n && zeros == most;
}

static const char *check_sections(const file *f)
{
    for (const Elf64_Shdr *s = f->section; s < f->section + f->nsection; s++) {
        if (s->sh_type == SHT_NOBITS || s->sh_type == SHT_NULL) continue;
        const char *bytes = at(f, s->sh_offset, s->sh_size, 1);
        if (!bytes) return "a section ends behind it";
        if (!(s->sh_flags & SHF_EXECINSTR)) continue;
        if (has_hole(bytes, s->sh_size)) return "its code has a hole";
        if (!allows(f, s->sh_addr, s->sh_size, PF_R | PF_X)) return "its code lies where none may run";
    }
    const uint64_t names = f->head->e_shstrndx; /* the section that linkers write last */
    if (f->nsection && (names >= f->nsection || f->section[names].sh_type != SHT_STRTAB))
        return "its end was not written";
    return NULL;
}

/* ---- the dynamic section ---- */
static const char *find_dynamic(file *f)
{
    const Elf64_Phdr *s = f->segment, *end = s + f->nsegment;
    while (s < end && s->p_type != PT_DYNAMIC) s++;
    if (s == end) return "it has no dynamic section";
    const uint64_t n = s->p_filesz / sizeof *f->dynamic;
    f->dynamic = mapped(f, s->p_vaddr, n, sizeof *f->dynamic);
    while (f->dynamic && f->ndynamic < n && f->dynamic[f->ndynamic].d_tag != DT_NULL) f->ndynamic++;
    return f->dynamic && f->ndynamic < n ? NULL : "its dynamic section has no end";
}

/* The value of a tag, or `otherwise`. The last one counts, as it does for the loader. */
static uint64_t get(const file *f, int64_t tag, uint64_t otherwise)
{
    for (uint64_t i = 0; i < f->ndynamic; i++)
        if (f->dynamic[i].d_tag == tag) otherwise = f->dynamic[i].d_un.d_val;
    return otherwise;
}

static const char *check_names(file *f)
{
    static const int64_t named[] = {DT_NEEDED, DT_SONAME, DT_RPATH, DT_RUNPATH, DT_AUXILIARY, DT_FILTER};
    f->nname = get(f, DT_STRSZ, 0);
    const char *names = mapped(f, get(f, DT_STRTAB, SPAN), f->nname, 1);
    if (!names || !f->nname || names[f->nname - 1]) return "its names lie outside of it";
    for (uint64_t i = 0; i < f->ndynamic; i++)
        for (int k = 0; k < SC_LEN(named); k++)
            if (f->dynamic[i].d_tag == named[k] && f->dynamic[i].d_un.d_val >= f->nname)
                return "a name lies outside of it";
    return NULL;
}

/* ---- symbols, found by a table of hashes that says how many there are ---- */
static bool follow_gnu_hash(file *f, uint64_t address)
{
    const uint32_t *head = mapped(f, address, 4, sizeof *head);
    if (!head || !head[0] || !head[2] || head[2] & (head[2] - 1)) return false;
    const uint64_t filter = address + 4 * sizeof *head, table = filter + head[2] * sizeof(Elf64_Addr);
    const uint64_t chains = table + head[0] * sizeof *head;
    const uint32_t *bucket = mapped(f, table, head[0], sizeof *bucket), *link;
    if (!bucket || !mapped(f, filter, head[2], sizeof(Elf64_Addr))) return false;
    f->nsymbol = head[1];
    for (uint32_t b = 0; b < head[0]; b++) {
        if (bucket[b] && bucket[b] < head[1]) return false;
        for (uint64_t i = bucket[b]; i; i = *link & 1 ? 0 : i + 1) {
            if (!(link = mapped(f, chains + (i - head[1]) * sizeof *link, 1, sizeof *link))) return false;
            if (i >= f->nsymbol) f->nsymbol = i + 1;
        }
    }
    return true;
}

static bool follow_hash(file *f, uint64_t address)
{
    const uint32_t *head = mapped(f, address, 2, sizeof *head);
    const uint64_t n = head ? (uint64_t)2 + head[0] + head[1] : 0;
    if (!head || !head[0] || !(head = mapped(f, address, n, sizeof *head))) return false;
    const uint32_t *bucket = head + 2, *chain = bucket + head[0];
    f->nsymbol = head[1];
    for (uint32_t b = 0; b < head[0]; b++) {
        uint32_t i = bucket[b], steps = 0;
        for (; i && i < f->nsymbol && steps < f->nsymbol; steps++) i = chain[i];
        if (i) return false;
    }
    return true;
}

static const char *check_symbols(file *f)
{
    const uint64_t gnu = get(f, DT_GNU_HASH, 0), old = get(f, DT_HASH, 0);
    if (!(gnu ? follow_gnu_hash(f, gnu) : old && follow_hash(f, old)))
        return "its table of symbols leads out of it";
    const Elf64_Sym *symbol = mapped(f, get(f, DT_SYMTAB, SPAN), f->nsymbol, sizeof *symbol);
    if (!symbol || get(f, DT_SYMENT, 0) != sizeof *symbol) return "its symbols lie outside of it";
    for (const Elf64_Sym *s = symbol; s < symbol + f->nsymbol; s++) {
        const bool here = s->st_shndx != SHN_UNDEF && s->st_shndx != SHN_ABS;
        if (s->st_name >= f->nname || (here && !holder(f, s->st_value, s->st_size, false)))
            return "a symbol lies outside of it";
        if (ELF64_ST_TYPE(s->st_info) == STT_GNU_IFUNC) return "a symbol would be called to be found";
    }
    return NULL;
}

/* ---- relocations, and what is called ---- */
typedef struct {
    uint64_t begin, size, seen; /* an array of functions: its bytes, and those that are relocated into code */
} calls;

static bool read_calls(const file *f, int64_t array, int64_t size, calls *c)
{
    *c = (calls){.begin = get(f, array, 0), .size = get(f, size, 0)};
    return (c->begin != 0) == (c->size != 0) && (!c->size || holder(f, c->begin, c->size, false));
}

static bool check_relocation(const file *f, const Elf64_Rela *r, calls *called)
{
    const uint64_t type = ELF64_R_TYPE(r->r_info);
    if (CALLS(type) || ELF64_R_SYM(r->r_info) >= f->nsymbol) return false;
    if (!allows(f, r->r_offset, sizeof(Elf64_Addr), PF_W)) return false;
    if (type == RELATIVE && !holder(f, (uint64_t)r->r_addend, 0, false)) return false;
    for (int k = 0; k < 2; k++)
        if (r->r_offset - called[k].begin < called[k].size) {
            if (type == RELATIVE && !allows(f, (uint64_t)r->r_addend, 0, PF_X)) return false;
            called[k].seen += sizeof(Elf64_Addr);
        }
    return true;
}

static bool check_relocations(const file *f, int64_t table, int64_t bytes, calls *called)
{
    const uint64_t size = get(f, bytes, 0), n = size / sizeof(Elf64_Rela);
    const Elf64_Rela *r = mapped(f, get(f, table, SPAN), n, sizeof *r);
    if (!size) return !get(f, table, 0);
    const uint64_t alike =
        table == DT_RELA ? get(f, DT_RELACOUNT, 0) : 0; /* the first ones, the loader insists */
    if (!r || size % sizeof *r || alike > n) return false;
    for (uint64_t i = 0; i < n; i++)
        if (!check_relocation(f, &r[i], called) || (i < alike && ELF64_R_TYPE(r[i].r_info) != RELATIVE))
            return false;
    return true;
}

/* Packed: an address, then words whose bits say which of the 63 places behind it are meant too. */
static bool check_packed(const file *f, calls *called)
{
    const uint64_t size = get(f, DT_RELRSZ, 0), n = size / sizeof(uint64_t), step = sizeof(Elf64_Addr);
    if (!size) return !get(f, DT_RELR, 0);
    const uint64_t *r = mapped(f, get(f, DT_RELR, SPAN), n, sizeof *r);
    uint64_t place = 0;
    for (uint64_t i = 0; r && i < n; i++) {
        const uint64_t first = r[i] & 1 ? place : r[i];
        uint64_t bits = r[i] & 1 ? r[i] >> 1 : 1;
        for (uint64_t where = first; bits; bits >>= 1, where += step) {
            const Elf64_Rela one = {.r_offset = where, .r_info = ELF64_R_INFO(0, RELATIVE)};
            if (bits & 1 && !check_relocation(f, &one, called)) return false;
        }
        place = first + (r[i] & 1 ? 63 * step : step);
    }
    return r && get(f, DT_RELRENT, 0) == sizeof *r;
}

static const char *check_code(const file *f)
{
    calls called[2];
    const uint64_t begin = get(f, DT_INIT, 0), end = get(f, DT_FINI, 0);
    if ((begin && !allows(f, begin, 1, PF_X)) || (end && !allows(f, end, 1, PF_X)) ||
        !read_calls(f, DT_INIT_ARRAY, DT_INIT_ARRAYSZ, &called[0]) ||
        !read_calls(f, DT_FINI_ARRAY, DT_FINI_ARRAYSZ, &called[1]))
        return "what it calls at first or last is not its code";
    if ((get(f, DT_RELA, 0) && get(f, DT_RELAENT, 0) != sizeof(Elf64_Rela)) ||
        (get(f, DT_JMPREL, 0) && get(f, DT_PLTREL, 0) != DT_RELA) || get(f, DT_REL, 0) ||
        !check_relocations(f, DT_RELA, DT_RELASZ, called) ||
        !check_relocations(f, DT_JMPREL, DT_PLTRELSZ, called) || !check_packed(f, called))
        return "a relocation leads out of it";
    for (int k = 0; k < 2; k++)
        if (called[k].seen != called[k].size) return "what it calls at first or last is not its code";
    return NULL;
}

const char *sc_elf_wrong(const sc_text *object)
{
    file f = {.bytes = object->s, .n = object->n};
    const char *wrong = check_head(&f);
    if (!wrong) wrong = check_segments(&f);
    if (!wrong) wrong = check_sections(&f);
    if (!wrong) wrong = find_dynamic(&f);
    if (!wrong) wrong = check_names(&f);
    if (!wrong) wrong = check_symbols(&f);
    return wrong ? wrong : check_code(&f);
}
#else
const char *sc_elf_wrong(const sc_text *object)
{
    (void)object;
    return NULL;
}
#endif
