/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/c/link/object.h"

#include <ctype.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"

#define MAX_NAME 8192 /* bytes; mangled names of templates can have thousands */

void kl_object_free(struct kl_object *object)
{
	for (size_t i = 0; i < object->nsec; i++)
		free(object->sec[i].name);
	for (size_t i = 0; i < object->nsym; i++)
		free(object->sym[i].name);
	free(object->sec);
	free(object->sym);
	free(object->rel);
	free(object->bytes);
	free(object->path);
	free(object);
}

static int read_object(struct kl_object *object)
{
	/* do not follow a symlink that was put in place of the compiler's output */
	KL_AUTO(kl_closep) int fd = open(object->path,
					 O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct kl_buf buf = KL_BUF_INIT;
	int err;

	if (fd < 0)
		return kl_error_errno("cannot open '%s'", object->path);
	err = kl_buf_read_fd(&buf, fd, KL_OBJECT_MAX_BYTES);
	if (err < 0) {
		kl_buf_release(&buf);
		return err == KL_EINVALID ? kl_error(KL_ENO, "the object is larger than 64 MiB") :
					    err;
	}
	object->len = buf.len;
	object->bytes = (unsigned char *)kl_buf_detach(&buf);
	return 0;
}

static int bad_object(const struct kl_object *object, const char *what)
{
	return kl_error(KL_EIO, "cannot read '%s' as an object: %s", object->path, what);
}

static int copy_name(char **out, Elf *elf, size_t strtab, size_t at, const char *what)
{
	const char *text = elf_strptr(elf, strtab, at);

	if (!text)
		return kl_error(KL_ENO, "a %s has no readable name", what);
	if (strlen(text) > MAX_NAME)
		return kl_error(KL_ENO, "a %s has a name of more than %d bytes", what, MAX_NAME);
	for (const char *ch = text; *ch; ch++)
		if (!isalnum((unsigned char)*ch) && !strchr("_.$-", *ch))
			return kl_error(
				KL_ENO,
				"a %s has a name with characters other than letters, digits and \"_.$-\"",
				what);
	*out = kl_strdup(text);
	return 0;
}

static int read_section(struct kl_object *object, Elf *elf, size_t strtab, Elf_Scn *scn)
{
	struct kl_osec *section = &object->sec[object->nsec];
	GElf_Shdr shdr;
	int err;

	if (!gelf_getshdr(scn, &shdr))
		return bad_object(object, elf_errmsg(-1));
	*section = (struct kl_osec){
		.type = shdr.sh_type,
		.flags = shdr.sh_flags,
		.size = shdr.sh_size,
		.entsize = shdr.sh_entsize,
		.align = shdr.sh_addralign,
	};
	err = copy_name(&section->name, elf, strtab, shdr.sh_name, "section");
	if (err < 0)
		return err;
	object->nsec++;
	if (shdr.sh_type == SHT_NOBITS || shdr.sh_type == SHT_NULL)
		return 0;
	if (shdr.sh_offset > object->len || shdr.sh_size > object->len - shdr.sh_offset)
		return bad_object(object, "a section lies outside the file");
	section->data = object->bytes + shdr.sh_offset;
	return 0;
}

static int read_sections(struct kl_object *object, Elf *elf)
{
	size_t n, strtab;
	int err = 0;

	if (elf_getshdrnum(elf, &n) < 0 || elf_getshdrstrndx(elf, &strtab) < 0)
		return bad_object(object, elf_errmsg(-1));
	if (n > KL_OBJECT_MAX_ITEMS)
		return kl_error(KL_ENO, "the object has %zu sections; the limit is %d", n,
				KL_OBJECT_MAX_ITEMS);
	object->sec = kl_calloc(n, sizeof(*object->sec));
	for (size_t i = 0; !err && i < n; i++)
		err = read_section(object, elf, strtab, elf_getscn(elf, i));
	return err;
}

static int place_of(const struct kl_object *object, size_t shndx, int *out)
{
	if (shndx == SHN_UNDEF)
		*out = KL_SYM_UNDEF;
	else if (shndx == SHN_ABS)
		*out = KL_SYM_ABS;
	else if (shndx == SHN_COMMON)
		*out = KL_SYM_COMMON;
	else if (shndx < object->nsec)
		*out = (int)shndx;
	else
		return bad_object(object, "a symbol refers to a section that does not exist");
	return 0;
}

static int read_symbols(struct kl_object *object, Elf *elf, size_t index)
{
	Elf_Data *data = elf_getdata(elf_getscn(elf, index), NULL);
	size_t n = data ? data->d_size / sizeof(Elf64_Sym) : 0;
	GElf_Shdr shdr;
	int err = 0;

	if (!data || !gelf_getshdr(elf_getscn(elf, index), &shdr))
		return bad_object(object, "cannot read its symbols");
	if (n > KL_OBJECT_MAX_ITEMS)
		return kl_error(KL_ENO, "the object has %zu symbols; the limit is %d", n,
				KL_OBJECT_MAX_ITEMS);
	object->sym = kl_calloc(n, sizeof(*object->sym));
	for (size_t i = 0; !err && i < n; i++) {
		struct kl_osym *symbol = &object->sym[i];
		GElf_Sym raw;

		if (!gelf_getsym(data, (int)i, &raw))
			return bad_object(object, elf_errmsg(-1));
		if (raw.st_shndx == SHN_XINDEX)
			return kl_error(KL_ENO, "the object has too many sections");
		symbol->value = raw.st_value;
		symbol->size = raw.st_size;
		symbol->type = GELF_ST_TYPE(raw.st_info);
		symbol->bind = GELF_ST_BIND(raw.st_info);
		object->nsym++;
		err = place_of(object, raw.st_shndx, &symbol->sec);
		/* do not check the name of a source file, which can have any characters */
		if (!err && symbol->type == STT_FILE)
			symbol->name = kl_strdup("file");
		else if (!err)
			err = copy_name(&symbol->name, elf, shdr.sh_link, raw.st_name, "symbol");
	}
	return err;
}

static int read_relocations(struct kl_object *object, Elf *elf, size_t index)
{
	Elf_Data *data = elf_getdata(elf_getscn(elf, index), NULL);
	size_t n = data ? data->d_size / sizeof(Elf64_Rela) : 0, alloc = object->nrel;
	GElf_Shdr shdr;

	if (!data || !gelf_getshdr(elf_getscn(elf, index), &shdr))
		return bad_object(object, "cannot read its relocations");
	if (shdr.sh_type == SHT_REL)
		return kl_error(KL_ENO, "the object has relocations without addends");
	if (shdr.sh_info >= object->nsec)
		return bad_object(object, "relocations refer to a section that does not exist");
	if (object->nrel + n > KL_OBJECT_MAX_ITEMS)
		return kl_error(KL_ENO, "the object has more than %d relocations",
				KL_OBJECT_MAX_ITEMS);
	KL_GROW(object->rel, object->nrel + n, alloc);
	for (size_t i = 0; i < n; i++) {
		GElf_Rela rela;

		if (!gelf_getrela(data, (int)i, &rela) || GELF_R_SYM(rela.r_info) >= object->nsym)
			return bad_object(object,
					  "a relocation refers to a symbol that does not exist");
		object->rel[object->nrel++] = (struct kl_orel){
			.sec = shdr.sh_info,
			.off = rela.r_offset,
			.type = (uint32_t)GELF_R_TYPE(rela.r_info),
			.sym = GELF_R_SYM(rela.r_info),
			.addend = rela.r_addend,
		};
	}
	return 0;
}

static int by_place(const void *left, const void *right)
{
	const struct kl_orel *orel = left, *other = right;

	if (orel->sec != other->sec)
		return orel->sec < other->sec ? -1 : 1;
	return orel->off < other->off ? -1 : orel->off > other->off;
}

static int read_all(struct kl_object *object, Elf *elf)
{
	GElf_Ehdr ehdr;
	int err;

	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &ehdr) ||
	    ehdr.e_machine != EM_X86_64 || ehdr.e_ident[EI_CLASS] != ELFCLASS64)
		return bad_object(object, "not an ELF file for x86-64");
	object->etype = ehdr.e_type;
	err = read_sections(object, elf);
	for (size_t i = 0; !err && i < object->nsec; i++) {
		if (object->sec[i].type != SHT_SYMTAB)
			continue;
		if (object->sym)
			return kl_error(KL_ENO, "the object has two symbol tables");
		err = read_symbols(object, elf, i);
	}
	for (size_t i = 0; !err && i < object->nsec; i++)
		if (object->sec[i].type == SHT_RELA || object->sec[i].type == SHT_REL)
			err = read_relocations(object, elf, i);
	if (!err && object->nrel)
		qsort(object->rel, object->nrel, sizeof(*object->rel), by_place);
	return err;
}

static int parse_bytes(struct kl_object *object)
{
	Elf *elf;
	int err;

	elf_version(EV_CURRENT);
	elf = elf_memory((char *)object->bytes, object->len);
	if (!elf)
		return bad_object(object, elf_errmsg(-1));
	err = read_all(object, elf);
	elf_end(elf);
	return err;
}

int kl_object_read(struct kl_object **out, const char *path)
{
	KL_AUTO(kl_object_freep) struct kl_object *object = kl_calloc(1, sizeof(*object));
	int err;

	object->path = kl_strdup(path);
	err = read_object(object);
	if (!err)
		err = parse_bytes(object);
	if (err < 0)
		return err;
	*out = kl_steal(&object);
	return 0;
}

int kl_object_parse(struct kl_object **out, const char *name, const void *bytes, size_t len)
{
	KL_AUTO(kl_object_freep) struct kl_object *object = kl_calloc(1, sizeof(*object));
	int err;

	object->path = kl_strdup(name);
	if (len > KL_OBJECT_MAX_BYTES)
		return bad_object(object, "larger than 64 MiB");
	object->bytes = kl_malloc(len + 1);
	object->len = len;
	memcpy(object->bytes, bytes, len);
	err = parse_bytes(object);
	if (err < 0)
		return err;
	*out = kl_steal(&object);
	return 0;
}

size_t kl_object_rel_at(const struct kl_object *object, size_t sec, uint64_t off)
{
	size_t lo = 0, hi = object->nrel;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct kl_orel *orel = &object->rel[mid];

		if (orel->sec < sec || (orel->sec == sec && orel->off < off))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < object->nrel && object->rel[lo].sec == sec ? lo : object->nrel;
}

bool kl_osec_is_code(const struct kl_osec *section)
{
	return (section->flags & SHF_EXECINSTR) && (section->flags & SHF_ALLOC);
}

/*
 * With -fdata-sections, gcc puts a constant that contains addresses into .data.rel.ro.NAME, which
 * does not count as writable. A variable named "ro" is in .data.rel.ro or, if it is local to a
 * function, in .data.rel.ro.NUMBER; it counts as writable.
 */
bool kl_osec_is_writable(const struct kl_osec *section)
{
	static const char constant[] = ".data.rel.ro.";
	size_t n = sizeof(constant) - 1;

	return (section->flags & SHF_WRITE) &&
	       (strncmp(section->name, constant, n) || isdigit((unsigned char)section->name[n]));
}
