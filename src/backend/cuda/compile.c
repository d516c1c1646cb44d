/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/cuda/compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/audit.h"
#include "backend/cuda/features.h"
#include "backend/cuda/kernel_names.h"
#include "backend/cuda/torch_stub.h"
#include "backend/demangle.h"
#include "backend/headers.h"
#include "backend/tool.h"
#include "base/error.h"
#include "base/fs.h"
#include "text/digest.h"

#define NVCC_MS 120000 /* limit of processor time; template headers compile slowly */
#define MAX_PTX ((size_t)64 << 20)

/* The build of one cubin in `dir` (the jail's work directory). */
struct build {
	const struct kl_nvcc *nvcc;
	const char *dir, *name; /* name: the stem of folders and files */
	const struct kl_file *file;
	size_t nfile;
	const struct kl_launch *launch;
	struct kl_plan *named; /* the plan that receives symbols; NULL if an oracle is built */
	const struct kl_contract *contract; /* how the source is built; NULL for an oracle */
	bool stubs;                         /* a source includes headers of PyTorch */
	/* the gate's flags for an oracle; NULL if there is none */
	const char *const *extra;
	const char **class_;
	const struct kl_map *known; /* header libraries found so far; NULL if there is none */
	const struct kl_strvec *headers;
	const char *readable[KL_HEADERS_READABLE];
	struct kl_tool tool;
	const struct kl_file *source; /* the .cu file */
	struct kl_strvec env;
	struct kl_buf text;    /* the PTX; empty if the cubin is imported */
	struct kl_buf verbose; /* output of ptxas -v about each kernel */
	struct kl_ptx ptx;
	struct kl_sass sass;
	struct kl_cubin *cubin;
	struct kl_cuda_wish wish;
};

static void build_release(struct build *build)
{
	kl_buf_release(&build->tool.log);
	kl_strvec_release(&build->env);
	kl_buf_release(&build->text);
	kl_buf_release(&build->verbose);
	kl_ptx_release(&build->ptx);
	kl_sass_release(&build->sass);
	if (build->cubin)
		kl_cubin_free(build->cubin);
	kl_cuda_wish_release(&build->wish);
}

static bool ends_with(const char *text, const char *with)
{
	size_t n = strlen(text), len = strlen(with);

	return n >= len && !strcmp(text + n - len, with);
}

/* -- writing the sources ---------------------------------------------------------------- */

static int find_source(struct build *build)
{
	for (size_t i = 0; i < build->nfile; i++) {
		if (!ends_with(build->file[i].path, ".cu"))
			continue;
		if (build->source) {
			*build->class_ = "compile";
			return kl_error(KL_ENO,
					"two .cu files, '%s' and '%s': only one is compiled, so "
					"include the others as headers",
					build->source->path, build->file[i].path);
		}
		build->source = &build->file[i];
	}
	if (build->source)
		return 0;
	*build->class_ = "compile";
	return kl_error(KL_ENO, "none of the sources is a .cu file");
}

/* Write the source, followed by declarations of the template instances that the plan names. */
static int write_source(struct build *build, const char *sub)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	kl_buf_add(&text, build->source->data, build->source->len);
	if (build->named)
		kl_kernel_names_declare(&text, &build->wish.name);
	return kl_tool_put(build->dir, sub, build->source->path, text.ptr, text.len);
}

static int lay_out(struct build *build)
{
	KL_AUTO(kl_freep) char *sub = kl_asprintf("src-%s", build->name);
	KL_AUTO(kl_freep) char *sources = kl_fs_join(build->dir, sub);
	KL_AUTO(kl_freep) char *tmp = kl_asprintf("%s/tmp-%s", build->dir, build->name);
	int err = kl_fs_remove(sources);

	if (!err)
		err = kl_fs_remove(tmp);
	if (!err)
		err = kl_fs_mkdir(tmp);
	for (size_t i = 0; !err && i < build->nfile; i++)
		err = &build->file[i] == build->source ?
			      write_source(build, sub) :
			      kl_tool_put(build->dir, sub, build->file[i].path, build->file[i].data,
					  build->file[i].len);
	if (!err && build->contract)
		err = kl_torch_stubs_put(&build->stubs, build->dir, build->file, build->nfile);
	return err ? err : kl_tool_put_runtime(build->dir, "kl_oracle.cuh");
}

static void fixed_env(struct build *build)
{
	KL_AUTO(kl_freep) char *tmp = kl_asprintf("%s/tmp-%s", build->dir, build->name);

	kl_nvcc_env(&build->env, tmp);
	build->tool.env = (const char *const *)build->env.v;
}

/* -- running nvcc ------------------------------------------------------------------------- */

static void add_defines(struct kl_strvec *argv, const struct kl_plan_compile *compile)
{
	for (size_t i = 0; i < compile->ndefine; i++)
		kl_strvec_pushf(argv, "-D%s=%lld", compile->define[i].name,
				(long long)compile->define[i].value);
}

/* Add the contract's flags, macros and directories of headers. */
static void add_contract(struct kl_strvec *argv, const struct build *build)
{
	KL_AUTO(kl_freep) char *folder = kl_asprintf("src-%s", build->name);
	const struct kl_strvec *flags = build->contract ? &build->contract->flags : NULL;

	for (size_t i = 0; flags && i < flags->n; i++)
		if (strcmp(flags->v[i], "-lineinfo"))
			kl_strvec_push(argv, flags->v[i]);
	if (build->contract)
		kl_contract_build_flags(argv, build->contract, folder);
}

/* Return the path of the PTX that nvcc keeps in `keep`. The file has the name of the source. */
static char *kept_ptx(const struct build *build, const char *keep)
{
	const char *name = strrchr(build->source->path, '/');

	name = name ? name + 1 : build->source->path;
	return kl_asprintf("%s/%s/%.*sptx", build->dir, keep, (int)(strlen(name) - 2), name);
}

/*
 * Compile to the file `cubin` and keep the PTX in the folder `keep`. If `lines` is true, add line
 * information.
 */
static int run_nvcc(struct build *build, const char *keep, const char *cubin, bool lines)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *what = kl_asprintf("compiling '%s'", build->source->path);
	const struct kl_plan_compile *compile = kl_plan_compile(build->launch->plan);
	const char *arch = build->launch->arch + (strncmp(build->launch->arch, "sm_", 3) ? 0 : 3);
	int err;

	kl_strvec_push(&argv, build->nvcc->nvcc);
	kl_strvec_push(&argv, "-cubin");
	kl_strvec_pushf(&argv, "-gencode=arch=compute_%s,code=sm_%s", arch, arch);
	kl_strvec_pushf(&argv, "-std=%s", compile->std);
	kl_strvec_push(&argv, "-DNDEBUG");
	kl_strvec_push(&argv, "-Xptxas=-v");
	kl_strvec_push(&argv, "--keep");
	kl_strvec_pushf(&argv, "--keep-dir=%s", keep);
	add_contract(&argv, build);
	add_defines(&argv, compile);
	if (build->extra)
		kl_strvec_pushv(&argv, build->extra);
	if (lines)
		kl_strvec_push(&argv, "-lineinfo");
	kl_strvec_pushf(&argv, "-Isrc-%s", build->name);
	if (build->headers)
		kl_headers_flags(&argv, build->known, build->headers);
	if (build->stubs) {
		kl_strvec_push(&argv, "-isystem");
		kl_strvec_push(&argv, KL_TORCH_STUBS);
		kl_strvec_push(&argv, "-isystem");
		kl_strvec_push(&argv, "rt");
	}
	kl_nvcc_fixed_path(&argv, build->source->path);
	kl_strvec_push(&argv, "-o");
	kl_strvec_push(&argv, cubin);
	kl_strvec_pushf(&argv, "src-%s/%s", build->name, build->source->path);
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
 * Report an error of ptxas with a source line. ptxas gives a line of the PTX ("ptxas k.ptx, line
 * 30; error : Unknown modifier"), which the user cannot see. Compile again with line information:
 * ptxas fails again, and the line that it reports now can be mapped to the source.
 */
static int with_source_line(struct build *build, const char *keep)
{
	KL_AUTO(kl_freep)
	char *message = kl_strdup(kl_error_last()), *place = NULL, *path = kept_ptx(build, keep);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const char *at, *what = strstr(message, "; ");
	unsigned line;

	if (strncmp(message, "ptxas ", 6) || !what ||
	    run_nvcc(build, keep, "lines.cubin", true) != KL_ENO)
		return kl_error(KL_ENO, "%s", message);
	at = strstr(kl_error_last(), ", line ");
	if (!at || sscanf(at, ", line %u", &line) != 1 || kl_fs_read(&text, path, MAX_PTX) < 0)
		return kl_error(KL_ENO, "%s", message);
	place = kl_ptx_source_line(text.ptr, line);
	if (!place)
		return kl_error(KL_ENO, "%s", message);
	/* the PTX has the absolute path of the source, or the path that was passed to nvcc */
	at = strstr(place, build->tool.prefix);
	what = strchr(what, ':') ? strchr(what, ':') + 2 : what + 2;
	return kl_error(KL_ENO, "%s: error: %s (ptxas)",
			at ? at + strlen(build->tool.prefix) : place, what);
}

/* Report an error of nvcc. If it is about a kernel that the plan names, blame the plan. */
static int explain(struct build *build, const char *keep)
{
	KL_AUTO(kl_freep)
	char *message = kl_kernel_names_explain(kl_error_last(), &build->wish.name, build->file,
						build->nfile);

	if (!message)
		return with_source_line(build, keep);
	*build->class_ = "launch";
	return kl_error(KL_ENO, "%s", message);
}

static int compile_cubin(struct build *build)
{
	KL_AUTO(kl_freep)
	char *keep = kl_asprintf("tmp-%s", build->name),
	     *cubin = kl_asprintf("%s.cubin", build->name);
	KL_AUTO(kl_freep) char *ptx = NULL;
	int err = find_source(build);

	if (!err)
		err = lay_out(build);
	if (err < 0)
		return err;
	ptx = kept_ptx(build, keep);
	err = run_nvcc(build, keep, cubin, false);
	if (err == KL_ENO)
		return explain(build, keep);
	if (!err)
		err = kl_fs_read(&build->text, ptx, MAX_PTX);
	return err == KL_EINVALID ? kl_error(KL_ENO, "the PTX is larger than 64 MiB") : err;
}

static int import_artefact(struct build *build, const struct kl_plan_artefact *artefact)
{
	KL_AUTO(kl_freep) char *name = kl_asprintf("%s.cubin", build->name);

	for (size_t i = 0; i < build->nfile; i++)
		/* the digest was checked when the plan was read */
		if (!strcmp(build->file[i].path, artefact->cubin))
			return kl_tool_put(build->dir, ".", name, build->file[i].data,
					   build->file[i].len);
	*build->class_ = "launch";
	return kl_error(KL_ENO, "the plan's artefact '%s' is not one of the sources",
			artefact->cubin);
}

/* -- building and auditing a cubin ----------------------------------------------------------- */

static int read_sass(struct build *build, const char *cubin)
{
	int err = kl_sass_read(&build->sass, build->tool.jail, build->nvcc, build->dir, cubin);

	if (!err || err == KL_EINTR)
		return err;
	if (build->text.len) { /* the PTX alone is enough to read the facts */
		kl_error_clear();
		return 0;
	}
	return kl_error_hint(kl_error(KL_ECANNOT,
				      "cannot judge an imported cubin without its machine code: %s",
				      kl_error_last()),
			     "install nvdisasm (CUDA Toolkit)");
}

/* Find the symbols of the kernels that the plan names, and store them in the plan and `wish`. */
static int name_kernels(struct build *build)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec symbol = KL_STRVEC_INIT;
	int err = build->named ? kl_kernel_names_find(&symbol, build->cubin, &build->wish.name,
						      build->tool.jail, build->dir) :
				 0;

	for (size_t i = 0; !err && i < symbol.n; i++)
		if (strcmp(symbol.v[i], build->wish.name.v[i]) != 0)
			err = kl_plan_set_symbol(build->named, build->wish.name.v[i], symbol.v[i]);
	if (!err && build->named)
		kl_cuda_wish_name(&build->wish, &symbol);
	return err == KL_EINVALID ? kl_error(KL_ENO, "%s", kl_error_last()) : err;
}

static int audit_cubin(struct build *build)
{
	KL_AUTO(kl_freep) char *cubin = kl_asprintf("%s.cubin", build->name),
			       *path = kl_fs_join(build->dir, cubin);
	bool text = build->text.len;
	int err = kl_cubin_read(&build->cubin, path);

	*build->class_ = "cheat";
	if (!err && text)
		err = kl_ptx_parse(&build->ptx, build->text.ptr, build->text.len);
	if (err < 0)
		return err;
	*build->class_ = "launch";
	err = name_kernels(build);
	if (!err)
		err = kl_audit_cuda_launch(build->cubin, &build->wish);
	if (err < 0)
		return err;
	*build->class_ = "cheat";
	if (text)
		err = kl_ptx_reach(&build->ptx, (const char *const *)build->wish.name.v,
				   build->wish.name.n);
	if (!err)
		err = read_sass(build, cubin);
	return err ? err :
		     kl_audit_cuda(build->cubin, text ? &build->ptx : NULL, &build->sass,
				   &build->wish);
}

static int build_kernel(struct build *build, const struct kl_contract *contract)
{
	const struct kl_plan_artefact *artefact = kl_plan_artefact(build->launch->plan);
	int err = kl_cuda_wish_make(&build->wish, build->launch, contract);

	if (err < 0) {
		*build->class_ = "launch";
		return err == KL_EINVALID || err == KL_ECANNOT ?
			       kl_error(KL_ENO, "%s", kl_error_last()) :
			       err;
	}
	fixed_env(build);
	err = artefact ? import_artefact(build, artefact) : compile_cubin(build);
	if (!err)
		err = audit_cubin(build);
	return err == KL_ENO && build->named ?
		       kl_demangle_error(err, build->tool.jail, build->dir) :
		       err;
}

static int digest_file(char out[KL_DIGEST_HEX], const char *path)
{
	KL_AUTO(kl_buf_release) struct kl_buf data = KL_BUF_INIT;
	int err = kl_fs_read(&data, path, KL_CUBIN_MAX_BYTES);

	if (!err)
		kl_digest_hex(out, data.ptr, data.len);
	return err;
}

int kl_compile_cuda(struct kl_artefact **out, const char **class_, const struct kl_jail *jail,
		    const struct kl_nvcc *nvcc, const struct kl_map *headers,
		    const struct kl_surface *surface, struct kl_launch *launch, const char *dir)
{
	KL_AUTO(kl_artefact_freep) struct kl_artefact *artefact = kl_calloc(1, sizeof(*artefact));
	KL_AUTO(build_release) struct build build = {
		.nvcc = nvcc,
		.dir = dir,
		.name = "kernel",
		.file = surface->file,
		.nfile = surface->nfile,
		.launch = launch,
		.named = launch->plan,
		.contract = surface->contract,
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
		.headers = &surface->contract->headers,
	};
	struct kl_cuda_code code;
	int err;

	kl_headers_readable(build.readable, nvcc->readable[0], headers, build.headers);
	build.tool.readable = build.readable;
	err = build_kernel(&build, surface->contract);
	artefact->object = kl_fs_join(dir, "kernel.cubin");
	if (!err)
		err = digest_file(artefact->digest, artefact->object);
	if (err < 0)
		return err;
	code = (struct kl_cuda_code){ .cubin = build.cubin,
				      .ptx = build.text.len ? &build.ptx : NULL,
				      .sass = &build.sass,
				      .wish = &build.wish,
				      .verbose = build.verbose.ptr };
	kl_cuda_features(&artefact->facts.features, &code);
	kl_cuda_digest(artefact->facts.code_digest, &code);
	artefact->statics = kl_cuda_static(&code);
	artefact->log = kl_buf_detach(&build.tool.log);
	*out = kl_steal(&artefact);
	return 0;
}

/* -- compiling oracles ----------------------------------------------------------------------- */

static const struct {
	const char *prefix, *flags[4];
} arithmetic[] = {
	[KL_ORACLE_TRUTH] = { "src-truth/", { "-fmad=false", "-Irt", "-Dkl_real=double", NULL } },
	[KL_ORACLE_HONEST] = { "src-honest/", { "-fmad=false", "-Irt", "-Dkl_real=float", NULL } },
};

static bool has_float_scalar(const struct kl_contract *contract)
{
	for (size_t i = 0; i < contract->nargs; i++)
		if (contract->arg[i].kind == KL_ARG_SCALAR &&
		    kl_dtype_is_float(contract->arg[i].dtype))
			return true;
	return false;
}

/* Return true if the cubin lacks a kernel that the plan names; C++ may have mangled its name. */
static bool lacks_kernel(const struct build *build)
{
	for (size_t i = 0; build->cubin && i < build->wish.name.n; i++)
		if (!kl_cubin_kernel(build->cubin, build->wish.name.v[i]))
			return true;
	return false;
}

int kl_compile_cuda_oracle(const struct kl_jail *jail, const struct kl_nvcc *nvcc,
			   const struct kl_surface *surface, const struct kl_launch *launch,
			   enum kl_oracle which, const char *dir)
{
	const char *class_ = NULL;
	KL_AUTO(build_release) struct build build = {
		.nvcc = nvcc,
		.dir = dir,
		.name = kl_oracle_name(which),
		.file = surface->oracle,
		.nfile = surface->noracle,
		.launch = launch,
		.extra = arithmetic[which].flags,
		.class_ = &class_,
		.text = KL_BUF_INIT,
		.verbose = KL_BUF_INIT,
		.wish = { .text = KL_BUF_INIT },
		.tool = { .jail = jail,
			  .dir = dir,
			  .prefix = arithmetic[which].prefix,
			  .readable = nvcc->readable,
			  .limit_ms = NVCC_MS,
			  .class_ = &class_,
			  .log = KL_BUF_INIT },
	};
	int err = kl_oracle_filled(surface);

	if (!err)
		err = build_kernel(&build, surface->contract);
	if (err != KL_ENO)
		return err;
	if (class_ && !strcmp(class_, "launch") && lacks_kernel(&build))
		return kl_error(KL_EINVALID,
				"oracle: %s (C++ mangles the names of kernels: declare those of an "
				"oracle extern \"C\")",
				kl_error_last());
	if (class_ && !strcmp(class_, "launch") && has_float_scalar(surface->contract))
		return kl_error(KL_EINVALID,
				"oracle: %s (only tensors of floats are kl_real: scalars have the "
				"contract's types)",
				kl_error_last());
	return kl_error_in(KL_EINVALID, "oracle");
}

void kl_compile_cuda_recipe(struct kl_digest *digest, const struct kl_nvcc *nvcc)
{
	kl_digest_adds(digest, nvcc->version);
	kl_digest_adds(digest, "fixed path");
	for (size_t i = 0; i < KL_ARRAY_SIZE(arithmetic); i++)
		for (const char *const *list = arithmetic[i].flags; *list; list++)
			kl_digest_adds(digest, *list);
}
