/* SPDX-License-Identifier: Apache-2.0 */
/* project - finds the build of a project, and reads its commands or makes the build print them */
#include <string.h>
#include <unistd.h>

#include "adopt/adopt_parts.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/prefix.h"

#define DATABASE "compile_commands.json"
#define RUN_MS ((int64_t)120 * 1000)
#define MAX_LOG ((size_t)64 << 20)

/* --- choosing the command for a file ---------------------------------------------------------- */

/* Set *out to the command for the kernel's file; NULL if there is none. */
static int choose_command(const struct kl_command **out, struct kl_adopting *adopting)
{
	KL_AUTO(kl_freep) char *file = kl_fs_resolve(adopting->top, adopting->opts->file);
	const struct kl_commands *commands = &adopting->commands;
	int64_t want = adopting->opts->index ? adopting->opts->index : 1;
	size_t found = 0;

	*out = NULL;
	for (size_t i = 0; i < commands->n; i++) {
		KL_AUTO(kl_freep) char *real = NULL;
		bool same = !strcmp(commands->v[i].file, file);

		/* the build may have reached the worktree through a symlink */
		if (!same && !kl_adopt_below(adopting, commands->v[i].file)) {
			real = realpath(commands->v[i].file, NULL);
			same = real && !strcmp(real, file);
		}
		if (same && (int64_t)++found == want)
			*out = &commands->v[i];
	}
	adopting->out->commands = found;
	adopting->out->taken = (size_t)want;
	if (found && !*out)
		return kl_error(KL_EUSAGE,
				"--index is %lld, but the build has only %zu commands for '%s'",
				(long long)want, found, adopting->opts->file);
	return 0;
}

/*
 * Choose among the commands that were read. Return KL_ENOTFOUND if they do not compile the kernel's
 * file.
 */
static int try_commands(const struct kl_command **chosen, struct kl_adopting *adopting)
{
	int err;

	if (!adopting->opts->file)
		return adopting->commands.n ? 0 : KL_ENOTFOUND;
	err = choose_command(chosen, adopting);
	if (err < 0 || *chosen)
		return err;
	kl_strvec_pushf(&adopting->failures,
			"%s has no command that compiles '%s' (commands read: %zu)",
			adopting->commands.origin, adopting->opts->file, adopting->commands.n);
	return KL_ENOTFOUND;
}

static void take_origin(struct kl_adopting *adopting, char *origin)
{
	free(adopting->commands.origin);
	adopting->commands.origin = origin;
}

/* --- compile_commands.json -------------------------------------------------------------------- */

static int read_database(struct kl_adopting *adopting, const char *path)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *dir = kl_strndup(path, (size_t)(strrchr(path, '/') - path));
	const char *shown = kl_adopt_below(adopting, path);
	int err = kl_fs_read(&text, path, KL_COMMANDS_MAX_BYTES);

	kl_commands_release(&adopting->commands);
	if (!err)
		err = kl_commands_json(&adopting->commands, *dir ? dir : "/", text.ptr, text.len);
	take_origin(adopting, kl_strdup(shown ? shown : path));
	if (!err && adopting->commands.skipped)
		kl_strvec_pushf(&adopting->out->notes,
				"%zu entries of %s are not compile commands and were left out",
				adopting->commands.skipped, adopting->commands.origin);
	return err < 0 ? kl_error_in(err, "%s", shown ? shown : path) : 0;
}

/* Try the databases in a directory and in the directories directly below it. */
static int try_directory(const struct kl_command **chosen, struct kl_adopting *adopting,
			 const char *dir)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec below = KL_STRVEC_INIT;
	int err = kl_fs_list(&below, dir);

	kl_strvec_push(&names, DATABASE);
	kl_strvec_push(&names, "build/" DATABASE);
	for (size_t i = 0; !err && i < below.n; i++)
		if (strcmp(below.v[i], "build") && strcmp(below.v[i], ".git"))
			kl_strvec_pushf(&names, "%s/" DATABASE, below.v[i]);
	for (size_t i = 0; !err && i < names.n; i++) {
		KL_AUTO(kl_freep) char *path = kl_fs_join(dir, names.v[i]);

		if (access(path, R_OK))
			continue;
		err = read_database(adopting, path);
		if (!err)
			err = try_commands(chosen, adopting);
		if (err != KL_ENOTFOUND)
			return err;
		err = 0;
	}
	return err ? err : KL_ENOTFOUND;
}

/* Return the directory above, or NULL at the top of the worktree; the caller frees it. */
static char *dir_above(const struct kl_adopting *adopting, const char *dir)
{
	return strcmp(dir, adopting->top) ? kl_strndup(dir, (size_t)(strrchr(dir, '/') - dir)) :
					    NULL;
}

/*
 * Return the directory in which the search begins: that of the kernel's file or, without a file,
 * the current directory. The caller frees.
 */
static char *first_dir(const struct kl_adopting *adopting)
{
	const char *file = adopting->opts->file;
	KL_AUTO(kl_freep) char *path = kl_fs_resolve(adopting->top,
						     file ? file : kl_repo_prefix(adopting->repo));

	return file ? kl_strndup(path, (size_t)(strrchr(path, '/') - path)) : kl_steal(&path);
}

static int find_database(const struct kl_command **chosen, struct kl_adopting *adopting)
{
	char *dir = first_dir(adopting);
	int err = KL_ENOTFOUND;

	while (dir && err == KL_ENOTFOUND) {
		char *above = dir_above(adopting, dir);

		err = try_directory(chosen, adopting, dir);
		free(dir);
		dir = above;
	}
	free(dir);
	return err;
}

/* --- running a build system in the jail ------------------------------------------------------- */

static bool wants_network(const char *text)
{
	static const char *const signs[] = {
		"Could not resolve",
		"Could not connect",
		"name resolution",
		"Failed to clone",
		"Network is unreachable",
		"unable to access",
		"Failed to connect",
		"FetchContent",
		"Could not download",
		"unable to resolve",
		"WrapDB",
		"couldn't connect",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(signs); i++)
		if (strcasestr(text, signs[i]))
			return true;
	return false;
}

/* Return the line of a log that best describes the failure; the caller frees it. */
static char *worst_line(const char *text)
{
	static const char *const signs[] = { "CMake Error", "ERROR:", "*** ", "error", "Error" };
	const char *found = text;

	for (size_t i = 0; i < KL_ARRAY_SIZE(signs); i++) {
		const char *at = strstr(text, signs[i]);

		if (!at)
			continue;
		while (at > text && at[-1] != '\n')
			at--;
		found = at;
		break;
	}
	/*
	 * the first line of CMake has the place, and the next line that is not empty has the error
	 */
	if (kl_prefix_has(found, "CMake Error") && strchr(found, '\n'))
		found = strchr(found, '\n');
	found += strspn(found, "\n ");
	return kl_strndup(found, strcspn(found, "\n") < 300 ? strcspn(found, "\n") : 300);
}

/* The reason why a build failed; `why` is NULL if it did not fail. */
struct failure {
	char *why;
	bool network; /* the build needs the network */
};

static void failure_release(struct failure *failure)
{
	free(failure->why);
}

/* Run a program of a build system. `failed` must be empty; it is set if the program fails. */
static int run_build(struct kl_buf *out, struct failure *failed, struct kl_adopting *adopting,
		     const struct kl_strvec *argv)
{
	KL_AUTO(kl_buf_release) struct kl_buf said = KL_BUF_INIT;
	const char *const readable[] = { adopting->top, NULL };
	struct kl_jail_run run = {
		.policy = KL_JAIL_COMPILE,
		.argv = (const char *const *)argv->v,
		.workdir = adopting->scratch.path,
		.readable = readable,
		.out = out,
		.err = &said,
		.timeout_ms = RUN_MS,
		.cpu_ms = RUN_MS,
		.file_mib = 256,
	};
	struct kl_proc_result res;
	int err = kl_jail_run(&res, &adopting->jail, &run);

	if (err == KL_ENOTFOUND)
		return kl_error(KL_ECANNOT, "'%s' is not installed", argv->v[0]);
	if (err < 0 || (!res.exit && !res.signal && !res.timed_out))
		return err;
	kl_buf_add(&said, out->ptr ? out->ptr : "", out->len);
	kl_buf_adds(&said, "");
	failed->network = !res.timed_out && wants_network(said.ptr ? said.ptr : "");
	adopting->network |= failed->network;
	if (res.timed_out)
		failed->why = kl_strdup("it did not finish within two minutes");
	else if (failed->network)
		failed->why = kl_strdup(
			"it needs the network, which the compile jail does not have");
	else
		failed->why = worst_line(said.ptr ? said.ptr : "");
	return 0;
}

static void push_options(struct kl_strvec *argv, const struct kl_adopting *adopting)
{
	for (size_t i = 0; i < adopting->options.n; i++)
		kl_strvec_push(argv, adopting->options.v[i]);
}

static int try_make(const struct kl_command **chosen, struct kl_adopting *adopting, const char *dir)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf log = KL_BUF_INIT;
	KL_AUTO(failure_release) struct failure failed = { .why = NULL };
	const char *in = kl_adopt_below(adopting, dir);
	static const char *const fixed[] = { "make",        "-n",       "-w", "-k",       "-B",
					     "-o",          "Makefile", "-o", "makefile", "-o",
					     "GNUmakefile", "-C",       NULL };
	int err;

	kl_strvec_pushv(&argv, fixed);
	kl_strvec_push(&argv, dir);
	push_options(&argv, adopting);
	if (adopting->opts->target)
		kl_strvec_push(&argv, adopting->opts->target);
	if ((err = run_build(&log, &failed, adopting, &argv)) < 0)
		return err;
	kl_commands_release(&adopting->commands);
	take_origin(adopting, kl_asprintf("make -n%s%s", in && *in ? " in " : "", in ? in : ""));
	if (log.len && (err = kl_commands_make(&adopting->commands, dir, log.ptr, log.len)) < 0)
		return err;
	/* because of -k, make goes on after an error, so its output may still have the command */
	err = try_commands(chosen, adopting);
	if (err == KL_ENOTFOUND && failed.why)
		kl_strvec_pushf(&adopting->failures, "%s fails: %s", adopting->commands.origin,
				failed.why);
	return err;
}

/*
 * Run CMake or Meson on the sources in `from`, which is the project's directory or a copy of it.
 * `to` is the build directory. `failed` must be empty; it is set if the program fails.
 */
static int run_configure(struct failure *failed, struct kl_adopting *adopting, const char *from,
			 const char *to, bool cmake)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf log = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *path = kl_fs_join(to, DATABASE);
	int err;

	if (cmake) {
		kl_strvec_push(&argv, "cmake");
		kl_strvec_pushf(&argv, "-S%s", from);
		kl_strvec_pushf(&argv, "-B%s", to);
		kl_strvec_push(&argv, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON");
		kl_strvec_push(&argv, "-DCMAKE_BUILD_TYPE=Release");
		push_options(&argv, adopting);
	} else {
		kl_strvec_push(&argv, "meson");
		kl_strvec_push(&argv, "setup");
		kl_strvec_push(&argv, "--buildtype=release");
		kl_strvec_push(&argv, "--wrap-mode=nodownload");
		push_options(&argv, adopting);
		kl_strvec_push(&argv, to);
		kl_strvec_push(&argv, from);
	}
	err = run_build(&log, failed, adopting, &argv);
	if (!err && !failed->why && access(path, R_OK))
		failed->why = kl_strdup("it did not write " DATABASE);
	return err;
}

/*
 * Configure a project into the scratch directory, and read its database. The build cannot write to
 * the worktree. If it fails for another reason than the network, run it again on a copy that it can
 * write to.
 */
static int try_configure(const struct kl_command **chosen, struct kl_adopting *adopting,
			 const char *dir, bool cmake)
{
	const char *name = cmake ? "cmake" : "meson";
	KL_AUTO(failure_release) struct failure failed = { .why = NULL };
	KL_AUTO(failure_release) struct failure again = { .why = NULL };
	KL_AUTO(kl_freep) char *to = kl_fs_join(adopting->scratch.path, name);
	KL_AUTO(kl_freep) char *copy = kl_asprintf("%s-copy", to);
	KL_AUTO(kl_freep) char *from = kl_fs_join(copy, kl_adopt_below(adopting, dir));
	KL_AUTO(kl_freep) char *path = kl_fs_join(to, DATABASE);
	int err = run_configure(&failed, adopting, dir, to, cmake);

	if (err < 0)
		return err;
	if (failed.why && !failed.network) {
		if ((err = kl_fs_remove(to)) < 0 ||
		    (err = kl_adopt_copy_tree(adopting, copy)) < 0 ||
		    (err = run_configure(&again, adopting, from, to, cmake)) < 0)
			return err;
	} else if (failed.why) {
		again.why = kl_strdup(failed.why);
	}
	if (again.why) {
		kl_strvec_pushf(&adopting->failures, "%s cannot configure the project: %s", name,
				again.why);
		return KL_ENOTFOUND;
	}
	if ((err = read_database(adopting, path)) < 0)
		return err;
	if (failed.why)
		kl_adopt_move_commands(adopting, copy);
	take_origin(adopting, kl_strdup(name));
	return try_commands(chosen, adopting);
}

/* --- looking for build systems ---------------------------------------------------------------- */

enum { CMAKE, MESON, MAKE };

static bool has_any(const char *dir, const char *const *names)
{
	for (; *names; names++) {
		KL_AUTO(kl_freep) char *path = kl_fs_join(dir, *names);

		if (!access(path, R_OK))
			return true;
	}
	return false;
}

/*
 * Try one build system in each directory that has its file, until one compiles the kernel's file.
 * CMake and Meson begin with the outermost directory, make with the innermost.
 */
static int try_system(const struct kl_command **chosen, struct kl_adopting *adopting, int which)
{
	static const char *const files[][4] = {
		[CMAKE] = { "CMakeLists.txt", NULL },
		[MESON] = { "meson.build", NULL },
		[MAKE] = { "GNUmakefile", "Makefile", "makefile", NULL },
	};
	KL_AUTO(kl_strvec_release) struct kl_strvec dirs = KL_STRVEC_INIT;
	int err = KL_ENOTFOUND;

	for (char *dir = first_dir(adopting), *above; dir; dir = above) {
		above = dir_above(adopting, dir);
		if (has_any(dir, files[which]))
			kl_strvec_push(&dirs, dir);
		free(dir);
	}
	for (size_t i = 0; i < dirs.n && err == KL_ENOTFOUND; i++)
		err = which == MAKE ? try_make(chosen, adopting, dirs.v[i]) :
				      try_configure(chosen, adopting, dirs.v[dirs.n - 1 - i],
						    which == CMAKE);
	return err;
}

static int try_systems(const struct kl_command **chosen, struct kl_adopting *adopting)
{
	static const char *const names[] = { "cmake", "meson", "make" };
	const char *want = adopting->opts->build;
	int err = KL_ENOTFOUND;

	for (int i = 0; i < (int)KL_ARRAY_SIZE(names) && err == KL_ENOTFOUND; i++) {
		if (want && strcmp(want, names[i]))
			continue;
		err = try_system(chosen, adopting, i);
		/* the program is not installed, but another build system may work */
		if (err == KL_ECANNOT && !want) {
			kl_strvec_push(&adopting->failures, kl_error_last());
			err = KL_ENOTFOUND;
		}
	}
	return err;
}

/* --- without a build -------------------------------------------------------------------------- */

static int compile_alone(const struct kl_command **chosen, struct kl_adopting *adopting)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;
	int err;

	kl_strvec_push(&argv, "gcc");
	kl_strvec_push(&argv, "-O2");
	for (size_t i = 0; i < adopting->options.n; i++)
		kl_strvec_push(&argv, adopting->options.v[i]);
	kl_strvec_push(&argv, "-c");
	kl_strvec_push(&argv, adopting->opts->file);
	kl_commands_release(&adopting->commands);
	take_origin(adopting, kl_strdup("no build"));
	err = kl_commands_add(&adopting->commands, adopting->top, adopting->opts->file,
			      (const char *const *)argv.v);
	return err < 0 ? err : try_commands(chosen, adopting);
}

static int refuse_builds(const struct kl_adopting *adopting)
{
	KL_AUTO(kl_buf_release) struct kl_buf why = KL_BUF_INIT;
	int err = adopting->network ? KL_ECANNOT : KL_ENOTFOUND;

	for (size_t i = 0; i < adopting->failures.n; i++)
		kl_buf_addf(&why, "%s%s", i ? "; " : "", adopting->failures.v[i]);
	kl_error(err, "found no command that compiles '%s': %s",
		 adopting->opts->file ? adopting->opts->file : "a C file",
		 why.len ? why.ptr : "there is no build here");
	return kl_error_hint(
		err, "build the project as usual with its commands recorded (cmake "
		     "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON, meson, or bear -- make) and give "
		     "--commands <compile_commands.json>; give the build the options that it needs "
		     "with --build-options; or compile the file alone with --build none");
}

/*
 * Headers in the directory of the database may be read, since a person named it. If that directory
 * contains the worktree, it is not a build directory, and could be the home directory.
 */
static void note_build_dir(struct kl_adopting *adopting, const char *database)
{
	KL_AUTO(kl_freep) char *dir = kl_strndup(database,
						 (size_t)(strrchr(database, '/') - database));

	if (!kl_fs_below(dir, adopting->top))
		adopting->build = kl_steal(&dir);
}

int kl_adopt_find_build(struct kl_adopting *adopting, const struct kl_command **chosen)
{
	const struct kl_adopt_opts *opts = adopting->opts;
	int err = KL_ENOTFOUND;

	*chosen = NULL;
	if (opts->commands) {
		KL_AUTO(kl_freep) char *path = realpath(opts->commands, NULL);

		if (path)
			note_build_dir(adopting, path);
		err = path ? read_database(adopting, path) :
			     kl_error_errno("cannot open '%s'", opts->commands);
		if (!err)
			err = try_commands(chosen, adopting);
		return err == KL_ENOTFOUND && path ? refuse_builds(adopting) : err;
	}
	if (opts->build && !strcmp(opts->build, "none"))
		return opts->file ? compile_alone(chosen, adopting) : refuse_builds(adopting);
	/*
	 * if there are build options, a recorded database is not used, since it was made without
	 * them
	 */
	if (!opts->build && !adopting->options.n)
		err = find_database(chosen, adopting);
	if (err == KL_ENOTFOUND)
		err = try_systems(chosen, adopting);
	return err == KL_ENOTFOUND ? refuse_builds(adopting) : err;
}
