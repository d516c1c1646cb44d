/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/c/compile.h"

#include <stdio.h>
#include <string.h>

#include "backend/c/adapter.h"
#include "backend/c/audit.h"
#include "backend/c/code/isa.h"
#include "backend/c/compile_parts.h"
#include "backend/c/conditions.h"
#include "backend/c/cxx.h"
#include "backend/c/dispatch.h"
#include "backend/c/lookups.h"
#include "backend/c/pragmas.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/tasks.h"

/*
 * These flags follow the contract's flags, so that the contract cannot override them. With -fplt
 * every call stays a call instruction; the gate links it to its target directly.
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

void kl_build_release(struct kl_build *build)
{
	kl_code_release(&build->code);
	for (size_t i = 0; i < build->nobj; i++)
		kl_object_free(build->obj[i]);
	free(build->obj);
	free(build->symbol);
	if (build->untimed)
		kl_object_free(build->untimed);
	kl_strvec_release(&build->objpath);
	kl_buf_release(&build->tool.log);
}

static bool ends_with(const char *text, const char *with)
{
	size_t n = strlen(text), len = strlen(with);

	return n >= len && !strcmp(text + n - len, with);
}

/* Return true if the compiler is run on the source; other sources are only included. */
static bool is_unit(const void *payload, const char *path)
{
	const struct kl_build *build = payload;
	const struct kl_strvec *units = build->contract ? &build->contract->build.units : NULL;

	if (build->adapter && !strcmp(path, build->adapter))
		return true;
	if (units && units->n)
		return kl_strvec_has(units, path);
	return ends_with(path, ".c") || ((build->cxx || build->extra) && kl_cxx_is_source(path));
}

/* Write a source. If `declare` is true, append the declaration of the entry in C++ (cxx.h). */
static int put_source(const struct kl_build *build, const char *sub, size_t i, bool declare)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const struct kl_file *file = &build->file[i];

	if (!declare)
		return kl_tool_put(build->dir, sub, file->path, file->data, file->len);
	kl_buf_add(&text, file->data, file->len);
	kl_cxx_declare(&text, build->contract, build->tag);
	return kl_tool_put(build->dir, sub, file->path, text.ptr, text.len);
}

int kl_build_lay_out(const struct kl_build *build)
{
	KL_AUTO(kl_freep) char *objects = kl_fs_join(build->dir, build->name);
	KL_AUTO(kl_freep) char *sources = kl_asprintf("%s/src-%s", build->dir, build->name);
	KL_AUTO(kl_freep) char *sub = kl_asprintf("src-%s", build->name);
	size_t unit = build->cxx ? kl_cxx_entry_unit(build->file, build->nfile, build->contract,
						     is_unit, build) :
				   build->nfile;
	int err = kl_fs_remove(objects);

	if (!err)
		err = kl_fs_remove(sources);
	if (!err)
		err = kl_fs_mkdir(objects);
	for (size_t i = 0; !err && i < build->nfile; i++)
		err = put_source(build, sub, i, i == unit);
	return err ? err : kl_tool_put_runtime(build->dir, "kl_oracle.h");
}

/*
 * Add the compiler and its flags, but not -c, -E or any file. Headers are in `folder`. `ours` is
 * true if the source is the gate's runtime, not a kernel or oracle.
 */
static void add_command(struct kl_strvec *argv, const struct kl_build *build, const char *folder,
			bool ours)
{
	kl_strvec_push(argv, "gcc");
	if (!build->cxx || ours)
		kl_strvec_push(argv, "-std=gnu11");
	kl_strvec_push(argv, "-O2");
	if (build->contract) {
		kl_strvec_copy(argv, &build->contract->flags);
		kl_contract_build_flags(argv, build->contract, folder);
		if (build->contract->threads)
			kl_strvec_push(argv, "-fopenmp");
		if (kl_dispatch_asks(build->file, build->nfile))
			kl_dispatch_answer(argv, kl_isa_level(build->tools->platform->march));
	}
	if (build->contract && build->adapter)
		kl_strvec_push(argv, "-DKL_TIMED=1");
	if (!ours && build->extra)
		kl_strvec_pushv(argv, build->extra);
	if (ours)
		kl_strvec_push(argv, "-fno-builtin");
	kl_strvec_pushf(argv, "-march=%s", build->tools->platform->march);
	for (const char *const *flag = fixed_flags; *flag; flag++)
		if (!build->cxx || ours || strcmp(*flag, "-Werror=implicit-function-declaration"))
			kl_strvec_push(argv, *flag);
	if (build->cxx && !ours)
		kl_strvec_pushv(argv, kl_cxx_flags);
	/* an adapter includes the kernel's headers by their paths below `folder` */
	if (!build->contract || !build->contract->from_top || build->adapter)
		kl_strvec_pushf(argv, "-I%s", folder);
}

static int compile_one(struct kl_build *build, const char *source, const char *object, bool ours)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *what = kl_asprintf("compiling '%s'", strchr(source, '/') + 1);
	KL_AUTO(kl_freep) char *folder = kl_asprintf("src-%s", build->name);

	if (!ours)
		kl_lookups_watch(&argv, build->name);
	add_command(&argv, build, folder, ours);
	kl_strvec_push(&argv, "-c");
	kl_strvec_push(&argv, "-o");
	kl_strvec_push(&argv, object);
	kl_strvec_push(&argv, source);
	return kl_tool_run(&build->tool, &argv, NULL, what);
}

/* Name all files that a source does not find, if one of them is why it does not compile. */
static int explain_source(struct kl_build *build, int err, const char *source)
{
	static const char *const list[] = { "-M", "-MG", "-MT", "unit", NULL };
	KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *folder = kl_asprintf("src-%s", build->name);

	add_command(&argv, build, folder, false);
	kl_strvec_pushv(&argv, list);
	kl_strvec_push(&argv, source);
	return kl_build_explain_missing(build, err, &argv);
}

int kl_build_failed(struct kl_build *build, int err, const char *what)
{
	if (err == KL_ENO) {
		*build->class_ = "cheat";
		return kl_error_in(err, "%s", what);
	}
	return err;
}

/* Check which files the sources looked for. An oracle may also include the gate's headers. */
static int check_lookups(struct kl_build *build)
{
	KL_AUTO(kl_freep) char *sources = kl_asprintf("src-%s", build->name);
	const struct kl_lookups_rules rules = {
		.sources = sources,
		.objects = build->name,
		.gate = build->extra ? "rt" : NULL,
	};

	return kl_build_failed(build, kl_lookups_check(build->dir, build->name, &rules),
			       "the kernel");
}

/*
 * Return the error to report after the compiler failed. If a source looked for a file that is not
 * allowed, refuse the source: the compiler can have failed only because the jail hides that file.
 */
static int explain_trouble(struct kl_build *build)
{
	KL_AUTO(kl_freep) char *why = kl_strdup(kl_error_last());
	int err = check_lookups(build);

	return err == KL_ENO ? err : kl_error(KL_ECANNOT, "%s", why);
}

int kl_build_sources(struct kl_build *build)
{
	int err = kl_lookups_make(build->tool.jail, build->dir);

	build->obj = kl_calloc(build->nfile, sizeof(*build->obj));
	for (size_t i = 0; !err && i < build->nfile; i++) {
		KL_AUTO(kl_freep) char *source = kl_asprintf("src-%s/%s", build->name,
							     build->file[i].path);
		KL_AUTO(kl_freep) char *object = kl_asprintf("%s/%zu.o", build->name, i);
		KL_AUTO(kl_freep) char *path = kl_fs_join(build->dir, object);

		if (!is_unit(build, build->file[i].path))
			continue;
		err = compile_one(build, source, object, false);
		if (err < 0) {
			err = explain_source(build, err, source);
			break;
		}
		kl_strvec_push(&build->objpath, object);
		err = kl_object_read(&build->obj[build->nobj], path);
		if (!err)
			build->nobj++;
		err = kl_build_failed(build, err, build->file[i].path);
	}
	if (!err && !build->nobj) {
		*build->class_ = "compile";
		err = kl_error(KL_ENO, "none of the sources is a .c file");
	}
	return err == KL_ECANNOT ? explain_trouble(build) : err ? err : check_lookups(build);
}

/* -- compiling the runtime, opening the libraries ---------------------------------------------- */

static const char *const runtime_files[] = { "kernel_runtime.c", "runtime.c", "system.c" };

int kl_compile_tools_open(struct kl_compile_tools *out, const struct kl_jail *jail,
			  const struct kl_platform *platform)
{
	*out = (struct kl_compile_tools){ .jail = jail, .platform = platform };
	return kl_libraries_open(&out->libraries);
}

void kl_compile_tools_release(struct kl_compile_tools *tools)
{
	kl_libraries_free(tools->libraries);
	if (tools->runtime)
		kl_object_free(tools->runtime);
	*tools = (struct kl_compile_tools){ .jail = NULL };
}

char *kl_compile_runtime_path(const struct kl_platform *platform)
{
	return kl_asprintf("rt/runtime-%s.o", platform->march);
}

static int make_runtime(struct kl_build *build, const char *object)
{
	int err = 0;

	for (size_t i = 0; !err && i < KL_ARRAY_SIZE(runtime_files); i++)
		err = kl_tool_put_runtime(build->dir, runtime_files[i]);
	return err ? err : compile_one(build, "rt/kernel_runtime.c", object, true);
}

int kl_compile_runtime(struct kl_compile_tools *tools, const char *dir)
{
	const char *class_ = NULL;
	KL_AUTO(kl_freep) char *object = kl_compile_runtime_path(tools->platform);
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, object);
	KL_AUTO(kl_build_release) struct kl_build build = {
		.tools = tools,
		.dir = dir,
		.name = "rt",
		.tool = { .jail = tools->jail,
			  .dir = dir,
			  .prefix = "rt/",
			  .class_ = &class_,
			  .log = KL_BUF_INIT },
	};
	int err = tools->runtime || kl_fs_exists(path) ? 0 : make_runtime(&build, object);

	if (!err && !tools->runtime)
		err = kl_object_read(&tools->runtime, path);
	return err == KL_ENO ? kl_error_in(KL_ECANNOT, "the runtime that kernels are linked with") :
			       err;
}

int kl_compile_digest_runtime(struct kl_digest *digest)
{
	int err = 0;

	for (size_t i = 0; !err && i < KL_ARRAY_SIZE(runtime_files); i++)
		err = kl_tool_digest_runtime(digest, runtime_files[i]);
	return err;
}

/* -- compiling a kernel and checking its sources ------------------------------------------------ */

static void source_command(struct kl_strvec *argv, const void *payload, const char *folder)
{
	add_command(argv, payload, folder, false);
}

static int compile_and_audit(void *ctx)
{
	struct kl_build *build = ctx;
	int err = kl_build_sources(build);

	return err ? err : kl_build_audit(build);
}

static int check_conditions(void *ctx)
{
	return kl_conditions_check(ctx);
}

/*
 * Compile and audit the sources of a kernel and, at the same time, check that the sources do not
 * depend on the directory or the date.
 */
static int compile_kernel(struct kl_build *build)
{
	KL_AUTO(kl_freep) char *dir = kl_asprintf("%s-conditions", build->dir);
	const struct kl_entries entries = kl_build_entries(build);
	struct kl_conditions conditions = {
		.jail = build->tools->jail,
		.dir = dir,
		.file = build->file,
		.nfile = build->nfile,
		.command = source_command,
		/*
		 * the check can only parse declarations of C, so in C++ everything counts as
		 * reached
		 */
		.entries = build->cxx ? NULL : entries.name,
		.is_unit = is_unit,
		.payload = build,
	};
	struct kl_task task[2] = { { .run = compile_and_audit, .ctx = build },
				   { .run = check_conditions, .ctx = &conditions } };
	int err;

	kl_tasks_run(task, 2);
	/*
	 * if both fail, report the compiler's or the audit's error, which says more about the
	 * source
	 */
	err = kl_task_result(&task[0]);
	if (!err && (err = kl_task_result(&task[1])) == KL_ENO)
		*build->class_ = "cheat";
	kl_tasks_release(task, 2);
	if (kl_fs_remove(dir) < 0 && !err)
		err = KL_EIO;
	return err;
}

/* Compile the sources to the audited image `dir`/<name>.image. The parsed code stays in `build`. */
static int build_image(struct kl_build *build, char **path, char digest[KL_DIGEST_HEX])
{
	KL_AUTO(kl_freep) char *name = kl_asprintf("%s.image", build->name);
	KL_AUTO(kl_freep) char *to = kl_fs_join(build->dir, name);
	KL_AUTO(kl_buf_release) struct kl_buf bytes = KL_BUF_INIT;
	int err = build->contract && build->adapter ? kl_build_untimed(build) : 0;

	if (!err)
		err = kl_build_lay_out(build);
	if (!err) /* an oracle's sources are trusted not to depend on where they are compiled */
		err = build->extra ? compile_and_audit(build) : compile_kernel(build);
	if (!err)
		err = kl_build_link(&bytes, build);
	if (!err)
		err = kl_fs_put(to, bytes.ptr, bytes.len, 0644);
	if (err < 0)
		return err;
	kl_digest_hex(digest, bytes.ptr, bytes.len);
	*path = kl_steal(&to);
	return 0;
}

/* Add notes about pragmas and versions for other processors, which the gate ignores. */
static void note_sources(struct kl_strvec *notes, const struct kl_surface *surface)
{
	const char *ignored = kl_pragmas_ignored(surface);

	if (ignored)
		kl_strvec_push(notes, ignored);
	if (kl_dispatch_asks(surface->file, surface->nfile))
		kl_strvec_push(notes, "the sources have versions for several processors; only the "
				      "version for the platform's level was built and judged");
}

/* Return the sources and, at the end, the adapter; the caller frees the array, not the files. */
static struct kl_file *list_files(const struct kl_surface *surface, const struct kl_file *adapter,
				  size_t *n)
{
	struct kl_file *file = kl_calloc(surface->nfile + 1, sizeof(*file));

	memcpy(file, surface->file, surface->nfile * sizeof(*file));
	*n = surface->nfile;
	if (adapter)
		file[(*n)++] = *adapter;
	return file;
}

/*
 * Compile and audit a surface whose kernel `adapter` calls. If `adapter` is NULL, the worker calls
 * the kernel.
 */
static int compile_called(struct kl_artefact **out, const char **class_,
			  const struct kl_compile_tools *tools, const struct kl_surface *surface,
			  const struct kl_file *adapter, const char *dir)
{
	KL_AUTO(kl_artefact_freep) struct kl_artefact *artefact = kl_calloc(1, sizeof(*artefact));
	size_t nfile;
	KL_AUTO(kl_freep) struct kl_file *file = list_files(surface, adapter, &nfile);
	KL_AUTO(kl_build_release)
	struct kl_build build = {
		.tools = tools,
		.dir = dir,
		.name = "kernel",
		.entry = adapter ? KL_ADAPTER_CALL : surface->contract->entry,
		.adapter = adapter ? adapter->path : NULL,
		.file = file,
		.nfile = nfile,
		.contract = surface->contract,
		.cxx = surface->contract->language == &kl_language_cpp,
		.class_ = class_,
		.tool = { .jail = tools->jail,
			  .dir = dir,
			  .prefix = "src-kernel/",
			  .class_ = class_,
			  .log = KL_BUF_INIT },
	};
	int err = kl_adapter_filled(adapter);

	snprintf(build.tag, sizeof(build.tag), "%.16s", surface->digest);
	if (!err)
		err = build_image(&build, &artefact->object, artefact->digest);
	if (err < 0)
		return build.cxx ? kl_build_explain_cxx(&build, err) : err;
	kl_code_features(&artefact->facts.features, &build.code);
	artefact->facts.features_version = KL_FEATURES_VERSION;
	kl_code_digest(artefact->facts.code_digest, &build.code);
	kl_build_notes(&artefact->notes, &build);
	artefact->log = kl_buf_detach(&build.tool.log);
	note_sources(&artefact->notes, surface);
	*out = kl_steal(&artefact);
	return 0;
}

int kl_compile_surface(struct kl_artefact **out, const char **class_,
		       const struct kl_compile_tools *tools, const struct kl_surface *surface,
		       const char *dir)
{
	const struct kl_file *adapter = kl_surface_adapter(surface, 0);
	int err = compile_called(out, class_, tools, surface, adapter, dir);
	KL_AUTO(kl_freep) char *why = err == KL_ENO ? kl_strdup(kl_error_last()) : NULL;

	/* an older kernel can have another interface: try the contract's other adapters */
	for (size_t i = 1; err == KL_ENO && !strcmp(*class_, "compile") &&
			   (adapter = kl_surface_adapter(surface, i));
	     i++) {
		err = compile_called(out, class_, tools, surface, adapter, dir);
		if (!err)
			kl_strvec_pushf(&(*out)->notes, "the adapter %s calls the kernel",
					adapter->path);
	}
	/* if no adapter fits, report the error that the first one gave */
	return err == KL_ENO && !strcmp(*class_, "compile") ? kl_error(KL_ENO, "%s", why) : err;
}

/* -- compiling oracles ------------------------------------------------------------------------- */

/* clang-format off */
static const struct { const char *prefix, *flags[5]; } arithmetic[] = {
	[KL_ORACLE_TRUTH] = { "src-truth/",
			      { "-O3", "-ffp-contract=off", "-Irt", "-Dkl_real=double", NULL } },
	[KL_ORACLE_HONEST] = { "src-honest/",
			       { "-O3", "-ffp-contract=off", "-Irt", "-Dkl_real=float", NULL } },
};
/* clang-format on */

/* Return the oracle's files without adapters; the caller frees the array, not the files. */
static struct kl_file *list_oracle(const struct kl_surface *surface, size_t *n)
{
	struct kl_file *file = kl_calloc(surface->noracle + 1, sizeof(*file));

	*n = 0;
	for (size_t i = 0; i < surface->noracle; i++)
		if (!kl_surface_is_adapter(surface, surface->oracle[i].path))
			file[(*n)++] = surface->oracle[i];
	return file;
}

int kl_compile_oracle(const struct kl_compile_tools *tools, const struct kl_surface *surface,
		      enum kl_oracle which, const char *dir)
{
	const char *class_ = NULL;
	size_t nfile;
	KL_AUTO(kl_freep) struct kl_file *file = list_oracle(surface, &nfile);
	KL_AUTO(kl_freep) char *path = NULL;
	char digest[KL_DIGEST_HEX];
	KL_AUTO(kl_build_release) struct kl_build build = {
		.tools = tools,
		.dir = dir,
		.name = kl_oracle_name(which),
		.entry = surface->contract->oracle_entry,
		.file = file,
		.nfile = nfile,
		.extra = arithmetic[which].flags,
		.class_ = &class_,
		.tool = { .jail = tools->jail,
			  .dir = dir,
			  .prefix = arithmetic[which].prefix,
			  .class_ = &class_,
			  .log = KL_BUF_INIT },
	};
	int err = kl_oracle_filled(surface);

	if (!err)
		err = build_image(&build, &path, digest);
	return err == KL_ENO ? kl_error_in(KL_EINVALID, "oracle") : err;
}

/*
 * -- computing cache keys -----------------------------------------------------------------------
 */

static void add_list(struct kl_digest *digest, const char *const *list)
{
	for (; *list; list++)
		kl_digest_adds(digest, *list);
	kl_digest_adds(digest, "");
}

void kl_compile_recipe(struct kl_digest *digest, const struct kl_compile_tools *tools)
{
	kl_digest_adds(digest, tools->platform->compiler);
	kl_digest_adds(digest, tools->libraries->id);
	kl_digest_adds(digest, tools->platform->march);
	add_list(digest, fixed_flags);
	for (size_t i = 0; i < KL_ARRAY_SIZE(arithmetic); i++)
		add_list(digest, arithmetic[i].flags);
}
