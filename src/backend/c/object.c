/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/c/object.h"

#include <ctype.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"

#define MAX_NAME 8192 /* mangled names of templates have thousands of letters */

void kl_object_free(struct kl_object *o)
{
	for (size_t i = 0; i < o->nsec; i++)
		free(o->sec[i].name);
	for (size_t i = 0; i < o->nsym; i++)
		free(o->sym[i].name);
	free(o->sec);
	free(o->sym);
	free(o->rel);
	free(o->bytes);
	free(o->path);
	free(o);
}

static int read_object(struct kl_object *o)
{
	/* a symlink where the compiler should have put a file is not followed */
	KL_AUTO(kl_closep) int fd = open(o->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct kl_buf b = KL_BUF_INIT;
	int err;

	if (fd < 0)
		return kl_error_errno("cannot open '%s'", o->path);
	err = kl_buf_read_fd(&b, fd, KL_OBJECT_MAX_BYTES);
	if (err < 0) {
		kl_buf_release(&b);
		return err == KL_EINVALID ? kl_error(KL_ENO, "the object is larger than 64 MiB") :
					    err;
	}
	o->len = b.len;
	o->bytes = (unsigned char *)kl_buf_detach(&b);
	return 0;
}

static int bad_object(const struct kl_object *o, const char *what)
{
	return kl_error(KL_EIO, "'%s' is not an object we can read: %s", o->path, what);
}

static int copy_name(char **out, Elf *e, size_t strtab, size_t at, const char *what)
{
	const char *s = elf_strptr(e, strtab, at);

	if (!s)
		return kl_error(KL_ENO, "a %s has no readable name", what);
	if (strlen(s) > MAX_NAME)
		return kl_error(KL_ENO, "a %s has a name of more than %d bytes", what, MAX_NAME);
	for (const char *c = s; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("_.$-", *c))
			return kl_error(KL_ENO, "a %s has a name that is not plain", what);
	*out = kl_strdup(s);
	return 0;
}

static int read_section(struct kl_object *o, Elf *e, size_t strtab, Elf_Scn *scn)
{
	struct kl_osec *s = &o->sec[o->nsec];
	GElf_Shdr h;
	int err;

	if (!gelf_getshdr(scn, &h))
		return bad_object(o, elf_errmsg(-1));
	*s = (struct kl_osec){
		.type = h.sh_type,
		.flags = h.sh_flags,
		.size = h.sh_size,
		.entsize = h.sh_entsize,
		.align = h.sh_addralign,
		.addr = h.sh_addr,
	};
	err = copy_name(&s->name, e, strtab, h.sh_name, "section");
	if (err < 0)
		return err;
	o->nsec++;
	if (h.sh_type == SHT_NOBITS || h.sh_type == SHT_NULL)
		return 0;
	if (h.sh_offset > o->len || h.sh_size > o->len - h.sh_offset)
		return bad_object(o, "a section lies outside the file");
	s->data = o->bytes + h.sh_offset;
	return 0;
}

static int read_sections(struct kl_object *o, Elf *e)
{
	size_t n, strtab;
	int err = 0;

	if (elf_getshdrnum(e, &n) < 0 || elf_getshdrstrndx(e, &strtab) < 0)
		return bad_object(o, elf_errmsg(-1));
	if (n > KL_OBJECT_MAX_ITEMS)
		return kl_error(KL_ENO, "the object has %zu sections", n);
	o->sec = kl_calloc(n, sizeof(*o->sec));
	for (size_t i = 0; !err && i < n; i++)
		err = read_section(o, e, strtab, elf_getscn(e, i));
	return err;
}

static int place_of(const struct kl_object *o, size_t shndx, int *out)
{
	if (shndx == SHN_UNDEF)
		*out = KL_SYM_UNDEF;
	else if (shndx == SHN_ABS)
		*out = KL_SYM_ABS;
	else if (shndx == SHN_COMMON)
		*out = KL_SYM_COMMON;
	else if (shndx < o->nsec)
		*out = (int)shndx;
	else
		return bad_object(o, "a symbol of no section");
	return 0;
}

static int read_symbols(struct kl_object *o, Elf *e, size_t index)
{
	Elf_Data *d = elf_getdata(elf_getscn(e, index), NULL);
	size_t n = d ? d->d_size / sizeof(Elf64_Sym) : 0;
	GElf_Shdr h;
	int err = 0;

	if (!d || !gelf_getshdr(elf_getscn(e, index), &h))
		return bad_object(o, "no symbols");
	if (n > KL_OBJECT_MAX_ITEMS)
		return kl_error(KL_ENO, "the object has %zu symbols", n);
	o->sym = kl_calloc(n, sizeof(*o->sym));
	for (size_t i = 0; !err && i < n; i++) {
		struct kl_osym *s = &o->sym[i];
		GElf_Sym raw;

		if (!gelf_getsym(d, (int)i, &raw))
			return bad_object(o, elf_errmsg(-1));
		if (raw.st_shndx == SHN_XINDEX)
			return kl_error(KL_ENO, "the object has too many sections");
		s->value = raw.st_value;
		s->size = raw.st_size;
		s->type = GELF_ST_TYPE(raw.st_info);
		s->bind = GELF_ST_BIND(raw.st_info);
		o->nsym++;
		err = place_of(o, raw.st_shndx, &s->sec);
		if (!err && s->type == STT_FILE) /* a source's name may be anything */
			s->name = kl_strdup("file");
		else if (!err)
			err = copy_name(&s->name, e, h.sh_link, raw.st_name, "symbol");
	}
	return err;
}

static int read_relocations(struct kl_object *o, Elf *e, size_t index)
{
	Elf_Data *d = elf_getdata(elf_getscn(e, index), NULL);
	size_t n = d ? d->d_size / sizeof(Elf64_Rela) : 0, alloc = o->nrel;
	GElf_Shdr h;

	if (!d || !gelf_getshdr(elf_getscn(e, index), &h))
		return bad_object(o, "unreadable relocations");
	if (h.sh_type == SHT_REL)
		return kl_error(KL_ENO, "relocations without addends");
	if (o->etype == ET_REL && h.sh_info >= o->nsec)
		return bad_object(o, "relocations of no section");
	if (o->nrel + n > KL_OBJECT_MAX_ITEMS)
		return kl_error(KL_ENO, "the object has more than %d relocations",
				KL_OBJECT_MAX_ITEMS);
	KL_GROW(o->rel, o->nrel + n, alloc);
	for (size_t i = 0; i < n; i++) {
		GElf_Rela r;

		if (!gelf_getrela(d, (int)i, &r) || GELF_R_SYM(r.r_info) >= o->nsym)
			return bad_object(o, "a relocation of no symbol");
		o->rel[o->nrel++] = (struct kl_orel){
			.sec = o->etype == ET_REL ? h.sh_info : 0,
			.off = r.r_offset,
			.type = (uint32_t)GELF_R_TYPE(r.r_info),
			.sym = GELF_R_SYM(r.r_info),
			.addend = r.r_addend,
		};
	}
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct kl_orel *x = a, *y = b;

	if (x->sec != y->sec)
		return x->sec < y->sec ? -1 : 1;
	return x->off < y->off ? -1 : x->off > y->off;
}

static int read_all(struct kl_object *o, Elf *e)
{
	uint32_t symtab;
	GElf_Ehdr h;
	int err;

	if (elf_kind(e) != ELF_K_ELF || !gelf_getehdr(e, &h) || h.e_machine != EM_X86_64 ||
	    h.e_ident[EI_CLASS] != ELFCLASS64)
		return bad_object(o, "not ELF for x86-64");
	o->etype = h.e_type;
	symtab = o->etype == ET_REL ? SHT_SYMTAB : SHT_DYNSYM;
	err = read_sections(o, e);
	for (size_t i = 0; !err && i < o->nsec; i++) {
		if (o->sec[i].type != symtab)
			continue;
		if (o->sym)
			return kl_error(KL_ENO, "the object has two symbol tables");
		err = read_symbols(o, e, i);
	}
	for (size_t i = 0; !err && i < o->nsec; i++)
		if (o->sec[i].type == SHT_RELA || o->sec[i].type == SHT_REL)
			err = read_relocations(o, e, i);
	if (!err && o->nrel)
		qsort(o->rel, o->nrel, sizeof(*o->rel), by_place);
	return err;
}

int kl_object_read(struct kl_object **out, const char *path)
{
	KL_AUTO(kl_object_freep) struct kl_object *o = kl_calloc(1, sizeof(*o));
	Elf *e;
	int err;

	o->path = kl_strdup(path);
	err = read_object(o);
	if (err < 0)
		return err;
	elf_version(EV_CURRENT);
	e = elf_memory((char *)o->bytes, o->len);
	if (!e)
		return bad_object(o, elf_errmsg(-1));
	err = read_all(o, e);
	elf_end(e);
	if (err < 0)
		return err;
	*out = kl_steal(&o);
	return 0;
}

size_t kl_object_rel_at(const struct kl_object *o, size_t sec, uint64_t off)
{
	size_t lo = 0, hi = o->nrel;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct kl_orel *r = &o->rel[mid];

		if (r->sec < sec || (r->sec == sec && r->off < off))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < o->nrel && o->rel[lo].sec == sec ? lo : o->nrel;
}

bool kl_osec_is_code(const struct kl_osec *s)
{
	return (s->flags & SHF_EXECINSTR) && (s->flags & SHF_ALLOC);
}
