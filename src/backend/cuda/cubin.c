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
/* bytes of shared memory per block that the system reserves on sm_80 and later */
#define SYSTEM_SMEM 1024

/*
 * An attribute of .nv.info starts with a byte for its format, a byte for its name (ATTR_*), and two
 * bytes for its value or its length.
 */
enum { FORMAT_NONE = 1, FORMAT_BYTE = 2, FORMAT_HALF = 3, FORMAT_SIZED = 4 };
enum {
	ATTR_MAX_THREADS = 0x05,
	ATTR_REQNTID = 0x10,
	ATTR_FRAME_SIZE = 0x11,
	ATTR_KPARAM_INFO = 0x17,
	ATTR_REGCOUNT = 0x2f,
	ATTR_CTA_PER_CLUSTER = 0x3d,
	ATTR_MAX_CLUSTER = 0x3f,
	ATTR_KPARAM_INFO_V2 = 0x45,
	ATTR_NUM_BARRIERS = 0x4c,
};
enum { COMPAT_SPECIFIC = 0x09 }; /* an attribute of .nv.compat; its value is 1 for sm_90a */

void kl_cubin_free(struct kl_cubin *cubin)
{
	for (size_t i = 0; i < cubin->nsec; i++)
		free(cubin->sec[i].name);
	for (size_t i = 0; i < cubin->nsym; i++)
		free(cubin->sym[i].name);
	for (size_t i = 0; i < cubin->nkernel; i++)
		free(cubin->kernel[i].name);
	free(cubin->sec);
	free(cubin->sym);
	free(cubin->kernel);
	free(cubin->bytes);
	free(cubin->path);
	free(cubin);
}

const struct kl_cubin_kernel *kl_cubin_kernel(const struct kl_cubin *cubin, const char *name)
{
	for (size_t i = 0; i < cubin->nkernel; i++)
		if (!strcmp(cubin->kernel[i].name, name))
			return &cubin->kernel[i];
	return NULL;
}

const struct kl_cubin_section *kl_cubin_section(const struct kl_cubin *cubin, const char *name)
{
	for (size_t i = 0; i < cubin->nsec; i++)
		if (!strcmp(cubin->sec[i].name, name))
			return &cubin->sec[i];
	return NULL;
}

static int bad_cubin(const char *what)
{
	return kl_error(KL_ENO, "the cubin does not have the form that ptxas writes: %s", what);
}

static int read_cubin(struct kl_cubin *cubin)
{
	/* do not follow a symlink that was put in place of the assembler's output */
	KL_AUTO(kl_closep) int fd = open(cubin->path,
					 O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct kl_buf buf = KL_BUF_INIT;
	int err;

	if (fd < 0)
		return kl_error_errno("cannot open '%s'", cubin->path);
	err = kl_buf_read_fd(&buf, fd, KL_CUBIN_MAX_BYTES);
	if (err < 0) {
		kl_buf_release(&buf);
		return err == KL_EINVALID ? bad_cubin("larger than 64 MiB") : err;
	}
	cubin->len = buf.len;
	cubin->bytes = (unsigned char *)kl_buf_detach(&buf);
	return 0;
}

static int copy_name(char **out, Elf *elf, size_t strtab, size_t at)
{
	const char *text = elf_strptr(elf, strtab, at);

	if (!text)
		return bad_cubin("a name that cannot be read");
	if (strlen(text) > 4000)
		return bad_cubin("a name of more than 4000 bytes");
	for (const char *pos = text; *pos; pos++)
		if (!isalnum((unsigned char)*pos) && !strchr("_.$-@", *pos))
			return bad_cubin(
				"a name with characters other than letters, digits and \"_.$-@\"");
	*out = kl_strdup(text);
	return 0;
}

static int read_section(struct kl_cubin *cubin, Elf *elf, size_t strtab, Elf_Scn *scn)
{
	struct kl_cubin_section *section = &cubin->sec[cubin->nsec];
	GElf_Shdr shdr;
	int err;

	if (!gelf_getshdr(scn, &shdr))
		return bad_cubin(elf_errmsg(-1));
	*section = (struct kl_cubin_section){ .type = shdr.sh_type,
					      .flags = shdr.sh_flags,
					      .size = shdr.sh_size };
	err = copy_name(&section->name, elf, strtab, shdr.sh_name);
	if (err < 0)
		return err;
	cubin->nsec++;
	if (shdr.sh_type == SHT_NOBITS || shdr.sh_type == SHT_NULL)
		return 0;
	if (shdr.sh_offset > cubin->len || shdr.sh_size > cubin->len - shdr.sh_offset)
		return bad_cubin("a section lies outside the file");
	section->data = cubin->bytes + shdr.sh_offset;
	return 0;
}

static int read_sections(struct kl_cubin *cubin, Elf *elf)
{
	size_t n, strtab;
	int err = 0;

	if (elf_getshdrnum(elf, &n) < 0 || elf_getshdrstrndx(elf, &strtab) < 0)
		return bad_cubin(elf_errmsg(-1));
	if (n > KL_CUBIN_MAX_ITEMS)
		return bad_cubin("too many sections");
	cubin->sec = kl_calloc(n + 1, sizeof(*cubin->sec));
	for (size_t i = 0; !err && i < n; i++)
		err = read_section(cubin, elf, strtab, elf_getscn(elf, i));
	return err;
}

static int read_symbols(struct kl_cubin *cubin, Elf *elf, size_t index)
{
	Elf_Data *data = elf_getdata(elf_getscn(elf, index), NULL);
	size_t n = data ? data->d_size / sizeof(Elf64_Sym) : 0;
	GElf_Shdr shdr;
	int err = 0;

	if (!data || !gelf_getshdr(elf_getscn(elf, index), &shdr) || cubin->sym)
		return bad_cubin("no symbol table, or two symbol tables");
	if (n > KL_CUBIN_MAX_ITEMS)
		return bad_cubin("too many symbols");
	cubin->sym = kl_calloc(n + 1, sizeof(*cubin->sym));
	for (size_t i = 0; !err && i < n; i++) {
		struct kl_cubin_symbol *symbol = &cubin->sym[cubin->nsym];
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym))
			return bad_cubin(elf_errmsg(-1));
		if (sym.st_shndx < SHN_LORESERVE && sym.st_shndx >= cubin->nsec)
			return bad_cubin("a symbol refers to a section that does not exist");
		*symbol = (struct kl_cubin_symbol){
			.sec = sym.st_shndx >= SHN_LORESERVE ? -1 : sym.st_shndx,
			.value = sym.st_value,
			.size = sym.st_size,
			.type = GELF_ST_TYPE(sym.st_info),
			.bind = GELF_ST_BIND(sym.st_info),
			.other = sym.st_other,
		};
		err = copy_name(&symbol->name, elf, shdr.sh_link, sym.st_name);
		if (!err)
			cubin->nsym++;
	}
	return err;
}

static int find_kernels(struct kl_cubin *cubin)
{
	cubin->kernel = kl_calloc(cubin->nsym + 1, sizeof(*cubin->kernel));
	for (size_t i = 0; i < cubin->nsym; i++) {
		const struct kl_cubin_symbol *symbol = &cubin->sym[i];

		if (symbol->type != STT_FUNC || symbol->sec <= 0 ||
		    !(symbol->other & STO_CUDA_ENTRY))
			continue;
		if (!(cubin->sec[symbol->sec].flags & SHF_EXECINSTR) ||
		    !cubin->sec[symbol->sec].data)
			return bad_cubin("a kernel is in a section without code");
		if (kl_cubin_kernel(cubin, symbol->name))
			return bad_cubin("two kernels have the same name");
		cubin->kernel[cubin->nkernel++] = (struct kl_cubin_kernel){
			.name = kl_strdup(symbol->name), .sec = (size_t)symbol->sec
		};
	}
	return 0;
}

/* -- reading the attributes of kernels -------------------------------------------------- */

static uint32_t read_u32(const unsigned char *bytes)
{
	return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
	       (uint32_t)bytes[3] << 24;
}

static uint32_t read_u16(const unsigned char *bytes)
{
	return bytes[0] | (uint32_t)bytes[1] << 8;
}

static int take_param(struct kl_cubin_kernel *kernel, const unsigned char *bytes, size_t n, bool v2)
{
	uint32_t ordinal, size;

	if (n < 12)
		return bad_cubin("the description of a parameter is too short");
	ordinal = read_u16(bytes + 4);
	/*
	 * the first form stores the size above 18 bits of flags, the second form in a field of its
	 * own
	 */
	size = v2 ? read_u16(bytes + 10) : read_u32(bytes + 8) >> 18;
	if (ordinal >= KL_PLAN_MAX_ARGS)
		return kl_error(KL_ENO, "kernel '%s' has more than %d parameters", kernel->name,
				KL_PLAN_MAX_ARGS);
	kernel->param[ordinal] = (struct kl_cubin_param){ .offset = read_u16(bytes + 6),
							  .size = size };
	if (kernel->nparam <= ordinal)
		kernel->nparam = ordinal + 1;
	return 0;
}

static int take_kernel_attr(struct kl_cubin *cubin, struct kl_cubin_kernel *kernel, int attr,
			    const unsigned char *bytes, size_t n)
{
	switch (attr) {
	case ATTR_KPARAM_INFO:
	case ATTR_KPARAM_INFO_V2:
		return take_param(kernel, bytes, n, attr == ATTR_KPARAM_INFO_V2);
	case ATTR_NUM_BARRIERS:
		kernel->barriers = n ? bytes[0] : 0;
		return 0;
	case ATTR_MAX_CLUSTER:
		if (n < 4)
			return bad_cubin("an attribute is cut short");
		kernel->max_cluster = read_u32(bytes);
		return 0;
	case ATTR_MAX_THREADS:
	case ATTR_REQNTID:
	case ATTR_CTA_PER_CLUSTER:
		if (n < 12)
			return bad_cubin("an attribute is cut short");
		if (read_u32(bytes) > MOST_THREADS || read_u32(bytes + 4) > MOST_THREADS ||
		    read_u32(bytes + 8) > MOST_THREADS)
			return bad_cubin("the size of a block or cluster is too large");
		if (attr == ATTR_MAX_THREADS)
			kernel->max_threads = (int64_t)read_u32(bytes) * read_u32(bytes + 4) *
					      read_u32(bytes + 8);
		for (int i = 0; i < 3; i++) {
			if (attr == ATTR_REQNTID)
				kernel->req_threads[i] = read_u32(bytes + 4 * i);
			else if (attr == ATTR_CTA_PER_CLUSTER)
				kernel->cluster[i] = read_u32(bytes + 4 * i);
		}
		return 0;
	}
	return 0;
}

/* Take an attribute of the module, which consists of the symbol of a function and a value. */
static int take_module_attr(struct kl_cubin *cubin, struct kl_cubin_kernel *none, int attr,
			    const unsigned char *bytes, size_t n)
{
	struct kl_cubin_kernel *kernel = NULL;

	if (attr != ATTR_REGCOUNT && attr != ATTR_FRAME_SIZE)
		return 0;
	if (n < 8 || read_u32(bytes) >= cubin->nsym)
		return bad_cubin("an attribute refers to a symbol that does not exist");
	for (size_t i = 0; i < cubin->nkernel; i++)
		if (!strcmp(cubin->kernel[i].name, cubin->sym[read_u32(bytes)].name))
			kernel = &cubin->kernel[i];
	if (attr == ATTR_REGCOUNT && read_u32(bytes + 4) > MOST_REGISTERS)
		return bad_cubin("a kernel has too many registers");
	if (kernel && attr == ATTR_REGCOUNT)
		kernel->registers = read_u32(bytes + 4);
	else if (kernel)
		kernel->frame = read_u32(bytes + 4);
	return 0;
}

static int take_compat_attr(struct kl_cubin *cubin, struct kl_cubin_kernel *none, int attr,
			    const unsigned char *bytes, size_t n)
{
	if (attr == COMPAT_SPECIFIC)
		cubin->specific = n && bytes[0];
	return 0;
}

static int read_attributes(struct kl_cubin *cubin, struct kl_cubin_kernel *kernel,
			   const struct kl_cubin_section *section,
			   int (*take)(struct kl_cubin *, struct kl_cubin_kernel *, int,
				       const unsigned char *, size_t))
{
	const unsigned char *bytes = section->data, *end = section->data + section->size;
	int err = 0;

	while (!err && end - bytes >= 4) {
		int format = bytes[0], attr = bytes[1];
		size_t n = format == FORMAT_SIZED ? read_u16(bytes + 2) : 2;
		const unsigned char *data = format == FORMAT_SIZED ? bytes + 4 : bytes + 2;

		if (format < FORMAT_NONE || format > FORMAT_SIZED || n > (size_t)(end - data))
			return bad_cubin("an attribute has an unknown format");
		err = take(cubin, kernel, attr, data, n);
		bytes = data + n;
	}
	return !err && bytes != end ? bad_cubin("the list of attributes is cut short") : err;
}

static int static_smem(struct kl_cubin *cubin, struct kl_cubin_kernel *kernel)
{
	KL_AUTO(kl_freep) char *name = kl_asprintf(".nv.shared.%s", kernel->name);
	const struct kl_cubin_section *section = kl_cubin_section(cubin, name);

	if (section && section->size > MOST_SMEM)
		return bad_cubin("a kernel has too much shared memory");
	kernel->smem = section ? (int64_t)section->size : 0;
	if (cubin->sm >= 80 && kernel->smem >= SYSTEM_SMEM)
		kernel->smem -= SYSTEM_SMEM;
	return 0;
}

static int read_info(struct kl_cubin *cubin)
{
	const struct kl_cubin_section *module = kl_cubin_section(cubin, ".nv.info");
	const struct kl_cubin_section *compat = kl_cubin_section(cubin, ".nv.compat");
	int err = 0;

	if (module && module->data)
		err = read_attributes(cubin, NULL, module, take_module_attr);
	if (!err && compat && compat->data)
		err = read_attributes(cubin, NULL, compat, take_compat_attr);
	for (size_t i = 0; !err && i < cubin->nkernel; i++) {
		KL_AUTO(kl_freep) char *name = kl_asprintf(".nv.info.%s", cubin->kernel[i].name);
		const struct kl_cubin_section *section = kl_cubin_section(cubin, name);

		if (!section || !section->data)
			return kl_error(KL_ENO,
					"the cubin does not describe the parameters of kernel '%s'",
					cubin->kernel[i].name);
		err = read_attributes(cubin, &cubin->kernel[i], section, take_kernel_attr);
		if (!err)
			err = static_smem(cubin, &cubin->kernel[i]);
	}
	return err;
}

/* Read the architecture from e_flags: bits 0 to 7, or bits 8 to 15 since CUDA 13 (ABI 8). */
static int read_machine(struct kl_cubin *cubin, const GElf_Ehdr *ehdr)
{
	bool old = ehdr->e_ident[EI_ABIVERSION] < 8;

	if (ehdr->e_ident[EI_CLASS] != ELFCLASS64 || ehdr->e_machine != EM_CUDA)
		return bad_cubin("not a 64-bit CUDA object");
	if (ehdr->e_type != ET_EXEC)
		return bad_cubin("not linked");
	cubin->sm = old ? (int)(ehdr->e_flags & 0xff) : (int)(ehdr->e_flags >> 8 & 0xff);
	cubin->specific = old && ehdr->e_flags & 0x800;
	return 0;
}

static int read_elf(struct kl_cubin *cubin, Elf *elf)
{
	GElf_Ehdr ehdr;
	int err;

	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &ehdr))
		return bad_cubin("not an ELF file");
	err = read_machine(cubin, &ehdr);
	if (!err)
		err = read_sections(cubin, elf);
	for (size_t i = 0; !err && i < cubin->nsec; i++)
		if (cubin->sec[i].type == SHT_SYMTAB)
			err = read_symbols(cubin, elf, i);
	if (!err && !cubin->sym)
		err = bad_cubin("no symbol table");
	if (!err)
		err = find_kernels(cubin);
	return err ? err : read_info(cubin);
}

static int parse_cubin(struct kl_cubin *cubin)
{
	int err;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_memory((char *)cubin->bytes, cubin->len);
	if (!elf)
		return bad_cubin("not an ELF file");
	err = read_elf(cubin, elf);
	elf_end(elf);
	return err;
}

int kl_cubin_read(struct kl_cubin **out, const char *path)
{
	KL_AUTO(kl_cubin_freep) struct kl_cubin *cubin = kl_calloc(1, sizeof(*cubin));
	int err;

	cubin->path = kl_strdup(path);
	err = read_cubin(cubin);
	if (!err)
		err = parse_cubin(cubin);
	if (!err)
		*out = kl_steal(&cubin);
	return err;
}

int kl_cubin_parse(struct kl_cubin **out, const void *data, size_t len)
{
	KL_AUTO(kl_cubin_freep) struct kl_cubin *cubin = kl_calloc(1, sizeof(*cubin));
	int err;

	cubin->path = kl_strdup("");
	cubin->bytes = kl_malloc(len + 1);
	memcpy(cubin->bytes, data, len);
	cubin->len = len;
	err = parse_cubin(cubin);
	if (!err)
		*out = kl_steal(&cubin);
	return err;
}
