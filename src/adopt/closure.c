/* SPDX-License-Identifier: Apache-2.0 */
/* closure - finds the files that a unit includes, as the compiler lists them */
#include <string.h>

#include "adopt/adopt_parts.h"
#include "backend/c/lookups.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/prefix.h"

#define MAX_FILES 2000

void kl_closure_release(struct kl_closure *closure)
{
	kl_strvec_release(&closure->files);
	kl_strvec_release(&closure->generated);
	kl_strvec_release(&closure->missing);
	kl_strvec_release(&closure->foreign);
}

/*
 * Return the name by which a source includes a header of the system, or "" for a header of the
 * compiler. Return NULL if the file is not such a header.
 */
static const char *system_header(const char *path)
{
	static const char *const dirs[] = { "/usr/include/x86_64-linux-gnu/", "/usr/include/",
					    "/usr/local/include/" };

	if (kl_prefix_has(path, "/usr/lib") || kl_prefix_has(path, "/usr/include/c++/") ||
	    kl_prefix_has(path, "/usr/include/x86_64-linux-gnu/c++/"))
		return "";
	for (size_t i = 0; i < KL_ARRAY_SIZE(dirs); i++)
		if (kl_prefix_has(path, dirs[i]))
			return path + strlen(dirs[i]);
	return NULL;
}

/* --- which files may be included -------------------------------------------------------------- */

bool kl_closure_may_have(const struct kl_adopting *adopting, const char *path)
{
	KL_AUTO(kl_freep) char *real = realpath(path, NULL);
	KL_AUTO(kl_freep) char *scratch = realpath(adopting->scratch.path, NULL);
	const char *below = real ? kl_adopt_below(adopting, real) : NULL;

	if (!real)
		return false;
	if (below)
		return !*below || kl_fs_path_ok(below);
	return (scratch && kl_fs_below(scratch, real)) ||
	       (adopting->build && kl_fs_below(adopting->build, real));
}

/* Return true if the compiler may read the directory, or might if it existed. */
static bool may_read_dir(const struct kl_adopting *adopting, const char *dir)
{
	KL_AUTO(kl_freep) char *inside = kl_asprintf("%s/", dir);

	return system_header(inside) || kl_closure_may_have(adopting, dir) ||
	       (!kl_fs_exists(dir) && kl_adopt_below(adopting, dir));
}

void kl_closure_drop_dirs(struct kl_options *options, const struct kl_adopting *adopting)
{
	struct kl_strvec *lists[] = { &options->iquote, &options->include, &options->isystem };

	for (size_t k = 0; k < KL_ARRAY_SIZE(lists); k++) {
		KL_AUTO(kl_strvec_release) struct kl_strvec all = *lists[k];

		*lists[k] = (struct kl_strvec)KL_STRVEC_INIT;
		for (size_t i = 0; i < all.n; i++)
			if (may_read_dir(adopting, all.v[i]))
				kl_strvec_push(lists[k], all.v[i]);
			else
				kl_strvec_add_once(&options->outside, all.v[i]);
	}
}

/* --- the files of a unit ---------------------------------------------------------------------- */

/*
 * Set *out to true if git tracks the file, or does not ignore it. `below` is relative to the top.
 */
static int is_kept(bool *out, const struct kl_adopting *adopting, const char *below)
{
	bool ignored = false;
	int err;

	*out = kl_adopt_is_tracked(adopting, below);
	if (*out)
		return 0;
	err = kl_repo_ignores_file(&ignored, adopting->repo, below);
	*out = !ignored;
	return err;
}

static int add_file(struct kl_closure *closure, const struct kl_adopting *adopting,
		    const char *name)
{
	KL_AUTO(kl_freep) char *path = NULL;
	const char *below, *header;
	bool kept = false;
	int err = 0;

	/* with -MG, gcc lists a header that it did not find by its name alone */
	if (*name != '/') {
		kl_strvec_add_once(&closure->missing, name);
		return 0;
	}
	path = kl_fs_resolve("/", name);
	below = kl_adopt_below(adopting, path);
	header = below ? NULL : system_header(path);
	if (header) {
		if (*header && !kl_lookups_is_header_of_c(header))
			kl_strvec_add_once(&closure->foreign, header);
		return 0;
	}
	if (!kl_closure_may_have(adopting, path)) {
		kl_error(KL_EINVALID,
			 "the kernel includes '%s', which is neither in the repository nor in the "
			 "build's directory",
			 path);
		return kl_error_hint(KL_EINVALID,
				     "if it is in a build directory elsewhere, give --commands "
				     "<compile_commands.json> of that directory");
	}
	if (below && (err = is_kept(&kept, adopting, below)) < 0)
		return err;
	kl_strvec_add_once(kept ? &closure->files : &closure->generated, path);
	return 0;
}

/* Read the dependencies of a rule for make: words with escaped blanks after the colon. */
static int read_rule(struct kl_closure *closure, const struct kl_adopting *adopting,
		     const char *rule)
{
	KL_AUTO(kl_buf_release) struct kl_buf word = KL_BUF_INIT;
	const char *at = strstr(rule, ": ");
	int err = 0;

	for (at = at ? at + 2 : ""; !err; at++) {
		if (*at == '\\' && at[1] == '\n')
			at++;
		else if (*at == '\\' && (at[1] == ' ' || at[1] == '#'))
			kl_buf_add(&word, ++at, 1);
		else if (*at == '$' && at[1] == '$')
			kl_buf_add(&word, at++, 1);
		else if (*at && *at != ' ' && *at != '\n')
			kl_buf_add(&word, at, 1);
		else if (word.len) {
			err = add_file(closure, adopting, word.ptr);
			kl_buf_clear(&word);
		}
		if (!*at)
			break;
	}
	return err;
}

int kl_closure_add(struct kl_closure *closure, const struct kl_adopting *adopting, const char *path,
		   const struct kl_options *options)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf rule = KL_BUF_INIT;
	const char *below = kl_adopt_below(adopting, path);
	KL_AUTO(kl_freep) char *what = kl_asprintf("the headers of '%s'", below ? below : path);
	int err;

	kl_adopt_gcc(&argv, adopting, options);
	kl_strvec_push(&argv, "-M");
	kl_strvec_push(&argv, "-MG");
	kl_strvec_push(&argv, "-MT");
	kl_strvec_push(&argv, "unit");
	kl_strvec_push(&argv, path);
	err = kl_adopt_run_gcc(&rule, adopting, &argv, what);
	if (err == KL_ENO)
		return kl_error_in(KL_EINVALID, "%s", what);
	if (err < 0)
		return err;
	err = read_rule(closure, adopting, rule.ptr ? rule.ptr : "");
	if (!err && closure->files.n + closure->generated.n > MAX_FILES)
		err = kl_error(KL_EINVALID, "the kernel includes more than %d files", MAX_FILES);
	return err;
}
