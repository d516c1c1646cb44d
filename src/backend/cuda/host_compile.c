/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/cuda/host_compile.h"

#include <stdlib.h>
#include <string.h>

#include "backend/c/code.h"
#include "backend/cuda/audit.h"
#include "backend/cuda/features.h"
#include "backend/cuda/host_audit.h"
#include "backend/headers.h"
#include "backend/tool.h"
#include "base/error.h"
#include "base/fs.h"
#include "text/digest.h"

#define NVCC_MS 600000 /* CUTLASS takes a minute alone, minutes on a busy machine */
#define MAX_PTX ((size_t)64 << 20)

struct build {
	const struct kl_nvcc *nvcc;
	const struct kl_surface *surface;
	const char *dir;
	const char **class_;
	const struct kl_file *source;
	struct kl_strvec env;
	const struct kl_map *known; /* headers */
	const char *readable[KL_HEADERS_READABLE];
	struct kl_tool tool;
	struct kl_buf text, verbose; /* PTX; what ptxas says */
	struct kl_ptx ptx;
	struct kl_sass sass;
	struct kl_cubin *cubin;
	struct kl_object *object;
	struct kl_code code;
	struct kl_cuda_wish wish;
};

static void build_release(struct build *b)
{
	kl_strvec_release(&b->env);
	kl_buf_release(&b->tool.log);
	kl_buf_release(&b->text);
	kl_buf_release(&b->verbose);
	kl_ptx_release(&b->ptx);
	kl_sass_release(&b->sass);
	kl_code_release(&b->code);
	if (b->cubin)
		kl_cubin_free(b->cubin);
	if (b->object)
		kl_object_free(b->object);
	kl_cuda_wish_release(&b->wish);
}

void kl_compile_host_header(struct kl_buf *out, const struct kl_contract *c)
{
	kl_buf_adds(out,
		    "/* written by the gate: what the contract says */\n#pragma once\n"
		    "#include <stdint.h>\n"
		    "#define KL_OPEN __attribute__((visibility(\"default\")))\n"
		    "extern \"C\" KL_OPEN int klineage_launch(void *const *in, void *const *out, "
		    "void *stream);\n"
		    "extern \"C\" KL_OPEN int64_t klineage_dims[16];\n"
		    "#define kl_dim(name) (klineage_dims[KL_DIM_##name])\n"
		    "#define kl_scalar(name) (KL_SCALAR_##name)\n");
	for (size_t i = 0; i < c->dims.n; i++)
		kl_buf_addf(out, "#define KL_DIM_%s %zu\n", c->dim_name[i], i);
	for (size_t i = 0; i < c->nargs; i++)
		if (c->arg[i].kind == KL_ARG_SCALAR)
			kl_buf_addf(out, "#define KL_SCALAR_%s %a\n", c->arg[i].name,
				    c->arg[i].value);
}

/* -- files and tools ----------------------------------------------------------------------- */

static const struct kl_file *find_source(const struct kl_surface *s)
{
	for (size_t i = 0; i < s->nfile; i++) {
		const char *dot = strrchr(s->file[i].path, '.');

		if (dot && !strcmp(dot, ".cu"))
			return &s->file[i];
	}
	KL_BUG("a contract has a .cu file");
}

static int lay_out(struct build *b)
{
	static const char exports[] = "{ global: " KL_HOST_ENTRY "; klineage_dims; local: *; };\n";
	static const char iostream[] = "#include \"../klineage_iostream.h\"\n";
	KL_AUTO(kl_freep) char *sources = kl_fs_join(b->dir, "src-kernel");
	KL_AUTO(kl_freep) char *tmp = kl_fs_join(b->dir, "tmp-kernel");
	KL_AUTO(kl_buf_release) struct kl_buf header = KL_BUF_INIT;
	int err = kl_fs_remove(sources);

	if (!err)
		err = kl_fs_remove(tmp);
	if (!err)
		err = kl_fs_mkdir(tmp);
	for (size_t i = 0; !err && i < b->surface->nfile; i++)
		err = kl_tool_put(b->dir, "src-kernel", b->surface->file[i].path,
				  b->surface->file[i].data, b->surface->file[i].len);
	kl_compile_host_header(&header, b->surface->contract);
	if (!err)
		err = kl_tool_put(b->dir, "rt", "klineage.h", header.ptr, header.len);
	if (!err)
		err = kl_tool_put(b->dir, "rt", "host.exports", exports, sizeof(exports) - 1);
	if (!err)
		err = kl_tool_put(b->dir, "rt/std", "iostream", iostream, sizeof(iostream) - 1);
	if (!err)
		err = kl_tool_put_runtime(b->dir, "klineage_iostream.h");
	return err ? err : kl_tool_put_runtime(b->dir, "klineage_host.c");
}

static void fixed_env(struct build *b)
{
	KL_AUTO(kl_freep) char *tmp = kl_fs_join(b->dir, "tmp-kernel");

	kl_nvcc_env(&b->env, tmp);
	b->tool.env = (const char *const *)b->env.v;
}

static int compile_source(struct build *b)
{
	/* one constructor, no guards or unique names of C++, calls that stay visible */
	static const char host_flags[] =
		"-Xcompiler=-fPIC,-fvisibility=hidden,-fplt,-fno-lto,-fno-common,-fno-stack-protector,"
		"-fno-stack-clash-protection,-fcf-protection=none,-fno-threadsafe-statics,-fno-gnu-unique,"
		"-fno-ident,-U_FORTIFY_SOURCE,-fno-sanitize=all,-fno-profile-generate,-g0,-O2";
	const struct kl_contract *c = b->surface->contract;
	KL_AUTO(kl_strvec_release) struct kl_strvec a = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *what = kl_asprintf("compiling '%s'", b->source->path);
	const char *arch = c->arch + 3; /* "sm_" */
	int err;

	kl_strvec_push(&a, b->nvcc->nvcc);
	kl_strvec_push(&a, "-c");
	kl_strvec_pushf(&a, "-gencode=arch=compute_%s,code=sm_%s", arch, arch);
	kl_strvec_pushf(&a, "-std=%s", c->std);
	kl_strvec_push(&a, "-DNDEBUG");
	kl_strvec_push(&a, "--no-compress");
	kl_strvec_push(&a, "-Xptxas=-v");
	kl_strvec_push(&a, "--keep");
	kl_strvec_push(&a, "--keep-dir=tmp-kernel");
	for (size_t i = 0; i < c->flags.n; i++)
		kl_strvec_push(&a, c->flags.v[i]);
	kl_strvec_push(&a, host_flags);
	kl_strvec_push(&a, "-include=rt/klineage.h");
	kl_strvec_push(&a, "-Isrc-kernel");
	kl_strvec_push(&a, "-Irt/std");
	kl_headers_flags(&a, b->known, &c->headers);
	kl_strvec_push(&a, "-o");
	kl_strvec_push(&a, "kernel.o");
	kl_strvec_pushf(&a, "src-kernel/%s", b->source->path);
	b->tool.said = &b->verbose;
	err = kl_tool_run(&b->tool, &a, NULL, what);
	b->tool.said = NULL;
	if (err == KL_ENO && strstr(b->verbose.ptr, "cc1plus") &&
	    strstr(b->verbose.ptr, "cannot execute"))
		return kl_error_hint(kl_error(KL_ECANNOT,
					      "nvcc does not work without a C++ compiler"),
				     "install g++");
	return err;
}

/* What nvcc kept on its way: the source's name with another ending. */
static char *kept_path(const struct build *b, const char *ending)
{
	const char *name = strrchr(b->source->path, '/');

	name = name ? name + 1 : b->source->path;
	return kl_asprintf("%s/tmp-kernel/%.*s%s", b->dir, (int)(strlen(name) - 2), name, ending);
}

static int link_all(struct build *b)
{
	static const char *const runtime[] = { "gcc",
					       "-std=gnu11",
					       "-O2",
					       "-fPIC",
					       "-fvisibility=hidden",
					       "-fno-stack-protector",
					       "-fcf-protection=none",
					       "-U_FORTIFY_SOURCE",
					       "-c",
					       "-o",
					       "rt/klineage_host.o",
					       "rt/klineage_host.c",
					       NULL };
	static const char *const before[] = {
		"gcc",
		"-shared",
		"-nostartfiles",
		"-Wl,-z,now,-z,relro,-z,noexecstack,-z,text,-Bsymbolic",
		"-Wl,--as-needed,--build-id=none,--hash-style=gnu,--unresolved-symbols=ignore-all",
		"-Wl,--wrap=cudaGetDriverEntryPoint,--wrap=cudaGetDriverEntryPointByVersion",
		"-Wl,--version-script=rt/host.exports,-soname=kernel",
		"-o",
		"kernel.so",
		"kernel.o",
		"rt/klineage_host.o",
		NULL
	};
	static const char *const after[] = {
		"-lcudart", "-lstdc++", "-lm", "-lgcc_s", "-lc", NULL
	};
	KL_AUTO(kl_strvec_release) struct kl_strvec c = KL_STRVEC_INIT, a = KL_STRVEC_INIT;
	int err;

	kl_strvec_pushv(&c, runtime);
	kl_strvec_pushv(&a, before);
	kl_strvec_pushf(&a, "-L%s/lib64", b->nvcc->root);
	kl_strvec_pushf(&a, "-L%s/lib", b->nvcc->root);
	kl_strvec_pushv(&a, after);
	err = kl_tool_run(&b->tool, &c, NULL, "compiling the gate's runtime");
	return err ? err : kl_tool_run(&b->tool, &a, NULL, "linking");
}

/* -- audit ---------------------------------------------------------------------------------- */

/* Every kernel it holds may be launched, with whatever its host code thinks of. */
static void wish_all(struct build *b)
{
	snprintf(b->wish.arch, sizeof(b->wish.arch), "%s", b->surface->contract->arch);
	for (size_t i = 0; i < b->cubin->nkernel; i++)
		kl_strvec_push(&b->wish.name, b->cubin->kernel[i].name);
}

static int audit_device(struct build *b)
{
	KL_AUTO(kl_freep) char *cubin = kept_path(b, "cubin"), *ptx = kept_path(b, "ptx");
	int err = kl_cubin_read(&b->cubin, cubin);

	if (!err)
		err = kl_fs_read(&b->text, ptx, MAX_PTX);
	if (!err)
		err = kl_ptx_parse(&b->ptx, b->text.ptr, b->text.len);
	if (!err)
		err = kl_audit_host_kernels(b->cubin);
	if (err < 0)
		return err;
	wish_all(b);
	err = kl_ptx_reach(&b->ptx, (const char *const *)b->wish.name.v, b->wish.name.n);
	if (!err &&
	    kl_sass_read(&b->sass, b->tool.jail, b->nvcc, b->dir, cubin + strlen(b->dir) + 1) < 0)
		kl_error_clear(); /* PTX says enough */
	return err ? err : kl_audit_cuda(b->cubin, &b->ptx, &b->sass, &b->wish);
}

static int defines_entry(struct build *b)
{
	for (size_t i = 0; i < b->object->nsym; i++)
		if (b->object->sym[i].sec >= 0 && !strcmp(b->object->sym[i].name, KL_HOST_ENTRY))
			return 0;
	*b->class_ = "compile";
	return kl_error(KL_ENO,
			"no source defines 'extern \"C\" int " KL_HOST_ENTRY "(void *const *in, "
			"void *const *out, void *stream)'");
}

static int audit_host(struct build *b)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec a = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *path = kl_fs_join(b->dir, "kernel.o");
	const struct kl_object *const *objects = (const struct kl_object *const *)&b->object;
	int err = kl_object_read(&b->object, path);

	if (!err)
		err = defines_entry(b);
	if (!err)
		err = kl_audit_host_object(b->object, b->cubin);
	if (err < 0)
		return err;
	kl_strvec_push(&a, "objdump");
	kl_strvec_push(&a, "-dzw");
	kl_strvec_push(&a, "--no-show-raw-insn");
	kl_strvec_push(&a, "kernel.o");
	err = kl_tool_run(&b->tool, &a, &text, "reading the machine code");
	if (!err)
		err = kl_code_parse(&b->code, objects, 1, text.ptr, text.len);
	return err ? err : kl_code_audit(&b->code);
}

static int audit_linked(struct build *b, char digest[KL_DIGEST_HEX])
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(b->dir, "kernel.so");
	KL_AUTO(kl_object_freep) struct kl_object *so = NULL;
	int err = kl_object_read(&so, path);

	if (!err)
		err = kl_audit_host_linked(so);
	if (!err)
		kl_digest_hex(digest, so->bytes, so->len);
	return err;
}

static int build_library(struct build *b, char digest[KL_DIGEST_HEX])
{
	int err;

	b->source = find_source(b->surface);
	fixed_env(b);
	if ((err = lay_out(b)) < 0 || (err = compile_source(b)) < 0)
		return err;
	*b->class_ = "cheat";
	if ((err = audit_device(b)) < 0)
		return kl_error_in(err, "device code");
	if ((err = audit_host(b)) < 0 || (err = link_all(b)) < 0 ||
	    (err = audit_linked(b, digest)) < 0)
		return strcmp(*b->class_, "cheat") ? err : kl_error_in(err, "host code");
	return 0;
}

/* Of both halves. */
static void digest_code(char out[KL_DIGEST_HEX], struct build *b, const struct kl_cuda_code *device)
{
	char half[2][KL_DIGEST_HEX];

	kl_cuda_digest(half[0], device);
	kl_error_clear();
	if (kl_code_reach(&b->code, KL_HOST_ENTRY) < 0)
		kl_error_clear();
	kl_code_digest(half[1], &b->code);
	kl_digest_hex(out, half, sizeof(half));
}

int kl_compile_host(struct kl_artefact **out, const char **class_, const struct kl_jail *j,
		    const struct kl_nvcc *n, const struct kl_map *headers,
		    const struct kl_surface *s, const char *dir)
{
	KL_AUTO(kl_artefact_freep) struct kl_artefact *a = kl_calloc(1, sizeof(*a));
	KL_AUTO(build_release) struct build b = {
		.nvcc = n,
		.surface = s,
		.dir = dir,
		.class_ = class_,
		.text = KL_BUF_INIT,
		.verbose = KL_BUF_INIT,
		.wish = { .text = KL_BUF_INIT },
		.tool = { .jail = j,
			  .dir = dir,
			  .prefix = "src-kernel/",
			  .limit_ms = NVCC_MS,
			  .file_mib = KL_TOOL_TEMPLATES_MIB,
			  .class_ = class_,
			  .log = KL_BUF_INIT },
		.known = headers,
	};
	struct kl_cuda_code code;
	int err;

	kl_headers_readable(b.readable, n->readable[0], headers, &s->contract->headers);
	b.tool.readable = b.readable;
	err = build_library(&b, a->digest);
	if (err < 0)
		return err;
	a->object = kl_fs_join(dir, "kernel.so");
	code = (struct kl_cuda_code){ .cubin = b.cubin,
				      .ptx = &b.ptx,
				      .sass = &b.sass,
				      .wish = &b.wish,
				      .verbose = b.verbose.ptr };
	kl_cuda_features(&a->facts.features, &code);
	digest_code(a->facts.code_digest, &b, &code);
	a->statics = kl_cuda_static(&code);
	kl_strvec_copy(&a->kernels, &b.wish.name);
	a->log = kl_buf_detach(&b.tool.log);
	*out = kl_steal(&a);
	return 0;
}
