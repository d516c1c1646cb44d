/* SPDX-License-Identifier: Apache-2.0 */
#include "adopt/adopt.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "adopt/adopt_parts.h"
#include "adopt/shell_line.h"
#include "backend/c/cxx.h"
#include "base/error.h"
#include "base/fs.h"
#include "contract/contract.h"
#include "contract/prototype.h"
#include "contract/skeleton.h"
#include "text/name.h"

void kl_adopt_release(struct kl_adopt_report *report)
{
	free(report->contract);
	free(report->oracle);
	free(report->adapter);
	free(report->workload);
	free(report->prototype);
	free(report->origin);
	kl_strvec_release(&report->units);
	kl_strvec_release(&report->flags);
	kl_strvec_release(&report->dropped);
	kl_strvec_release(&report->generated);
	kl_strvec_release(&report->notes);
	kl_strvec_release(&report->todo);
	*report = (struct kl_adopt_report){ .contract = NULL };
}

/* --- the state of an adoption ----------------------------------------------------------------- */

static void adopting_release(struct kl_adopting *adopting)
{
	free(adopting->top);
	free(adopting->build);
	kl_commands_release(&adopting->commands);
	kl_strvec_release(&adopting->failures);
	kl_strvec_release(&adopting->options);
	kl_scratch_release(&adopting->scratch);
}

const char *kl_adopt_below(const struct kl_adopting *adopting, const char *path)
{
	return kl_fs_below(adopting->top, path);
}

bool kl_adopt_is_tracked(const struct kl_adopting *adopting, const char *path)
{
	git_oid oid;
	bool there = *path &&
		     !kl_repo_tree_entry(&oid, NULL, adopting->repo, &adopting->tree, path);

	kl_error_clear();
	return there;
}

bool kl_adopt_is_unit(const struct kl_adopting *adopting, const char *path)
{
	const struct kl_language *language = adopting->language;

	return kl_suffix_in(path, language ? language->mains : kl_language_cpp.mains);
}

/* Split the options of the build into words as a shell does. */
static int split_options(struct kl_strvec *out, const char *text)
{
	KL_AUTO(kl_shell_release) struct kl_shell_line line = { .v = NULL };
	int err = text ? kl_shell_split(&line, text, strlen(text)) : 0;

	if (err < 0)
		return kl_error_in(KL_EUSAGE, "--build-options");
	if (line.n > 1 || line.unknown.n)
		return kl_error(KL_EUSAGE,
				"--build-options must be one list of options without shell "
				"operators or expansions, not '%s'",
				text);
	for (size_t i = 0; line.n && i < line.v[0].n; i++)
		kl_strvec_push(out, line.v[0].v[i]);
	return 0;
}

static int open_adopting(struct kl_adopting *adopting)
{
	int err = split_options(&adopting->options, adopting->opts->build_options);

	if (err < 0)
		return err;
	adopting->top = realpath(kl_repo_worktree(adopting->repo), NULL);
	if (!adopting->top)
		return kl_error_errno("cannot resolve '%s'", kl_repo_worktree(adopting->repo));
	if ((err = kl_jail_open_named(&adopting->jail,
				      kl_repo_config(adopting->repo, "klineage.jail"))) < 0 ||
	    (err = kl_machine_platform(&adopting->platform,
				       kl_repo_config(adopting->repo, "klineage.platform"))) < 0 ||
	    (err = kl_repo_staged_tree(&adopting->tree, adopting->repo)) < 0)
		return err;
	return kl_scratch_open(&adopting->scratch, "klineage-adopt");
}

/* --- the kernel's file and function ----------------------------------------------------------- */

static int check_file(const struct kl_adopting *adopting, const char *file)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(adopting->top, file);

	if (!kl_fs_path_ok(file) || !kl_fs_exists(path))
		return kl_error(KL_ENOTFOUND, "there is no file '%s' in this repository", file);
	if (!kl_adopt_is_tracked(adopting, file)) {
		kl_error(KL_EINVALID, "git does not track '%s'", file);
		return kl_error_hint(KL_EINVALID, "git add %s", file);
	}
	if (kl_adopt_is_unit(adopting, file))
		return 0;
	if (adopting->language)
		return kl_error(KL_EINVALID, "'%s' is not a source in %s, as the kernel's file is",
				file, adopting->language->title);
	kl_error(KL_EINVALID,
		 "'%s' is not a source in C or C++ (.c, .cpp, .cc, .cxx), and adopt reads no other "
		 "files",
		 file);
	return kl_error_hint(KL_EINVALID,
			     "to adopt a function of a header, write a source that includes it; "
			     "for CUDA, write a contract with a launch plan (docs/own-kernel.md)");
}

/* Check the kernel's file and the files of --source, and set the language. */
static int check_files(struct kl_adopting *adopting)
{
	const struct kl_adopt_opts *opts = adopting->opts;
	int err = check_file(adopting, opts->file);

	if (!err)
		adopting->language = kl_suffix_in(opts->file, kl_language_c.mains) ?
					     &kl_language_c :
					     &kl_language_cpp;
	for (size_t i = 0; !err && i < opts->sources.n; i++)
		err = check_file(adopting, opts->sources.v[i]);
	return err;
}

/* --- the names of the workload and the contract ----------------------------------------------- */

/* Name the workload: "tile" for the entry "ns::tile<float, 8>", unless the user names it. */
static int name_workload(char **out, const struct kl_adopt_opts *opts, const char *entry)
{
	KL_AUTO(kl_freep) char *name = kl_cxx_identifier(entry);

	*out = kl_strdup(opts->workload ? opts->workload : name);
	for (char *ch = *out; *ch && !opts->workload; ch++)
		*ch = *ch == '_' ? '-' : (char)tolower((unsigned char)*ch);
	if (kl_name_is_slug(*out))
		return 0;
	return kl_error(KL_EINVALID,
			"'%s' is not a valid workload name ([a-z0-9][a-z0-9._-]*, up to 64 bytes); "
			"give a name with --workload <name>",
			*out);
}

static int name_files(struct kl_adopted *adopted, const struct kl_adopt_opts *opts,
		      const char *workload)
{
	KL_AUTO(kl_freep) char *place = NULL, *dir = NULL, *name = NULL, *adapter = NULL;

	adopted->contract = opts->contract ?
				    kl_strdup(opts->contract) :
				    kl_asprintf("klineage/%s" KL_CONTRACT_SUFFIX, workload);
	place = kl_contract_place_of(adopted->contract);
	if (!place || !kl_fs_path_ok(adopted->contract))
		return kl_error(KL_EINVALID,
				"the contract cannot be '%s': it must be in the repository, and be "
				"named '%s' or '<name>%s'",
				adopted->contract, KL_CONTRACT_FILE, KL_CONTRACT_SUFFIX);
	dir = kl_contract_place_dir(place);
	name = kl_asprintf("%s.oracle.c", workload);
	adopted->oracle = kl_fs_join(dir, name);
	adapter = kl_asprintf("%s.adapter.c", workload);
	if (opts->adapted)
		adopted->adapter = kl_fs_join(dir, adapter);
	return 0;
}

/* --- an adoption, step by step ---------------------------------------------------------------- */

static void resolve_preincludes(struct kl_options *options)
{
	const struct kl_strvec *lists[] = { &options->iquote, &options->include,
					    &options->isystem };

	for (size_t i = 0; i < options->preinclude.n; i++)
		for (size_t k = 0; k < KL_ARRAY_SIZE(lists); k++)
			for (size_t d = 0; d < lists[k]->n; d++) {
				KL_AUTO(kl_freep) char *path = NULL;

				if (options->preinclude.v[i][0] == '/')
					continue;
				path = kl_fs_join(lists[k]->v[d], options->preinclude.v[i]);
				if (!kl_fs_exists(path))
					continue;
				free(options->preinclude.v[i]);
				options->preinclude.v[i] = kl_fs_resolve("/", path);
			}
}

static int refuse_missing(const struct kl_closure *closure, const struct kl_options *options)
{
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;

	for (size_t i = 0; i < closure->missing.n; i++)
		kl_buf_addf(&list, "%s%s", i ? ", " : "", closure->missing.v[i]);
	for (size_t i = 0; i < options->outside.n; i++)
		kl_buf_addf(&list, "%s%s",
			    i ? ", " :
				"; include directories left out, because they are outside of the "
				"repository: ",
			    options->outside.v[i]);
	kl_error(KL_ENOTFOUND,
		 "the kernel includes files that no include directory of the build has: %s",
		 list.ptr);
	return kl_error_hint(
		KL_ENOTFOUND,
		"if the build generates them, run the build (or its configure step) in the "
		"repository first, then run adopt again, with --commands or with the same options");
}

static int find_closure(struct kl_closure *closure, const struct kl_adopting *adopting,
			const struct kl_units *units)
{
	int err = 0;

	for (size_t i = 0; !err && i < units->path.n; i++)
		err = kl_closure_add(closure, adopting, units->path.v[i], &units->options);
	return !err && closure->missing.n ? refuse_missing(closure, &units->options) : err;
}

static void report_units(struct kl_adopt_report *out, const struct kl_adopting *adopting,
			 const struct kl_units *units, const struct kl_closure *closure)
{
	for (size_t i = 0; i < units->path.n; i++)
		kl_strvec_pushf(&out->units, *units->why.v[i] ? "%s (defines '%s')" : "%s",
				kl_adopt_below(adopting, units->path.v[i]), units->why.v[i]);
	for (size_t i = 0; i < units->missing.n; i++)
		kl_strvec_pushf(&out->notes,
				"the kernel needs '%s', which no source in the repository defines "
				"and the gate does not allow",
				units->missing.v[i]);
	for (size_t i = 0; i < units->runtime.n; i++)
		kl_strvec_pushf(&out->notes, "the kernel needs %s", units->runtime.v[i]);
	for (size_t i = 0; i < closure->foreign.n; i++)
		kl_strvec_pushf(&out->notes,
				"the kernel includes <%s>, which is not a header of the C library, "
				"so the gate refuses it",
				closure->foreign.v[i]);
}

/* Write the contract and the oracle from the text of a source. */
static int try_skeleton(struct kl_skeleton *sk, const struct kl_adopting *adopting,
			const struct kl_buf *text, const char *entry, const char *workload)
{
	const char *slash = strrchr(adopting->opts->file, '/');

	return kl_skeleton_make(sk, slash ? slash + 1 : adopting->opts->file, text->ptr, text->len,
				entry, workload, false);
}

/*
 * Write the contract and the oracle from the prototype as written in the source. If that prototype
 * cannot be read, or has types of the project, use the prototype after preprocessing.
 */
static int make_skeleton(struct kl_skeleton *sk, const struct kl_adopting *adopting,
			 const struct kl_units *units, const char *entry, const char *workload)
{
	KL_AUTO(kl_skeleton_release) struct kl_skeleton other = KL_SKELETON_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT, expanded = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *why = NULL;
	struct kl_skeleton_build build = *sk->build;
	int err = kl_adopt_read(&text, adopting, &units->options, false);

	if (!err)
		err = try_skeleton(sk, adopting, &text, entry, workload);
	if (!err && !sk->unknown_type)
		return 0;
	why = err < 0 ? kl_strdup(kl_error_last()) : NULL;
	kl_error_clear();
	if (kl_adopt_read(&expanded, adopting, &units->options, true) < 0)
		return why ? kl_error(KL_EINVALID, "%s", why) : 0;
	/* the expanded text has no #include lines, so take the headers from the source */
	build.headers = &sk->headers;
	other.build = &build;
	other.adapted = sk->adapted;
	if (try_skeleton(&other, adopting, &expanded, entry, workload) < 0) {
		kl_error_clear();
		return why ? kl_error(KL_EINVALID, "%s", why) : 0;
	}
	other.build = sk->build;
	kl_skeleton_release(sk);
	*sk = other;
	other = (struct kl_skeleton)KL_SKELETON_INIT;
	return 0;
}

/* Return the flag that lets the compiler assume that no value is NaN or infinite, or NULL. */
static const char *finite_flag(const struct kl_strvec *flags)
{
	const char *found = NULL;

	for (size_t i = 0; i < flags->n; i++) {
		const char *flag = flags->v[i];

		if (!strcmp(flag, "-Ofast") || !strcmp(flag, "-ffast-math") ||
		    !strcmp(flag, "-ffinite-math-only"))
			found = flag;
		else if (!strcmp(flag, "-fno-fast-math") || !strcmp(flag, "-fno-finite-math-only"))
			found = NULL;
	}
	return found;
}

static int write_contract(struct kl_adopting *adopting, const struct kl_units *units,
			  const struct kl_closure *closure, const struct kl_adopt_entry *entry)
{
	struct kl_adopt_report *out = adopting->out;
	KL_AUTO(kl_adopted_release) struct kl_adopted adopted = { .contract = NULL };
	KL_AUTO(kl_skeleton_release) struct kl_skeleton sk = KL_SKELETON_INIT;
	KL_AUTO(kl_freep) char *sources = NULL;
	const char *slash = strrchr(adopting->opts->file, '/');
	KL_AUTO(kl_freep) char *folder =
		slash ? kl_strndup(adopting->opts->file, (size_t)(slash - adopting->opts->file)) :
			kl_strdup("");
	KL_AUTO(kl_buf_release) struct kl_buf lines = KL_BUF_INIT;
	struct kl_skeleton_build build;
	const char *finite;
	int err;

	if ((err = name_workload(&out->workload, adopting->opts, entry->name)) < 0 ||
	    (err = name_files(&adopted, adopting->opts, out->workload)) < 0 ||
	    (err = kl_adopted_fill(&adopted, adopting, units, closure, out->workload)) < 0)
		return err;
	kl_adopted_lines(&out->flags, &adopted);
	kl_buf_adds(&lines, "");
	for (size_t i = 0; i < out->flags.n; i++)
		kl_buf_addf(&lines, "%s\n", out->flags.v[i]);
	sources = kl_adopted_list(&adopted.sources, sizeof("  sources: [") - 1);
	finite = finite_flag(&adopted.options.flags);
	build = (struct kl_skeleton_build){ .sources = sources,
					    .lines = lines.ptr,
					    .oracle = adopted.oracle,
					    .adapter = adopted.adapter,
					    .folder = folder,
					    .finite = finite != NULL };

	if (finite)
		kl_strvec_pushf(&out->notes,
				"with %s, the results for NaN, infinities and denormals are "
				"undefined; the contract says so in 'values'",
				finite);
	sk.build = &build;
	sk.adapted = adopted.adapter != NULL;
	if ((err = make_skeleton(&sk, adopting, units, entry->name, out->workload)) < 0 ||
	    (err = kl_adopted_try(adopting, &adopted, &build, entry)) < 0 ||
	    (err = kl_adopted_write(adopting, &adopted, &sk)) < 0)
		return err;
	kl_strvec_copy(&out->dropped, &units->options.dropped);
	for (size_t i = 0; i < units->options.outside.n; i++)
		kl_strvec_pushf(&out->dropped,
				"the include directory %s: outside of the repository and of the "
				"build's directory",
				units->options.outside.v[i]);
	out->sources = adopted.sources.n;
	out->prototype = kl_steal(&sk.prototype);
	out->contract = kl_steal(&adopted.contract);
	out->oracle = kl_steal(&adopted.oracle);
	out->adapter = kl_steal(&adopted.adapter);
	out->unknown = sk.unknown;
	return 0;
}

int kl_adopt_write(struct kl_adopt_report *out, struct kl_repo *repo,
		   const struct kl_adopt_opts *opts)
{
	KL_AUTO(adopting_release)
	struct kl_adopting adopting = {
		.repo = repo, .opts = opts, .out = out, .scratch = KL_SCRATCH_INIT
	};
	KL_AUTO(kl_units_release) struct kl_units units = { .path = KL_STRVEC_INIT };
	KL_AUTO(kl_closure_release) struct kl_closure closure = { .files = KL_STRVEC_INIT };
	KL_AUTO(kl_adopt_entry_release) struct kl_adopt_entry entry = { .name = NULL };
	const struct kl_command *command;
	int err;

	if ((err = open_adopting(&adopting)) < 0 || (err = check_files(&adopting)) < 0 ||
	    (err = kl_adopt_find_build(&adopting, &command)) < 0)
		return err;
	kl_options_read(&units.options, command, adopting.language);
	kl_closure_drop_dirs(&units.options, &adopting);
	resolve_preincludes(&units.options);
	kl_strvec_take(&units.path, kl_fs_resolve(adopting.top, opts->file));
	kl_strvec_push(&units.why, "");
	out->origin = kl_strdup(adopting.commands.origin);
	/*
	 * look for missing headers before anything is compiled, so that the message names all of
	 * them
	 */
	if ((err = find_closure(&closure, &adopting, &units)) < 0 ||
	    (err = kl_adopt_find_entry(&entry, &adopting, &units.options)) < 0 ||
	    (err = kl_units_find(&units, &adopting, &entry)) < 0 ||
	    (err = find_closure(&closure, &adopting, &units)) < 0)
		return err;
	report_units(out, &adopting, &units, &closure);
	return write_contract(&adopting, &units, &closure, &entry);
}

int kl_adopt_list(struct kl_strvec *files, char **origin, struct kl_repo *repo,
		  const struct kl_adopt_opts *opts)
{
	KL_AUTO(kl_adopt_release) struct kl_adopt_report report = { .contract = NULL };
	KL_AUTO(adopting_release)
	struct kl_adopting adopting = {
		.repo = repo, .opts = opts, .out = &report, .scratch = KL_SCRATCH_INIT
	};
	const struct kl_command *command;
	int err = open_adopting(&adopting);

	if (!err)
		err = kl_adopt_find_build(&adopting, &command);
	for (size_t i = 0; !err && i < adopting.commands.n; i++) {
		const char *path = adopting.commands.v[i].file;
		const char *below = kl_adopt_below(&adopting, path);

		if (below && kl_adopt_is_unit(&adopting, path))
			kl_strvec_push(files, below);
	}
	kl_strvec_uniq(files);
	if (!err)
		*origin = kl_strdup(adopting.commands.origin);
	return err;
}
