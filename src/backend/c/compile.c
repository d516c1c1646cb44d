/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/c/compile.h"

#include <string.h>

#include "backend/c/audit.h"
#include "backend/c/code.h"
#include "backend/tool.h"
#include "base/error.h"
#include "base/fs.h"

/*
 * After the contract's own flags, so that none of them undoes these.
 * Calls go through the PLT rather than -fno-plt's registers: with -z now
 * and -Bsymbolic only library calls take the detour, and every call stays visible as one.
 */
static const char *const fixed_flags[] = { "-fPIC",
					   "-fvisibility=default",
					   "-fno-semantic-interposition",
					   "-fplt",
					   "-ffunction-sections",
					   "-fdata-sections",
					   "-fno-common",
					   "-fno-lto",
					   "-fno-reorder-blocks-and-partition",
					   "-fno-stack-protector",
					   "-fno-stack-clash-protection",
					   "-fcf-protection=none",
					   "-fno-ident",
					   "-fno-asynchronous-unwind-tables",
					   "-fno-exceptions",
					   "-fno-profile-generate",
					   "-fno-sanitize=all",
					   "-U_FORTIFY_SOURCE",
					   "-DNDEBUG",
					   "-Werror=implicit-function-declaration",
					   "-fmax-errors=5",
					   "-fdiagnostics-color=never",
					   "-fno-diagnostics-show-caret",
					   "-g0",
					   "-pipe",
					   NULL };

/* One shared object in the making, in `dir` (the jail's work directory). */
struct build {
	const struct kl_jail *jail;
	const struct kl_platform *platform;
	const char *dir, *name, *entry; /* name: of its folder of objects, and of the .so */
	const struct kl_file *file;
	size_t nfile;
	const struct kl_strvec *flags; /* the contract's; NULL: none */
	const char *const *extra;      /* ours, before the fixed ones */
	const char **class_;
	struct kl_object **obj;
	size_t nobj;
	struct kl_strvec objpath; /* relative to dir */
	struct kl_code code;
	struct kl_tool tool;
};

static void build_release(struct build *b)
{
	kl_code_release(&b->code);
	for (size_t i = 0; i < b->nobj; i++)
		kl_object_free(b->obj[i]);
	free(b->obj);
	kl_strvec_release(&b->objpath);
	kl_buf_release(&b->tool.log);
}

static bool ends_with(const char *s, const char *with)
{
	size_t n = strlen(s), m = strlen(with);

	return n >= m && !strcmp(s + n - m, with);
}

/* Once in a directory: all that is built there shares it. */
static int lay_out_runtime(const struct build *b)
{
	int err = kl_tool_put_runtime(b->dir, "runtime.c");

	return err ? err : kl_tool_put_runtime(b->dir, "kl_oracle.h");
}

static int lay_out(const struct build *b)
{
	KL_AUTO(kl_freep) char *objects = kl_fs_join(b->dir, b->name);
	KL_AUTO(kl_freep) char *sources = kl_asprintf("%s/src-%s", b->dir, b->name);
	KL_AUTO(kl_freep) char *sub = kl_asprintf("src-%s", b->name);
	KL_AUTO(kl_freep) char *map = kl_asprintf("{ global: %s; kl_rt_arena; local: *; };\n",
						  b->entry);
	int err = kl_fs_remove(objects);

	if (!err)
		err = kl_fs_remove(sources);
	if (!err)
		err = kl_fs_mkdir(objects);
	for (size_t i = 0; !err && i < b->nfile; i++)
		err = kl_tool_put(b->dir, sub, b->file[i].path, b->file[i].data, b->file[i].len);
	if (!err)
		err = lay_out_runtime(b);
	return err ? err : kl_tool_put(b->dir, b->name, "exports", map, strlen(map));
}

static int compile_one(struct build *b, const char *source, const char *object, bool ours)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec a = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *what = kl_asprintf("compiling '%s'", strchr(source, '/') + 1);

	kl_strvec_push(&a, "gcc");
	kl_strvec_push(&a, "-std=gnu11");
	kl_strvec_push(&a, "-O2");
	for (size_t i = 0; !ours && b->flags && i < b->flags->n; i++)
		kl_strvec_push(&a, b->flags->v[i]);
	if (!ours && b->extra)
		kl_strvec_pushv(&a, b->extra);
	if (ours)
		kl_strvec_push(&a, "-fno-builtin");
	kl_strvec_pushf(&a, "-march=%s", b->platform->march);
	kl_strvec_pushv(&a, fixed_flags);
	kl_strvec_pushf(&a, "-Isrc-%s", b->name);
	kl_strvec_push(&a, "-c");
	kl_strvec_push(&a, "-o");
	kl_strvec_push(&a, object);
	kl_strvec_push(&a, source);
	return kl_tool_run(&b->tool, &a, NULL, what);
}

static int audit_failed(struct build *b, int err, const char *what)
{
	if (err == KL_ENO) {
		*b->class_ = "cheat";
		return kl_error_in(err, "%s", what);
	}
	return err;
}

static int compile_sources(struct build *b)
{
	int err = 0;

	b->obj = kl_calloc(b->nfile, sizeof(*b->obj));
	for (size_t i = 0; !err && i < b->nfile; i++) {
		KL_AUTO(kl_freep) char *source = kl_asprintf("src-%s/%s", b->name, b->file[i].path);
		KL_AUTO(kl_freep) char *object = kl_asprintf("%s/%zu.o", b->name, i);
		KL_AUTO(kl_freep) char *path = kl_fs_join(b->dir, object);

		if (!ends_with(source, ".c"))
			continue;
		err = compile_one(b, source, object, false);
		if (err < 0)
			break;
		kl_strvec_push(&b->objpath, object);
		err = kl_object_read(&b->obj[b->nobj], path);
		if (!err)
			b->nobj++;
		err = audit_failed(b, err, b->file[i].path);
	}
	if (!err && !b->nobj) {
		*b->class_ = "compile";
		err = kl_error(KL_ENO, "none of the sources is a .c file");
	}
	return err;
}

static int check_entry(struct build *b)
{
	for (size_t k = 0; k < b->nobj; k++)
		for (size_t i = 0; i < b->obj[k]->nsym; i++)
			if (b->obj[k]->sym[i].sec >= 0 && !strcmp(b->obj[k]->sym[i].name, b->entry))
				return 0;
	*b->class_ = "compile";
	return kl_error(KL_ENO, "no source defines the function '%s'", b->entry);
}

static int audit_objects(struct build *b)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec a = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const struct kl_object *const *objs = (const struct kl_object *const *)b->obj;
	int err = check_entry(b);

	for (size_t k = 0; !err && k < b->nobj; k++)
		err = audit_failed(b, kl_audit_object(b->obj[k], objs, b->nobj), "the kernel");
	if (err < 0)
		return err;
	kl_strvec_push(&a, "objdump");
	kl_strvec_push(&a, "-dzw");
	kl_strvec_push(&a, "--no-show-raw-insn");
	for (size_t k = 0; k < b->objpath.n; k++)
		kl_strvec_push(&a, b->objpath.v[k]);
	err = kl_tool_run(&b->tool, &a, &text, "reading the machine code");
	if (!err)
		err = kl_code_parse(&b->code, objs, b->nobj, text.ptr, text.len);
	if (!err)
		err = kl_code_audit(&b->code);
	return audit_failed(b, err, "the kernel");
}

char *kl_compile_runtime_path(const struct kl_platform *p)
{
	return kl_asprintf("rt/runtime-%s.o", p->march);
}

static int make_runtime(struct build *b, const char *object)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(b->dir, object);

	return kl_fs_exists(path) ? 0 : compile_one(b, "rt/runtime.c", object, true);
}

int kl_compile_runtime(const struct kl_jail *j, const struct kl_platform *p, const char *dir)
{
	const char *class_ = NULL;
	KL_AUTO(kl_freep) char *object = kl_compile_runtime_path(p);
	KL_AUTO(build_release) struct build b = {
		.platform = p,
		.dir = dir,
		.name = "rt",
		.tool = { .jail = j,
			  .dir = dir,
			  .prefix = "rt/",
			  .class_ = &class_,
			  .log = KL_BUF_INIT },
	};
	int err = lay_out_runtime(&b);

	if (!err)
		err = make_runtime(&b, object);
	return err == KL_ENO ? kl_error_in(KL_ECANNOT, "the runtime of kernels") : err;
}

static int link_all(struct build *b, const char *so)
{
	static const char *const before[] = {
		"gcc",
		"-shared",
		"-nostdlib",
		"-nostartfiles",
		"-Wl,-z,now,-z,relro,-z,noexecstack,-z,text,--no-undefined,-Bsymbolic",
		"-Wl,--gc-sections,--as-needed,--build-id=none,--hash-style=gnu",
		NULL
	};
	static const char *const after[] = { "-lm", "-lc", "-lgcc", NULL };
	KL_AUTO(kl_strvec_release) struct kl_strvec a = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *rt = kl_compile_runtime_path(b->platform);
	int err = make_runtime(b, rt);

	if (err < 0)
		return err;
	kl_strvec_pushv(&a, before);
	kl_strvec_pushf(&a, "-Wl,--version-script=%s/exports,-soname=kernel", b->name);
	kl_strvec_push(&a, "-o");
	kl_strvec_push(&a, so);
	for (size_t k = 0; k < b->objpath.n; k++)
		kl_strvec_push(&a, b->objpath.v[k]);
	kl_strvec_push(&a, rt);
	kl_strvec_pushv(&a, after);
	return kl_tool_run(&b->tool, &a, NULL, "linking");
}

/* Sources to dir/<name>.so, audited; the code is left in `b`. */
static int build_object(struct build *b, char **so_path, char digest[KL_DIGEST_HEX])
{
	KL_AUTO(kl_freep) char *so = kl_asprintf("%s.so", b->name);
	KL_AUTO(kl_freep) char *path = kl_fs_join(b->dir, so);
	KL_AUTO(kl_object_freep) struct kl_object *linked = NULL;
	int err = lay_out(b);

	if (!err)
		err = compile_sources(b);
	if (!err)
		err = audit_objects(b);
	if (!err)
		err = link_all(b, so);
	if (err < 0)
		return err;
	err = kl_object_read(&linked, path);
	if (!err)
		err = kl_audit_linked(linked, b->entry);
	if (err < 0)
		return audit_failed(b, err, "the kernel");
	kl_digest_hex(digest, linked->bytes, linked->len);
	*so_path = kl_steal(&path);
	return 0;
}

int kl_compile_surface(struct kl_artefact **out, const char **class_, const struct kl_jail *j,
		       const struct kl_platform *p, const struct kl_surface *s, const char *dir)
{
	KL_AUTO(kl_artefact_freep) struct kl_artefact *a = kl_calloc(1, sizeof(*a));
	KL_AUTO(build_release)
	struct build b = {
		.jail = j,
		.platform = p,
		.dir = dir,
		.name = "kernel",
		.entry = s->contract->entry,
		.file = s->file,
		.nfile = s->nfile,
		.flags = &s->contract->flags,
		.class_ = class_,
		.tool = { .jail = j,
			  .dir = dir,
			  .prefix = "src-kernel/",
			  .class_ = class_,
			  .log = KL_BUF_INIT },
	};
	int err = build_object(&b, &a->object, a->digest);

	if (!err)
		err = kl_code_reach(&b.code, b.entry);
	if (err < 0)
		return err;
	kl_code_features(&a->facts.features, &b.code);
	kl_code_digest(a->facts.code_digest, &b.code);
	a->log = kl_buf_detach(&b.tool.log);
	*out = kl_steal(&a);
	return 0;
}

/* -- oracles ----------------------------------------------------------------------------------- */

/* clang-format off */
static const struct { const char *prefix, *flags[5]; } arithmetic[] = {
	[KL_ORACLE_TRUTH] = { "src-truth/",
			      { "-O3", "-ffp-contract=off", "-Irt", "-Dkl_real=double", NULL } },
	[KL_ORACLE_HONEST] = { "src-honest/",
			       { "-O3", "-ffp-contract=off", "-Irt", "-Dkl_real=float", NULL } },
};
/* clang-format on */

int kl_compile_oracle(const struct kl_jail *j, const struct kl_platform *p,
		      const struct kl_surface *s, enum kl_oracle which, const char *dir)
{
	const char *class_ = NULL;
	KL_AUTO(kl_freep) char *so = NULL;
	char digest[KL_DIGEST_HEX];
	KL_AUTO(build_release) struct build b = {
		.jail = j,
		.platform = p,
		.dir = dir,
		.name = kl_oracle_name(which),
		.entry = s->contract->oracle_entry,
		.file = s->oracle,
		.nfile = s->noracle,
		.extra = arithmetic[which].flags,
		.class_ = &class_,
		.tool = { .jail = j,
			  .dir = dir,
			  .prefix = arithmetic[which].prefix,
			  .class_ = &class_,
			  .log = KL_BUF_INIT },
	};
	int err = kl_oracle_filled(s);

	if (!err)
		err = build_object(&b, &so, digest);
	return err == KL_ENO ? kl_error_in(KL_EINVALID, "oracle") : err;
}

/*
 * -- what it all depends on ---------------------------------------------------------------------
 */

static void add_list(struct kl_digest *d, const char *const *list)
{
	for (; *list; list++)
		kl_digest_adds(d, *list);
	kl_digest_adds(d, "");
}

void kl_compile_recipe(struct kl_digest *d, const struct kl_platform *p)
{
	kl_digest_adds(d, p->compiler);
	kl_digest_adds(d, p->march);
	add_list(d, fixed_flags);
	for (size_t i = 0; i < KL_ARRAY_SIZE(arithmetic); i++)
		add_list(d, arithmetic[i].flags);
}
