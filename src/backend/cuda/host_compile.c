/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/cuda/host_compile.h"

#include <stdlib.h>
#include <string.h>

#include "backend/c/code/code.h"
#include "backend/c/link/link.h"
#include "backend/cuda/audit.h"
#include "backend/cuda/features.h"
#include "backend/cuda/host_audit.h"
#include "backend/headers.h"
#include "backend/tool.h"
#include "base/error.h"
#include "base/fs.h"
#include "image/code_check.h"
#include "image/host_symbols.h"
#include "text/digest.h"

/* limit of processor time; sources with CUTLASS take a minute, or several on a busy machine */
#define NVCC_MS 600000
#define MAX_PTX ((size_t)64 << 20)

struct build {
	const struct kl_nvcc *nvcc;
	const struct kl_surface *surface;
	const char *dir;
	const char **class_;
	const struct kl_file *source;
	struct kl_strvec env;
	const struct kl_map *known; /* header libraries found so far */
	const char *readable[KL_HEADERS_READABLE];
	struct kl_tool tool;
	struct kl_buf text, verbose; /* the PTX; the output of ptxas -v */
	struct kl_ptx ptx;
	struct kl_sass sass;
	struct kl_cubin *cubin;
	struct kl_object *object, *runtime;
	struct kl_code code;
	struct kl_cuda_wish wish;
};

static void build_release(struct build *build)
{
	kl_strvec_release(&build->env);
	kl_buf_release(&build->tool.log);
	kl_buf_release(&build->text);
	kl_buf_release(&build->verbose);
	kl_ptx_release(&build->ptx);
	kl_sass_release(&build->sass);
	kl_code_release(&build->code);
	if (build->cubin)
		kl_cubin_free(build->cubin);
	if (build->object)
		kl_object_free(build->object);
	if (build->runtime)
		kl_object_free(build->runtime);
	kl_cuda_wish_release(&build->wish);
}

void kl_compile_host_header(struct kl_buf *out, const struct kl_contract *contract)
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
	for (size_t i = 0; i < contract->dims.n; i++)
		kl_buf_addf(out, "#define KL_DIM_%s %zu\n", contract->dim_name[i], i);
	for (size_t i = 0; i < contract->nargs; i++)
		if (contract->arg[i].kind == KL_ARG_SCALAR)
			kl_buf_addf(out, "#define KL_SCALAR_%s %a\n", contract->arg[i].name,
				    contract->arg[i].value);
}

/* -- writing the sources and running the compilers ----------------------------------------- */

static const struct kl_file *find_source(const struct kl_surface *surface)
{
	for (size_t i = 0; i < surface->nfile; i++) {
		const char *dot = strrchr(surface->file[i].path, '.');

		if (dot && !strcmp(dot, ".cu"))
			return &surface->file[i];
	}
	KL_BUG("contract without a .cu file");
}

static int lay_out(struct build *build)
{
	static const char iostream[] = "#include \"../klineage_iostream.h\"\n";
	KL_AUTO(kl_freep) char *sources = kl_fs_join(build->dir, "src-kernel");
	KL_AUTO(kl_freep) char *tmp = kl_fs_join(build->dir, "tmp-kernel");
	KL_AUTO(kl_buf_release) struct kl_buf header = KL_BUF_INIT;
	int err = kl_fs_remove(sources);

	if (!err)
		err = kl_fs_remove(tmp);
	if (!err)
		err = kl_fs_mkdir(tmp);
	for (size_t i = 0; !err && i < build->surface->nfile; i++)
		err = kl_tool_put(build->dir, "src-kernel", build->surface->file[i].path,
				  build->surface->file[i].data, build->surface->file[i].len);
	kl_compile_host_header(&header, build->surface->contract);
	if (!err)
		err = kl_tool_put(build->dir, "rt", "klineage.h", header.ptr, header.len);
	if (!err)
		err = kl_tool_put(build->dir, "rt/std", "iostream", iostream, sizeof(iostream) - 1);
	if (!err)
		err = kl_tool_put_runtime(build->dir, "klineage_iostream.h");
	return err ? err : kl_tool_put_runtime(build->dir, "klineage_host.c");
}

static void fixed_env(struct build *build)
{
	KL_AUTO(kl_freep) char *tmp = kl_fs_join(build->dir, "tmp-kernel");

	kl_nvcc_env(&build->env, tmp);
	build->tool.env = (const char *const *)build->env.v;
}

static int compile_source(struct build *build)
{
	/*
	 * flags that give the object a single constructor, no guards or unique symbols of C++, and
	 * a call instruction for every call
	 */
	static const char host_flags[] =
		"-Xcompiler=-fPIC,-fvisibility=hidden,-fplt,-fno-lto,-fno-common,-fno-stack-protector,"
		"-fno-stack-clash-protection,-fcf-protection=none,-fno-threadsafe-statics,-fno-gnu-unique,"
		"-fno-ident,-U_FORTIFY_SOURCE,-fno-sanitize=all,-fno-profile-generate,-g0,-O2";
	const struct kl_contract *contract = build->surface->contract;
	KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *what = kl_asprintf("compiling '%s'", build->source->path);
	const char *arch = contract->arch + 3; /* "sm_" */
	int err;

	kl_strvec_push(&argv, build->nvcc->nvcc);
	kl_strvec_push(&argv, "-c");
	kl_strvec_pushf(&argv, "-gencode=arch=compute_%s,code=sm_%s", arch, arch);
	kl_strvec_pushf(&argv, "-std=%s", contract->std);
	kl_strvec_push(&argv, "-DNDEBUG");
	kl_strvec_push(&argv, "--no-compress");
	kl_strvec_push(&argv, "-Xptxas=-v");
	kl_strvec_push(&argv, "--keep");
	kl_strvec_push(&argv, "--keep-dir=tmp-kernel");
	for (size_t i = 0; i < contract->flags.n; i++)
		kl_strvec_push(&argv, contract->flags.v[i]);
	kl_contract_build_flags(&argv, contract, "src-kernel");
	kl_strvec_push(&argv, host_flags);
	kl_strvec_push(&argv, "-include=rt/klineage.h");
	kl_strvec_push(&argv, "-Isrc-kernel");
	kl_strvec_push(&argv, "-Irt/std");
	kl_headers_flags(&argv, build->known, &contract->headers);
	kl_nvcc_fixed_path(&argv, build->source->path);
	kl_strvec_push(&argv, "-o");
	kl_strvec_push(&argv, "kernel.o");
	kl_strvec_pushf(&argv, "src-kernel/%s", build->source->path);
	build->tool.said = &build->verbose;
	err = kl_tool_run(&build->tool, &argv, NULL, what);
	build->tool.said = NULL;
	if (err == KL_ENO && strstr(build->verbose.ptr, "cc1plus") &&
	    strstr(build->verbose.ptr, "cannot execute"))
		return kl_error_hint(kl_error(KL_ECANNOT,
					      "nvcc does not work without a C++ compiler"),
				     "install g++");
	return err;
}

/*
 * Return the path of an intermediate file that nvcc keeps. The file has the name of the source,
 * with `ending` instead of "cu".
 */
static char *kept_path(const struct build *build, const char *ending)
{
	const char *name = strrchr(build->source->path, '/');

	name = name ? name + 1 : build->source->path;
	return kl_asprintf("%s/tmp-kernel/%.*s%s", build->dir, (int)(strlen(name) - 2), name,
			   ending);
}

static int compile_runtime(struct build *build)
{
	static const char *const runtime[] = { "gcc",
					       "-std=gnu11",
					       "-O2",
					       "-fPIC",
					       "-fvisibility=hidden",
					       "-fno-stack-protector",
					       "-fcf-protection=none",
					       "-fno-asynchronous-unwind-tables",
					       "-U_FORTIFY_SOURCE",
					       "-c",
					       "-o",
					       "rt/klineage_host.o",
					       "rt/klineage_host.c",
					       NULL };
	KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *path = kl_fs_join(build->dir, "rt/klineage_host.o");
	int err;

	kl_strvec_pushv(&argv, runtime);
	err = kl_tool_run(&build->tool, &argv, NULL, "compiling the gate's runtime");
	return err ? err : kl_object_read(&build->runtime, path);
}

/*
 * Link the object with the runtime. Functions of libraries become imports, which the worker
 * resolves by name.
 */
static int link_object(struct kl_buf *out, struct build *build)
{
	static const char *const wrap[] = { "cudaGetDriverEntryPoint",
					    "cudaGetDriverEntryPointByVersion", NULL };
	const struct kl_link link = {
		.object = (const struct kl_object *const *)&build->object,
		.nobject = 1,
		.runtime = build->runtime,
		.entry = KL_HOST_ENTRY,
		.dims = "klineage_dims",
		.start = KL_HOST_REGISTRATION,
		.whole = true,
		.frames = true,
		.may_import = kl_host_symbol_may_use,
		.wrap = wrap,
	};

	return kl_link(out, &link);
}

/* -- auditing device code and host code ----------------------------------------------------- */

/* List all kernels as required, because host code can launch any of them. */
static void require_all(struct build *build)
{
	snprintf(build->wish.arch, sizeof(build->wish.arch), "%s", build->surface->contract->arch);
	for (size_t i = 0; i < build->cubin->nkernel; i++)
		kl_strvec_push(&build->wish.name, build->cubin->kernel[i].name);
}

static int audit_device(struct build *build)
{
	KL_AUTO(kl_freep) char *cubin = kept_path(build, "cubin"), *ptx = kept_path(build, "ptx");
	int err = kl_cubin_read(&build->cubin, cubin);

	if (!err)
		err = kl_fs_read(&build->text, ptx, MAX_PTX);
	if (!err)
		err = kl_ptx_parse(&build->ptx, build->text.ptr, build->text.len);
	if (!err)
		err = kl_audit_host_kernels(build->cubin);
	if (err < 0)
		return err;
	require_all(build);
	err = kl_ptx_reach(&build->ptx, (const char *const *)build->wish.name.v,
			   build->wish.name.n);
	if (err < 0)
		return err;
	err = kl_sass_read(&build->sass, build->tool.jail, build->nvcc, build->dir,
			   cubin + strlen(build->dir) + 1);
	if (err == KL_EINTR)
		return err;
	kl_error_clear(); /* ignore errors, because the audit needs only the PTX */
	return kl_audit_cuda(build->cubin, &build->ptx, &build->sass, &build->wish);
}

static int defines_entry(struct build *build)
{
	for (size_t i = 0; i < build->object->nsym; i++)
		if (build->object->sym[i].sec >= 0 &&
		    !strcmp(build->object->sym[i].name, KL_HOST_ENTRY))
			return 0;
	*build->class_ = "compile";
	return kl_error(KL_ENO,
			"no source defines 'extern \"C\" int " KL_HOST_ENTRY "(void *const *in, "
			"void *const *out, void *stream)'");
}

static int audit_host(struct build *build)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *path = kl_fs_join(build->dir, "kernel.o");
	const struct kl_object *const *objects = (const struct kl_object *const *)&build->object;
	int err = kl_object_read(&build->object, path);

	if (!err)
		err = defines_entry(build);
	if (!err)
		err = kl_audit_host_object(build->object, build->cubin);
	if (err < 0)
		return err;
	kl_strvec_push(&argv, "objdump");
	kl_strvec_push(&argv, "-dzw");
	kl_strvec_push(&argv, "--no-show-raw-insn");
	kl_strvec_push(&argv, "kernel.o");
	err = kl_tool_run(&build->tool, &argv, &text, "reading the machine code");
	if (!err)
		err = kl_code_parse(&build->code, objects, 1, text.ptr, text.len);
	return err ? err : kl_code_audit(&build->code, NULL);
}

/*
 * Link the image and check its code again, because linking filled in references that the audit of
 * the object did not see.
 */
static int make_image(struct build *build, char digest[KL_DIGEST_HEX])
{
	KL_AUTO(kl_buf_release) struct kl_buf bytes = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *path = kl_fs_join(build->dir, "kernel.image");
	struct kl_image image;
	int err = compile_runtime(build);

	if (!err)
		err = link_object(&bytes, build);
	if (!err)
		err = kl_image_read(&image, bytes.ptr, bytes.len);
	if (!err)
		err = kl_code_check(&image);
	if (!err)
		err = kl_fs_put(path, bytes.ptr, bytes.len, 0644);
	if (!err)
		kl_digest_hex(digest, bytes.ptr, bytes.len);
	return err;
}

static int build_image(struct build *build, char digest[KL_DIGEST_HEX])
{
	int err;

	build->source = find_source(build->surface);
	fixed_env(build);
	if ((err = lay_out(build)) < 0 || (err = compile_source(build)) < 0)
		return err;
	*build->class_ = "cheat";
	if ((err = audit_device(build)) < 0)
		return kl_error_in(err, "device code");
	if ((err = audit_host(build)) < 0 || (err = make_image(build, digest)) < 0)
		return strcmp(*build->class_, "cheat") ? err : kl_error_in(err, "host code");
	return 0;
}

/* Compute the digest of the digests of device code and host code. */
static void digest_code(char out[KL_DIGEST_HEX], struct build *build,
			const struct kl_cuda_code *device)
{
	static const char *const entries[] = { KL_HOST_ENTRY, NULL };
	char half[2][KL_DIGEST_HEX];

	kl_cuda_digest(half[0], device);
	kl_error_clear();
	if (kl_code_reach(&build->code, entries) < 0)
		kl_error_clear();
	kl_code_digest(half[1], &build->code);
	kl_digest_hex(out, half, sizeof(half));
}

int kl_compile_host(struct kl_artefact **out, const char **class_, const struct kl_jail *jail,
		    const struct kl_nvcc *nvcc, const struct kl_map *headers,
		    const struct kl_surface *surface, const char *dir)
{
	KL_AUTO(kl_artefact_freep) struct kl_artefact *artefact = kl_calloc(1, sizeof(*artefact));
	KL_AUTO(build_release) struct build build = {
		.nvcc = nvcc,
		.surface = surface,
		.dir = dir,
		.class_ = class_,
		.text = KL_BUF_INIT,
		.verbose = KL_BUF_INIT,
		.wish = { .text = KL_BUF_INIT },
		.tool = { .jail = jail,
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

	kl_headers_readable(build.readable, nvcc->readable[0], headers,
			    &surface->contract->headers);
	build.tool.readable = build.readable;
	err = build_image(&build, artefact->digest);
	if (err < 0)
		return err;
	artefact->object = kl_fs_join(dir, "kernel.image");
	code = (struct kl_cuda_code){ .cubin = build.cubin,
				      .ptx = &build.ptx,
				      .sass = &build.sass,
				      .wish = &build.wish,
				      .verbose = build.verbose.ptr };
	kl_cuda_features(&artefact->facts.features, &code);
	digest_code(artefact->facts.code_digest, &build, &code);
	artefact->statics = kl_cuda_static(&code);
	kl_strvec_copy(&artefact->kernels, &build.wish.name);
	artefact->log = kl_buf_detach(&build.tool.log);
	*out = kl_steal(&artefact);
	return 0;
}
