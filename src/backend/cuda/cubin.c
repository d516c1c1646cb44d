/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/cuda/cubin.h"

#include <ctype.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"

#ifndef EM_CUDA
#define EM_CUDA 190
#endif
#define STO_CUDA_ENTRY 0x10
#define MOST_THREADS 1024
#define MOST_REGISTERS 1024
#define MOST_SMEM (1 << 30)
#define SYSTEM_SMEM 1024 /* what the system keeps of a block's shared memory from sm_80 on */

/* Attributes of .nv.info: a byte of format, a byte of name, two bytes of value or of length. */
enum { FORMAT_NONE = 1, FORMAT_BYTE = 2, FORMAT_HALF = 3, FORMAT_SIZED = 4 };
enum {
	ATTR_MAX_THREADS = 0x05,
	ATTR_REQNTID = 0x10,
	ATTR_FRAME_SIZE = 0x11,
	ATTR_KPARAM_INFO = 0x17,
	ATTR_REGCOUNT = 0x2f,
	ATTR_CTA_PER_CLUSTER = 0x3d,
	ATTR_KPARAM_INFO_V2 = 0x45,
	ATTR_NUM_BARRIERS = 0x4c,
};
enum { COMPAT_SPECIFIC = 0x09 }; /* of .nv.compat: 1 for sm_90a */

void kl_cubin_free(struct kl_cubin *c)
{
	for (size_t i = 0; i < c->nsec; i++)
		free(c->sec[i].name);
	for (size_t i = 0; i < c->nsym; i++)
		free(c->sym[i].name);
	for (size_t i = 0; i < c->nkernel; i++)
		free(c->kernel[i].name);
	free(c->sec);
	free(c->sym);
	free(c->kernel);
	free(c->bytes);
	free(c->path);
	free(c);
}

const struct kl_cubin_kernel *kl_cubin_kernel(const struct kl_cubin *c, const char *name)
{
	for (size_t i = 0; i < c->nkernel; i++)
		if (!strcmp(c->kernel[i].name, name))
			return &c->kernel[i];
	return NULL;
}

const struct kl_cubin_section *kl_cubin_section(const struct kl_cubin *c, const char *name)
{
	for (size_t i = 0; i < c->nsec; i++)
		if (!strcmp(c->sec[i].name, name))
			return &c->sec[i];
	return NULL;
}

static int bad_cubin(const char *what)
{
	return kl_error(KL_ENO, "the cubin is not what ptxas writes: %s", what);
}

static int read_cubin(struct kl_cubin *c)
{
	/* a symlink where the assembler should have put a file is not followed */
	KL_AUTO(kl_closep) int fd = open(c->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct kl_buf b = KL_BUF_INIT;
	int err;

	if (fd < 0)
		return kl_error_errno("cannot open '%s'", c->path);
	err = kl_buf_read_fd(&b, fd, KL_CUBIN_MAX_BYTES);
	if (err < 0) {
		kl_buf_release(&b);
		return err == KL_EINVALID ? bad_cubin("it is larger than 64 MiB") : err;
	}
	c->len = b.len;
	c->bytes = (unsigned char *)kl_buf_detach(&b);
	return 0;
}

static int copy_name(char **out, Elf *e, size_t strtab, size_t at)
{
	const char *s = elf_strptr(e, strtab, at);

	if (!s)
		return bad_cubin("a name that cannot be read");
	if (strlen(s) > 4000)
		return bad_cubin("a name of more than 4000 bytes");
	for (const char *p = s; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("_.$-@", *p))
			return bad_cubin("a name that is not plain");
	*out = kl_strdup(s);
	return 0;
}

static int read_section(struct kl_cubin *c, Elf *e, size_t strtab, Elf_Scn *scn)
{
	struct kl_cubin_section *s = &c->sec[c->nsec];
	GElf_Shdr h;
	int err;

	if (!gelf_getshdr(scn, &h))
		return bad_cubin(elf_errmsg(-1));
	*s = (struct kl_cubin_section){ .type = h.sh_type, .flags = h.sh_flags, .size = h.sh_size };
	err = copy_name(&s->name, e, strtab, h.sh_name);
	if (err < 0)
		return err;
	c->nsec++;
	if (h.sh_type == SHT_NOBITS || h.sh_type == SHT_NULL)
		return 0;
	if (h.sh_offset > c->len || h.sh_size > c->len - h.sh_offset)
		return bad_cubin("a section lies outside the file");
	s->data = c->bytes + h.sh_offset;
	return 0;
}

static int read_sections(struct kl_cubin *c, Elf *e)
{
	size_t n, strtab;
	int err = 0;

	if (elf_getshdrnum(e, &n) < 0 || elf_getshdrstrndx(e, &strtab) < 0)
		return bad_cubin(elf_errmsg(-1));
	if (n > KL_CUBIN_MAX_ITEMS)
		return bad_cubin("absurdly many sections");
	c->sec = kl_calloc(n + 1, sizeof(*c->sec));
	for (size_t i = 0; !err && i < n; i++)
		err = read_section(c, e, strtab, elf_getscn(e, i));
	return err;
}

static int read_symbols(struct kl_cubin *c, Elf *e, size_t index)
{
	Elf_Data *d = elf_getdata(elf_getscn(e, index), NULL);
	size_t n = d ? d->d_size / sizeof(Elf64_Sym) : 0;
	GElf_Shdr h;
	int err = 0;

	if (!d || !gelf_getshdr(elf_getscn(e, index), &h) || c->sym)
		return bad_cubin("it has no symbols, or two tables of them");
	if (n > KL_CUBIN_MAX_ITEMS)
		return bad_cubin("absurdly many symbols");
	c->sym = kl_calloc(n + 1, sizeof(*c->sym));
	for (size_t i = 0; !err && i < n; i++) {
		struct kl_cubin_symbol *s = &c->sym[c->nsym];
		GElf_Sym g;

		if (!gelf_getsym(d, (int)i, &g))
			return bad_cubin(elf_errmsg(-1));
		if (g.st_shndx < SHN_LORESERVE && g.st_shndx >= c->nsec)
			return bad_cubin("a symbol of no section");
		*s = (struct kl_cubin_symbol){
			.sec = g.st_shndx >= SHN_LORESERVE ? -1 : g.st_shndx,
			.value = g.st_value,
			.size = g.st_size,
			.type = GELF_ST_TYPE(g.st_info),
			.bind = GELF_ST_BIND(g.st_info),
			.other = g.st_other,
		};
		err = copy_name(&s->name, e, h.sh_link, g.st_name);
		if (!err)
			c->nsym++;
	}
	return err;
}

static int find_kernels(struct kl_cubin *c)
{
	c->kernel = kl_calloc(c->nsym + 1, sizeof(*c->kernel));
	for (size_t i = 0; i < c->nsym; i++) {
		const struct kl_cubin_symbol *s = &c->sym[i];

		if (s->type != STT_FUNC || s->sec <= 0 || !(s->other & STO_CUDA_ENTRY))
			continue;
		if (!(c->sec[s->sec].flags & SHF_EXECINSTR) || !c->sec[s->sec].data)
			return bad_cubin("a kernel outside of any code");
		if (kl_cubin_kernel(c, s->name))
			return bad_cubin("two kernels of one name");
		c->kernel[c->nkernel++] = (struct kl_cubin_kernel){ .name = kl_strdup(s->name),
								    .sec = (size_t)s->sec };
	}
	return 0;
}

/* -- attributes ------------------------------------------------------------------------- */

static uint32_t read_u32(const unsigned char *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint32_t read_u16(const unsigned char *p)
{
	return p[0] | (uint32_t)p[1] << 8;
}

static int take_param(struct kl_cubin_kernel *k, const unsigned char *v, size_t n, bool v2)
{
	uint32_t ordinal, size;

	if (n < 12)
		return bad_cubin("a parameter's description is cut short");
	ordinal = read_u16(v + 4);
	/* size in bytes above 18 bits of flags; the second form has flags and size apart */
	size = v2 ? read_u16(v + 10) : read_u32(v + 8) >> 18;
	if (ordinal >= KL_PLAN_MAX_ARGS)
		return kl_error(KL_ENO, "kernel '%s' has more than %d parameters", k->name,
				KL_PLAN_MAX_ARGS);
	k->param[ordinal] = (struct kl_cubin_param){ .offset = read_u16(v + 6), .size = size };
	if (k->nparam <= ordinal)
		k->nparam = ordinal + 1;
	return 0;
}

static int of_kernel(struct kl_cubin *c, struct kl_cubin_kernel *k, int attr,
		     const unsigned char *v, size_t n)
{
	switch (attr) {
	case ATTR_KPARAM_INFO:
	case ATTR_KPARAM_INFO_V2:
		return take_param(k, v, n, attr == ATTR_KPARAM_INFO_V2);
	case ATTR_NUM_BARRIERS:
		k->barriers = n ? v[0] : 0;
		return 0;
	case ATTR_MAX_THREADS:
	case ATTR_REQNTID:
	case ATTR_CTA_PER_CLUSTER:
		if (n < 12)
			return bad_cubin("an attribute is cut short");
		if (read_u32(v) > MOST_THREADS || read_u32(v + 4) > MOST_THREADS ||
		    read_u32(v + 8) > MOST_THREADS)
			return bad_cubin("a block or cluster of absurd size");
		if (attr == ATTR_MAX_THREADS)
			k->max_threads = (int64_t)read_u32(v) * read_u32(v + 4) * read_u32(v + 8);
		for (int i = 0; i < 3; i++) {
			if (attr == ATTR_REQNTID)
				k->req_threads[i] = read_u32(v + 4 * i);
			else if (attr == ATTR_CTA_PER_CLUSTER)
				k->cluster[i] = read_u32(v + 4 * i);
		}
		return 0;
	}
	return 0;
}

/* Of the module: function's symbol, value. */
static int of_module(struct kl_cubin *c, struct kl_cubin_kernel *none, int attr,
		     const unsigned char *v, size_t n)
{
	struct kl_cubin_kernel *k = NULL;

	if (attr != ATTR_REGCOUNT && attr != ATTR_FRAME_SIZE)
		return 0;
	if (n < 8 || read_u32(v) >= c->nsym)
		return bad_cubin("an attribute of no symbol");
	for (size_t i = 0; i < c->nkernel; i++)
		if (!strcmp(c->kernel[i].name, c->sym[read_u32(v)].name))
			k = &c->kernel[i];
	if (attr == ATTR_REGCOUNT && read_u32(v + 4) > MOST_REGISTERS)
		return bad_cubin("a kernel with absurdly many registers");
	if (k && attr == ATTR_REGCOUNT)
		k->registers = read_u32(v + 4);
	else if (k)
		k->frame = read_u32(v + 4);
	return 0;
}

static int of_compat(struct kl_cubin *c, struct kl_cubin_kernel *none, int attr,
		     const unsigned char *v, size_t n)
{
	if (attr == COMPAT_SPECIFIC)
		c->specific = n && v[0];
	return 0;
}

static int read_attributes(struct kl_cubin *c, struct kl_cubin_kernel *k,
			   const struct kl_cubin_section *s,
			   int (*take)(struct kl_cubin *, struct kl_cubin_kernel *, int,
				       const unsigned char *, size_t))
{
	const unsigned char *p = s->data, *end = s->data + s->size;
	int err = 0;

	while (!err && end - p >= 4) {
		int format = p[0], attr = p[1];
		size_t n = format == FORMAT_SIZED ? read_u16(p + 2) : 2;
		const unsigned char *v = format == FORMAT_SIZED ? p + 4 : p + 2;

		if (format < FORMAT_NONE || format > FORMAT_SIZED || n > (size_t)(end - v))
			return bad_cubin("attributes that cannot be read");
		err = take(c, k, attr, v, n);
		p = v + n;
	}
	return !err && p != end ? bad_cubin("attributes that are cut short") : err;
}

static int static_smem(struct kl_cubin *c, struct kl_cubin_kernel *k)
{
	KL_AUTO(kl_freep) char *name = kl_asprintf(".nv.shared.%s", k->name);
	const struct kl_cubin_section *s = kl_cubin_section(c, name);

	if (s && s->size > MOST_SMEM)
		return bad_cubin("a kernel with absurdly much shared memory");
	k->smem = s ? (int64_t)s->size : 0;
	if (c->sm >= 80 && k->smem >= SYSTEM_SMEM)
		k->smem -= SYSTEM_SMEM;
	return 0;
}

static int read_info(struct kl_cubin *c)
{
	const struct kl_cubin_section *module = kl_cubin_section(c, ".nv.info");
	const struct kl_cubin_section *compat = kl_cubin_section(c, ".nv.compat");
	int err = 0;

	if (module && module->data)
		err = read_attributes(c, NULL, module, of_module);
	if (!err && compat && compat->data)
		err = read_attributes(c, NULL, compat, of_compat);
	for (size_t i = 0; !err && i < c->nkernel; i++) {
		KL_AUTO(kl_freep) char *name = kl_asprintf(".nv.info.%s", c->kernel[i].name);
		const struct kl_cubin_section *s = kl_cubin_section(c, name);

		if (!s || !s->data)
			return kl_error(KL_ENO,
					"the cubin does not say what kernel '%s' wants passed",
					c->kernel[i].name);
		err = read_attributes(c, &c->kernel[i], s, of_kernel);
		if (!err)
			err = static_smem(c, &c->kernel[i]);
	}
	return err;
}

/* The machine: since CUDA 13 (ABI 8) a byte higher than before. */
static int read_machine(struct kl_cubin *c, const GElf_Ehdr *h)
{
	bool old = h->e_ident[EI_ABIVERSION] < 8;

	if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_machine != EM_CUDA)
		return bad_cubin("it is no 64-bit CUDA object");
	if (h->e_type != ET_EXEC)
		return bad_cubin("it is not linked");
	c->sm = old ? (int)(h->e_flags & 0xff) : (int)(h->e_flags >> 8 & 0xff);
	c->specific = old && h->e_flags & 0x800;
	return 0;
}

static int read_elf(struct kl_cubin *c, Elf *e)
{
	GElf_Ehdr h;
	int err;

	if (elf_kind(e) != ELF_K_ELF || !gelf_getehdr(e, &h))
		return bad_cubin("it is no ELF file");
	err = read_machine(c, &h);
	if (!err)
		err = read_sections(c, e);
	for (size_t i = 0; !err && i < c->nsec; i++)
		if (c->sec[i].type == SHT_SYMTAB)
			err = read_symbols(c, e, i);
	if (!err && !c->sym)
		err = bad_cubin("it has no symbols");
	if (!err)
		err = find_kernels(c);
	return err ? err : read_info(c);
}

static int parse_cubin(struct kl_cubin *c)
{
	int err;
	Elf *e;

	elf_version(EV_CURRENT);
	e = elf_memory((char *)c->bytes, c->len);
	if (!e)
		return bad_cubin("it is no ELF file");
	err = read_elf(c, e);
	elf_end(e);
	return err;
}

int kl_cubin_read(struct kl_cubin **out, const char *path)
{
	KL_AUTO(kl_cubin_freep) struct kl_cubin *c = kl_calloc(1, sizeof(*c));
	int err;

	c->path = kl_strdup(path);
	err = read_cubin(c);
	if (!err)
		err = parse_cubin(c);
	if (!err)
		*out = kl_steal(&c);
	return err;
}

int kl_cubin_parse(struct kl_cubin **out, const void *data, size_t len)
{
	KL_AUTO(kl_cubin_freep) struct kl_cubin *c = kl_calloc(1, sizeof(*c));
	int err;

	c->path = kl_strdup("");
	c->bytes = kl_malloc(len + 1);
	memcpy(c->bytes, data, len);
	c->len = len;
	err = parse_cubin(c);
	if (!err)
		*out = kl_steal(&c);
	return err;
}
