/* SPDX-License-Identifier: Apache-2.0 */
/* adopted - turns a build's paths into a contract's, tries the result, and writes the files */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "adopt/adopt_parts.h"
#include "backend/c/compile.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/utf8.h"
#include "contract/surface.h"

#define MAX_FILE ((size_t)4 << 20)

void kl_adopted_release(struct kl_adopted *adopted)
{
	kl_options_release(&adopted->options);
	kl_strvec_release(&adopted->sources);
	kl_strvec_release(&adopted->units);
	kl_strvec_release(&adopted->traps);
	kl_strvec_release(&adopted->copy_from);
	kl_strvec_release(&adopted->copy_to);
	free(adopted->contract);
	free(adopted->oracle);
	free(adopted->adapter);
}

/* --- generated headers ------------------------------------------------------------------------ */

/*
 * Directories of generated headers, as absolute paths, and the directories of their copies, from
 * the top.
 */
struct copies {
	struct kl_strvec from, to;
};

static void copies_release(struct copies *copies)
{
	kl_strvec_release(&copies->from);
	kl_strvec_release(&copies->to);
}

/*
 * Return the innermost directory of the include path that contains the file; NULL if none contains
 * it.
 */
static const char *include_dir(const struct kl_options *options, const char *path)
{
	const struct kl_strvec *lists[] = { &options->iquote, &options->include,
					    &options->isystem };
	const char *best = NULL;

	for (size_t k = 0; k < KL_ARRAY_SIZE(lists); k++)
		for (size_t i = 0; i < lists[k]->n; i++)
			if (kl_fs_below(lists[k]->v[i], path) &&
			    (!best || strlen(lists[k]->v[i]) > strlen(best)))
				best = lists[k]->v[i];
	return best;
}

/* Return the directory for copies of the headers in `dir`; NULL if no header in `dir` is copied. */
static const char *copy_of(const struct copies *copies, const char *dir)
{
	for (size_t i = 0; i < copies->from.n; i++)
		if (!strcmp(copies->from.v[i], dir))
			return copies->to.v[i];
	return NULL;
}

/* Plan a copy of a generated header, in a directory beside the contract. */
static void plan_copy(struct kl_adopted *adopted, struct copies *copies,
		      const struct kl_options *options, const char *path, const char *workload)
{
	const char *found = include_dir(options, path);
	KL_AUTO(kl_freep) char *dir = found ? kl_strdup(found) :
					      kl_strndup(path, (size_t)(strrchr(path, '/') - path));
	KL_AUTO(kl_freep) char *place = kl_contract_place_of(adopted->contract);
	KL_AUTO(kl_freep) char *beside = kl_contract_place_dir(place);

	if (!copy_of(copies, dir)) {
		KL_AUTO(kl_freep) char *name = kl_asprintf("%s.generated", workload);
		KL_AUTO(kl_freep) char *to = kl_fs_join(beside, name);

		if (copies->to.n)
			kl_strvec_pushf(&copies->to, "%s-%zu", to, copies->to.n + 1);
		else
			kl_strvec_push(&copies->to, to);
		kl_strvec_push(&copies->from, dir);
	}
	kl_strvec_push(&adopted->copy_from, path);
	kl_strvec_take(&adopted->copy_to, kl_fs_join(copy_of(copies, dir), path + strlen(dir) + 1));
}

/* --- paths from the top ----------------------------------------------------------------------- */

/*
 * Append the directories of an include path, relative to the top. Directories outside of the
 * repository are left out. A directory with generated headers is preceded by the directory of their
 * copies.
 */
static void name_dirs(struct kl_strvec *out, const struct kl_strvec *dirs,
		      const struct kl_adopting *adopting, const struct copies *copies,
		      struct kl_strvec *notes)
{
	for (size_t i = 0; i < dirs->n; i++) {
		const char *below = kl_adopt_below(adopting, dirs->v[i]);
		const char *copy = copy_of(copies, dirs->v[i]);

		if (copy)
			kl_strvec_add_once(out, copy);
		if (below && kl_fs_is_dir(dirs->v[i]))
			kl_strvec_add_once(out, *below ? below : ".");
		else if (!below && !copy && !kl_fs_is_dir(dirs->v[i]))
			kl_strvec_pushf(notes, "the include directory '%s' does not exist",
					dirs->v[i]);
	}
}

static void name_preincludes(struct kl_adopted *adopted, const struct kl_adopting *adopting,
			     const struct kl_options *options)
{
	for (size_t i = 0; i < options->preinclude.n; i++) {
		const char *path = options->preinclude.v[i];
		const char *below = kl_adopt_below(adopting, path);

		for (size_t k = 0; k < adopted->copy_from.n; k++)
			if (!strcmp(adopted->copy_from.v[k], path))
				below = adopted->copy_to.v[k];
		if (below)
			kl_strvec_add_once(&adopted->options.preinclude, below);
	}
}

/*
 * Name the units only if needed: without `units`, the gate would compile other files, or refuse a
 * file because of its suffix.
 */
static void name_units(struct kl_adopted *adopted, const struct kl_adopting *adopting,
		       const struct kl_units *units)
{
	bool plain = true;

	for (size_t i = 0; i < units->path.n; i++)
		kl_strvec_push(&adopted->units, kl_adopt_below(adopting, units->path.v[i]));
	for (size_t i = 0; i < adopted->sources.n; i++) {
		const char *path = adopted->sources.v[i];
		bool unit = kl_strvec_has(&adopted->units, path);

		plain &= kl_suffix_in(path, adopting->language->suffixes) &&
			 (unit || !kl_adopt_is_unit(adopting, path));
	}
	if (plain) {
		kl_strvec_release(&adopted->units);
		adopted->units = (struct kl_strvec)KL_STRVEC_INIT;
	}
}

static int check_name(const char *path)
{
	size_t n = strlen(path);

	if (!strcmp(path, ".") || (kl_contract_path_ok(path) && kl_utf8_span(path, n) == n))
		return 0;
	return kl_error(KL_EINVALID,
			"a contract cannot have the path '%s', since it has blanks or characters "
			"that are special to a shell, is not in UTF-8, or has a component that "
			"begins with '-'",
			path);
}

/* Check that a contract can name all sources and directories, and its oracle. */
static int check_names(const struct kl_adopted *adopted)
{
	const struct kl_strvec *lists[] = { &adopted->sources, &adopted->options.iquote,
					    &adopted->options.include, &adopted->options.isystem };
	int err = check_name(adopted->oracle);

	for (size_t k = 0; k < KL_ARRAY_SIZE(lists); k++)
		for (size_t i = 0; !err && i < lists[k]->n; i++)
			err = check_name(lists[k]->v[i]);
	return err;
}

int kl_adopted_fill(struct kl_adopted *adopted, struct kl_adopting *adopting,
		    const struct kl_units *units, const struct kl_closure *closure,
		    const char *workload)
{
	KL_AUTO(copies_release) struct copies copies = { .from = KL_STRVEC_INIT };
	const struct kl_options *options = &units->options;
	struct kl_options *to = &adopted->options;
	struct kl_strvec *notes = &adopting->out->notes;

	for (size_t i = 0; i < closure->generated.n; i++)
		plan_copy(adopted, &copies, options, closure->generated.v[i], workload);
	for (size_t i = 0; i < closure->files.n; i++)
		kl_strvec_push(&adopted->sources, kl_adopt_below(adopting, closure->files.v[i]));
	kl_strvec_copy(&adopted->sources, &adopted->copy_to);
	kl_strvec_sort(&adopted->sources);
	name_dirs(&to->iquote, &options->iquote, adopting, &copies, notes);
	name_dirs(&to->include, &options->include, adopting, &copies, notes);
	name_dirs(&to->isystem, &options->isystem, adopting, &copies, notes);
	for (size_t i = 0; i < copies.to.n; i++)
		if (!kl_strvec_has(&to->iquote, copies.to.v[i]) &&
		    !kl_strvec_has(&to->isystem, copies.to.v[i]))
			kl_strvec_add_once(&to->include, copies.to.v[i]);
	name_preincludes(adopted, adopting, options);
	kl_strvec_copy(&to->define, &options->define);
	kl_strvec_copy(&to->undefine, &options->undefine);
	kl_strvec_copy(&to->flags, &options->flags);
	kl_strvec_copy(&adopted->traps, &units->traps);
	name_units(adopted, adopting, units);
	return check_names(adopted);
}

/* --- trying whether the gate accepts the kernel ----------------------------------------------- */

/* Read the sources; read generated ones at their present paths, since they are not copied yet. */
static int read_sources(struct kl_file *file, const struct kl_adopting *adopting,
			const struct kl_adopted *adopted)
{
	int err = 0;

	for (size_t i = 0; !err && i < adopted->sources.n; i++) {
		KL_AUTO(kl_freep) char *path = kl_fs_join(adopting->top, adopted->sources.v[i]);
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		const char *from = path;

		for (size_t k = 0; k < adopted->copy_to.n; k++)
			if (!strcmp(adopted->copy_to.v[k], adopted->sources.v[i]))
				from = adopted->copy_from.v[k];
		err = kl_fs_read(&text, from, MAX_FILE);
		file[i].path = adopted->sources.v[i];
		file[i].mode = 0100644;
		file[i].len = text.len;
		file[i].data = text.ptr ? kl_buf_detach(&text) : kl_strdup("");
	}
	return err;
}

/*
 * Compile and audit the kernel as the gate does, so that the user learns now what the gate will
 * say. If the gate would refuse the kernel, only add a note, since the user may want to change the
 * kernel.
 */
int kl_adopted_try(struct kl_adopting *adopting, const struct kl_adopted *adopted,
		   const struct kl_skeleton_build *build, const struct kl_adopt_entry *entry)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = NULL;
	KL_AUTO(kl_artefact_freep) struct kl_artefact *artefact = NULL;
	KL_AUTO(kl_freep) char *dir = kl_fs_join(adopting->scratch.path, "try");
	struct kl_file *file = kl_calloc(adopted->sources.n + 1, sizeof(*file));
	struct kl_surface surface = { .file = file, .nfile = adopted->sources.n };
	struct kl_compile_tools tools = { .jail = NULL };
	const char *class_ = NULL;
	int err = kl_adopt_parse(&contract, adopting, build, entry);

	surface.contract = contract;
	if (!err)
		err = read_sources(file, adopting, adopted);
	if (!err)
		kl_digest_hex(surface.digest, file[0].data, file[0].len);
	if (!err)
		err = kl_compile_tools_open(&tools, &adopting->jail, &adopting->platform);
	if (!err)
		err = kl_fs_mkdir(dir);
	if (!err)
		err = kl_compile_runtime(&tools, dir);
	if (!err)
		err = kl_compile_surface(&artefact, &class_, &tools, &surface, dir);
	if (err == KL_ENO || err == KL_ECANNOT) {
		kl_strvec_pushf(&adopting->out->notes,
				err == KL_ENO ?
					"the gate refuses the kernel as it is, class %s: %s" :
					"the gate%.0s cannot compile kernels here: %s",
				class_ ? class_ : "", kl_error_last());
		kl_error_clear();
		err = 0;
	}
	kl_compile_tools_release(&tools);
	for (size_t i = 0; i < adopted->sources.n; i++)
		free(file[i].data);
	free(file);
	return err;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Check that no file has this path, and that the path contains no symlink. */
static int check_new(const struct kl_adopting *adopting, const char *name)
{
	KL_AUTO(kl_closep) int fd = kl_fs_open_below(adopting->top, name, O_PATH);

	if (fd < 0 && (errno == ELOOP || errno == ENOTDIR)) {
		kl_error(KL_EINVALID,
			 "cannot write '%s': the path contains a symbolic link, or uses a file as "
			 "a directory",
			 name);
		return kl_error_hint(KL_EINVALID, "give --contract <path> in another directory");
	}
	if (fd < 0)
		return errno == ENOENT ? 0 : kl_error_errno("cannot open '%s'", name);
	kl_error(KL_EEXISTS, "'%s' already exists; not overwriting it", name);
	return kl_error_hint(KL_EEXISTS,
			     "move it away, or give --contract <path> or --workload <name>");
}

static int write_file(const struct kl_adopting *adopting, const char *name, const char *text,
		      size_t len)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(adopting->top, name);
	int err = kl_fs_mkdir_of(path);

	return err ? err : kl_fs_write(path, text, len);
}

/*
 * Return the path of a generated header or, if it is in the scratch directory, the name of the
 * build that made it.
 */
static char *name_original(const struct kl_adopting *adopting, const char *path)
{
	KL_AUTO(kl_freep) char *real = realpath(path, NULL);
	KL_AUTO(kl_freep) char *scratch = realpath(adopting->scratch.path, NULL);
	const char *below = real ? kl_adopt_below(adopting, real) : NULL;

	if (real && scratch && kl_fs_below(scratch, real))
		return kl_strdup(adopting->commands.origin);
	return kl_strdup(below ? below : real ? real : path);
}

int kl_adopted_write(struct kl_adopting *adopting, const struct kl_adopted *adopted,
		     const struct kl_skeleton *sk)
{
	struct kl_adopt_report *out = adopting->out;
	int err = check_new(adopting, adopted->contract);

	if (!err)
		err = check_new(adopting, adopted->oracle);
	if (!err && adopted->adapter)
		err = check_new(adopting, adopted->adapter);
	for (size_t i = 0; !err && i < adopted->copy_to.n; i++)
		err = check_new(adopting, adopted->copy_to.v[i]);
	for (size_t i = 0; !err && i < adopted->copy_to.n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		KL_AUTO(kl_freep) char *from = name_original(adopting, adopted->copy_from.v[i]);

		err = kl_fs_read(&text, adopted->copy_from.v[i], MAX_FILE);
		if (!err)
			err = write_file(adopting, adopted->copy_to.v[i], text.ptr ? text.ptr : "",
					 text.len);
		kl_strvec_pushf(&out->generated, "%s (from %s)", adopted->copy_to.v[i], from);
	}
	if (!err)
		err = write_file(adopting, adopted->oracle, sk->oracle.ptr, sk->oracle.len);
	if (!err && adopted->adapter)
		err = write_file(adopting, adopted->adapter, sk->adapter.ptr, sk->adapter.len);
	if (!err)
		err = write_file(adopting, adopted->contract, sk->contract.ptr, sk->contract.len);
	if (!err)
		kl_strvec_copy(&out->todo, &sk->todo.line);
	return err;
}
