/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/cuda/compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/audit.h"
#include "backend/cuda/features.h"
#include "backend/headers.h"
#include "backend/tool.h"
#include "base/error.h"
#include "base/fs.h"
#include "text/digest.h"

#define NVCC_MS 120000 /* headers of templates take their time */
#define MAX_PTX ((size_t)64 << 20)

/* One cubin in the making, in `dir` (the jail's work directory). */
struct build {
	const struct kl_nvcc *nvcc;
	const char *dir, *name; /* name: of its folder and its files */
	const struct kl_file *file;
	size_t nfile;
	const struct kl_launch *launch;
	const struct kl_strvec *flags; /* the contract's; NULL: none */
	const char *const *extra;      /* ours */
	const char **class_;
	const struct kl_map *known; /* headers that it may ask for; NULL: none */
	const struct kl_strvec *headers;
	const char *readable[KL_HEADERS_READABLE];
	struct kl_tool tool;
	const struct kl_file *source; /* the .cu */
	struct kl_strvec env;
	struct kl_buf text;    /* the PTX; empty for an imported cubin */
	struct kl_buf verbose; /* what ptxas says of each kernel */
	struct kl_ptx ptx;
	struct kl_sass sass;
	struct kl_cubin *cubin;
	struct kl_cuda_wish wish;
};

static void build_release(struct build *b)
{
	kl_buf_release(&b->tool.log);
	kl_strvec_release(&b->env);
	kl_buf_release(&b->text);
	kl_buf_release(&b->verbose);
	kl_ptx_release(&b->ptx);
	kl_sass_release(&b->sass);
	if (b->cubin)
		kl_cubin_free(b->cubin);
	kl_cuda_wish_release(&b->wish);
}

static bool ends_with(const char *s, const char *with)
{
	size_t n = strlen(s), m = strlen(with);

	return n >= m && !strcmp(s + n - m, with);
}

/* -- files ------------------------------------------------------------------------------ */

static int find_source(struct build *b)
{
	for (size_t i = 0; i < b->nfile; i++) {
		if (!ends_with(b->file[i].path, ".cu"))
			continue;
		if (b->source) {
			*b->class_ = "compile";
			return kl_error(
				KL_ENO,
				"two .cu files, '%s' and '%s': one is compiled, the rest are included",
				b->source->path, b->file[i].path);
		}
		b->source = &b->file[i];
	}
	if (b->source)
		return 0;
	*b->class_ = "compile";
	return kl_error(KL_ENO, "none of the sources is a .cu file");
}

static int lay_out(struct build *b)
{
	KL_AUTO(kl_freep) char *sub = kl_asprintf("src-%s", b->name);
	KL_AUTO(kl_freep) char *sources = kl_fs_join(b->dir, sub);
	KL_AUTO(kl_freep) char *tmp = kl_asprintf("%s/tmp-%s", b->dir, b->name);
	int err = kl_fs_remove(sources);

	if (!err)
		err = kl_fs_remove(tmp);
	if (!err)
		err = kl_fs_mkdir(tmp);
	for (size_t i = 0; !err && i < b->nfile; i++)
		err = kl_tool_put(b->dir, sub, b->file[i].path, b->file[i].data, b->file[i].len);
	return err ? err : kl_tool_put_runtime(b->dir, "kl_oracle.cuh");
}

static void fixed_env(struct build *b)
{
	KL_AUTO(kl_freep) char *tmp = kl_asprintf("%s/tmp-%s", b->dir, b->name);

	kl_nvcc_env(&b->env, tmp);
	b->tool.env = (const char *const *)b->env.v;
}

/* -- tools -------------------------------------------------------------------------------- */

static void add_defines(struct kl_strvec *a, const struct kl_plan_compile *c)
{
	for (size_t i = 0; i < c->ndefine; i++)
		kl_strvec_pushf(a, "-D%s=%lld", c->define[i].name, (long long)c->define[i].value);
}

/* The PTX that nvcc keeps of its work: named after the source. */
static char *kept_ptx(const struct build *b, const char *keep)
{
	const char *name = strrchr(b->source->path, '/');

	name = name ? name + 1 : b->source->path;
	return kl_asprintf("%s/%s/%.*sptx", b->dir, keep, (int)(strlen(name) - 2), name);
}

/* To `cubin`, the PTX into the folder `keep`. */
static int run_nvcc(struct build *b, const char *keep, const char *cubin, bool lines)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec a = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *what = kl_asprintf("compiling '%s'", b->source->path);
	const struct kl_plan_compile *c = kl_plan_compile(b->launch->plan);
	const char *arch = b->launch->arch + (strncmp(b->launch->arch, "sm_", 3) ? 0 : 3);
	int err;

	kl_strvec_push(&a, b->nvcc->nvcc);
	kl_strvec_push(&a, "-cubin");
	kl_strvec_pushf(&a, "-gencode=arch=compute_%s,code=sm_%s", arch, arch);
	kl_strvec_pushf(&a, "-std=%s", c->std);
	kl_strvec_push(&a, "-DNDEBUG");
	kl_strvec_push(&a, "-Xptxas=-v");
	kl_strvec_push(&a, "--keep");
	kl_strvec_pushf(&a, "--keep-dir=%s", keep);
	for (size_t i = 0; b->flags && i < b->flags->n; i++)
		if (strcmp(b->flags->v[i], "-lineinfo"))
			kl_strvec_push(&a, b->flags->v[i]);
	add_defines(&a, c);
	if (b->extra)
		kl_strvec_pushv(&a, b->extra);
	if (lines)
		kl_strvec_push(&a, "-lineinfo");
	kl_strvec_pushf(&a, "-Isrc-%s", b->name);
	if (b->headers)
		kl_headers_flags(&a, b->known, b->headers);
	kl_strvec_push(&a, "-o");
	kl_strvec_push(&a, cubin);
	kl_strvec_pushf(&a, "src-%s/%s", b->name, b->source->path);
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

/*
 * "ptxas k.ptx, line 30; error : Unknown modifier": the line is the PTX's, and a person has
 * none. So it is made again with line information, and refused again.
 */
static int with_source_line(struct build *b, const char *keep)
{
	KL_AUTO(kl_freep)
	char *message = kl_strdup(kl_error_last()), *place = NULL, *path = kept_ptx(b, keep);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const char *at, *what = strstr(message, "; ");
	unsigned line;

	if (strncmp(message, "ptxas ", 6) || !what ||
	    run_nvcc(b, keep, "lines.cubin", true) != KL_ENO)
		return kl_error(KL_ENO, "%s", message);
	at = strstr(kl_error_last(), ", line ");
	if (!at || sscanf(at, ", line %u", &line) != 1 || kl_fs_read(&text, path, MAX_PTX) < 0)
		return kl_error(KL_ENO, "%s", message);
	place = kl_ptx_source_line(text.ptr, line);
	if (!place)
		return kl_error(KL_ENO, "%s", message);
	/* nvcc writes the path as it was given, or in full */
	at = strstr(place, b->tool.prefix);
	what = strchr(what, ':') ? strchr(what, ':') + 2 : what + 2;
	return kl_error(KL_ENO, "%s: error: %s (ptxas)", at ? at + strlen(b->tool.prefix) : place,
			what);
}

static int compile_cubin(struct build *b)
{
	KL_AUTO(kl_freep)
	char *keep = kl_asprintf("tmp-%s", b->name), *cubin = kl_asprintf("%s.cubin", b->name);
	KL_AUTO(kl_freep) char *ptx = NULL;
	int err = find_source(b);

	if (!err)
		err = lay_out(b);
	if (err < 0)
		return err;
	ptx = kept_ptx(b, keep);
	err = run_nvcc(b, keep, cubin, false);
	if (err == KL_ENO)
		return with_source_line(b, keep);
	if (!err)
		err = kl_fs_read(&b->text, ptx, MAX_PTX);
	return err == KL_EINVALID ? kl_error(KL_ENO, "the PTX is absurdly large") : err;
}

static int import_artefact(struct build *b, const struct kl_plan_artefact *a)
{
	KL_AUTO(kl_freep) char *name = kl_asprintf("%s.cubin", b->name);

	for (size_t i = 0; i < b->nfile; i++)
		if (!strcmp(b->file[i].path, a->cubin)) /* its digest was checked with the plan */
			return kl_tool_put(b->dir, ".", name, b->file[i].data, b->file[i].len);
	*b->class_ = "launch";
	return kl_error(KL_ENO, "the plan's artefact '%s' is none of the sources", a->cubin);
}

/* -- one cubin ------------------------------------------------------------------------------- */

static int read_sass(struct build *b, const char *cubin)
{
	int err = kl_sass_read(&b->sass, b->tool.jail, b->nvcc, b->dir, cubin);

	if (!err || err == KL_EINTR)
		return err;
	if (b->text.len) { /* PTX says enough */
		kl_error_clear();
		return 0;
	}
	return kl_error_hint(kl_error(KL_ECANNOT,
				      "an imported cubin is judged by its machine code: %s",
				      kl_error_last()),
			     "install nvdisasm (CUDA Toolkit)");
}

static int audit_cubin(struct build *b)
{
	KL_AUTO(kl_freep) char *cubin = kl_asprintf("%s.cubin", b->name),
			       *path = kl_fs_join(b->dir, cubin);
	bool text = b->text.len;
	int err = kl_cubin_read(&b->cubin, path);

	*b->class_ = "cheat";
	if (!err && text)
		err = kl_ptx_parse(&b->ptx, b->text.ptr, b->text.len);
	if (err < 0)
		return err;
	*b->class_ = "launch";
	err = kl_audit_cuda_launch(b->cubin, &b->wish);
	if (err < 0)
		return err;
	*b->class_ = "cheat";
	if (text)
		err = kl_ptx_reach(&b->ptx, (const char *const *)b->wish.name.v, b->wish.name.n);
	if (!err)
		err = read_sass(b, cubin);
	return err ? err : kl_audit_cuda(b->cubin, text ? &b->ptx : NULL, &b->sass, &b->wish);
}

static int build_kernel(struct build *b, const struct kl_contract *c)
{
	const struct kl_plan_artefact *a = kl_plan_artefact(b->launch->plan);
	int err = kl_cuda_wish_make(&b->wish, b->launch, c);

	if (err < 0) {
		*b->class_ = "launch";
		return err == KL_EINVALID || err == KL_ECANNOT ?
			       kl_error(KL_ENO, "%s", kl_error_last()) :
			       err;
	}
	fixed_env(b);
	err = a ? import_artefact(b, a) : compile_cubin(b);
	return err ? err : audit_cubin(b);
}

static int digest_file(char out[KL_DIGEST_HEX], const char *path)
{
	KL_AUTO(kl_buf_release) struct kl_buf data = KL_BUF_INIT;
	int err = kl_fs_read(&data, path, KL_CUBIN_MAX_BYTES);

	if (!err)
		kl_digest_hex(out, data.ptr, data.len);
	return err;
}

int kl_compile_cuda(struct kl_artefact **out, const char **class_, const struct kl_jail *j,
		    const struct kl_nvcc *n, const struct kl_map *headers,
		    const struct kl_surface *s, const struct kl_launch *l, const char *dir)
{
	KL_AUTO(kl_artefact_freep) struct kl_artefact *a = kl_calloc(1, sizeof(*a));
	KL_AUTO(build_release) struct build b = {
		.nvcc = n,
		.dir = dir,
		.name = "kernel",
		.file = s->file,
		.nfile = s->nfile,
		.launch = l,
		.flags = &s->contract->flags,
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
		.headers = &s->contract->headers,
	};
	struct kl_cuda_code code;
	int err;

	kl_headers_readable(b.readable, n->readable[0], headers, b.headers);
	b.tool.readable = b.readable;
	err = build_kernel(&b, s->contract);
	a->object = kl_fs_join(dir, "kernel.cubin");
	if (!err)
		err = digest_file(a->digest, a->object);
	if (err < 0)
		return err;
	code = (struct kl_cuda_code){ .cubin = b.cubin,
				      .ptx = b.text.len ? &b.ptx : NULL,
				      .sass = &b.sass,
				      .wish = &b.wish,
				      .verbose = b.verbose.ptr };
	kl_cuda_features(&a->facts.features, &code);
	kl_cuda_digest(a->facts.code_digest, &code);
	a->statics = kl_cuda_static(&code);
	a->log = kl_buf_detach(&b.tool.log);
	*out = kl_steal(&a);
	return 0;
}

/* -- oracles --------------------------------------------------------------------------------- */

static const struct {
	const char *prefix, *flags[4];
} arithmetic[] = {
	[KL_ORACLE_TRUTH] = { "src-truth/", { "-fmad=false", "-Irt", "-Dkl_real=double", NULL } },
	[KL_ORACLE_HONEST] = { "src-honest/", { "-fmad=false", "-Irt", "-Dkl_real=float", NULL } },
};

int kl_compile_cuda_oracle(const struct kl_jail *j, const struct kl_nvcc *n,
			   const struct kl_surface *s, const struct kl_launch *l,
			   enum kl_oracle which, const char *dir)
{
	const char *class_ = NULL;
	KL_AUTO(build_release) struct build b = {
		.nvcc = n,
		.dir = dir,
		.name = kl_oracle_name(which),
		.file = s->oracle,
		.nfile = s->noracle,
		.launch = l,
		.extra = arithmetic[which].flags,
		.class_ = &class_,
		.text = KL_BUF_INIT,
		.verbose = KL_BUF_INIT,
		.wish = { .text = KL_BUF_INIT },
		.tool = { .jail = j,
			  .dir = dir,
			  .prefix = arithmetic[which].prefix,
			  .readable = n->readable,
			  .limit_ms = NVCC_MS,
			  .class_ = &class_,
			  .log = KL_BUF_INIT },
	};
	int err = kl_oracle_filled(s);

	if (!err)
		err = build_kernel(&b, s->contract);
	return err == KL_ENO ? kl_error_in(KL_EINVALID, "oracle") : err;
}

void kl_compile_cuda_recipe(struct kl_digest *d, const struct kl_nvcc *n)
{
	kl_digest_adds(d, n->version);
	for (size_t i = 0; i < KL_ARRAY_SIZE(arithmetic); i++)
		for (const char *const *f = arithmetic[i].flags; *f; f++)
			kl_digest_adds(d, *f);
}
