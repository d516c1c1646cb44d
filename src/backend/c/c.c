/* SPDX-License-Identifier: Apache-2.0 */
/* c - the backends of kernels in C and C++: compile with gcc and run on this machine's processor */
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/c/code/code.h"
#include "backend/c/compile.h"
#include "backend/c/lookups.h"
#include "backend/machine.h"
#include "backend/object_cache.h"
#include "backend/tool.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/tasks.h"

#define MAX_LIBRARY ((size_t)64 << 20)

struct session {
	struct kl_backend_session lent;
	struct kl_platform platform;
	struct kl_compile_tools tools;
	/* path of the library that records lookups (lookups.h); NULL if not built yet */
	char *lookups;
};

/*
 * --- finding the platform -------------------------------------------------------------------
 */

static bool owns_platform(const char *platform)
{
	return !strncmp(platform, "cpu/", 4) || !strncmp(platform, "x86-64", 6);
}

static int guess_platform(char **id, const struct kl_surface *surface, const char *asked)
{
	struct kl_platform platform;
	int err = kl_machine_platform(&platform, asked);

	if (!err)
		*id = kl_strdup(platform.id);
	return err;
}

/* Return an unchanged copy, because a kernel in C does not name its platform. */
static int port_surface(struct kl_surface **out, const struct kl_surface *surface,
			const char *platform)
{
	return kl_surface_with(out, surface, NULL, 0);
}

static int platform_of(struct kl_platform *out, void *state, const struct kl_surface *surface)
{
	const struct session *session = state;

	*out = session->platform;
	return 0;
}

/*
 * --- opening a session and compiling its libraries ------------------------------------------
 */

static void close_session(void *state)
{
	struct session *session = state;

	kl_compile_tools_release(&session->tools);
	free(session->lookups);
	free(session);
}

/* Append the libraries to the compiler's version, because verdicts depend on both. */
static void name_libraries(struct session *session)
{
	char *compiler = session->platform.compiler;
	size_t n = strlen(compiler);

	snprintf(compiler + n, sizeof(session->platform.compiler) - n, ", %s",
		 session->tools.libraries->id);
}

static int name_tools(char **out, struct kl_repo *repo)
{
	const char *want = repo ? kl_repo_config(repo, "klineage.platform") : NULL;
	struct kl_platform platform;
	int err;

	/* the setting can name a platform of another backend */
	err = kl_machine_platform(&platform, want && owns_platform(want) ? want : NULL);
	if (!err)
		*out = kl_asprintf("%s, on %s (%s)", platform.compiler, platform.id,
				   platform.device);
	return err;
}

static int open_session(void **state, const struct kl_backend_session *lent)
{
	struct session *session = kl_calloc(1, sizeof(*session));
	int err = kl_machine_platform(&session->platform, lent->platform);

	session->lent = *lent;
	if (!err)
		err = kl_compile_tools_open(&session->tools, lent->jail, &session->platform);
	if (err < 0) {
		close_session(session);
		return err;
	}
	name_libraries(session);
	*state = session;
	return 0;
}

static int runtime_key(char hex[KL_DIGEST_HEX], const struct session *session)
{
	struct kl_digest *key = kl_objects_key("runtime");
	int err;

	kl_compile_recipe(key, &session->tools);
	err = kl_compile_digest_runtime(key);
	kl_digest_end(key, hex);
	return err;
}

/* Compile the runtime once per session, or copy it from the cache. */
static int make_runtime(void *ctx)
{
	struct session *session = ctx;
	struct kl_repo *repo = session->lent.repo;
	KL_AUTO(kl_freep) char *rel = kl_compile_runtime_path(&session->platform);
	KL_AUTO(kl_freep) char *dir = kl_fs_join(session->lent.dir, "runtime");
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, rel);
	char hex[KL_DIGEST_HEX];
	bool kept;
	int err;

	if (session->tools.runtime)
		return 0;
	if ((err = runtime_key(hex, session)) < 0 || (err = kl_fs_mkdir(dir)) < 0)
		return err;
	kept = repo && kl_objects_get(repo, hex, path) == 0;
	err = kl_compile_runtime(&session->tools, dir);
	if (!err && repo && !kept)
		kl_objects_put(repo, hex, path);
	return err;
}

static int lookups_key(char hex[KL_DIGEST_HEX], const struct session *session)
{
	struct kl_digest *key = kl_objects_key("lookups");
	int err;

	kl_compile_recipe(key, &session->tools);
	err = kl_lookups_recipe(key);
	kl_digest_end(key, hex);
	return err;
}

/*
 * Compile the library that records the compiler's lookups once per session, or copy it from the
 * cache.
 */
static int make_lookups(void *ctx)
{
	struct session *session = ctx;
	struct kl_repo *repo = session->lent.repo;
	KL_AUTO(kl_freep) char *dir = kl_fs_join(session->lent.dir, "lookups");
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, KL_LOOKUPS_LIBRARY);
	char hex[KL_DIGEST_HEX];
	int err;

	if (session->lookups)
		return 0;
	if ((err = lookups_key(hex, session)) < 0)
		return err;
	if (!repo || kl_objects_get(repo, hex, path) < 0) {
		if ((err = kl_fs_mkdir(dir)) < 0 ||
		    (err = kl_lookups_make(session->lent.jail, dir)) < 0)
			return err;
		if (repo)
			kl_objects_put(repo, hex, path);
	}
	session->lookups = kl_steal(&path);
	return 0;
}

/*
 * Make the runtime and the library that records lookups at the same time. Each is compiled in its
 * own directory, because a jail that root starts changes the owner of its directory.
 */
static int prepare_session(void *state, const struct kl_surface *surface)
{
	const struct session *session = state;
	struct kl_task task[2] = { { .run = make_runtime, .ctx = state },
				   { .run = make_lookups, .ctx = state } };
	int err;

	if (session->tools.runtime && session->lookups)
		return 0;
	kl_tasks_run(task, 2);
	err = kl_task_result(&task[0]);
	if (!err)
		err = kl_task_result(&task[1]);
	kl_tasks_release(task, 2);
	return err;
}

/*
 * --- compiling kernels and oracles ----------------------------------------------------------
 */

/*
 * Copy the library that records gcc's lookups into a jail's work directory, where gcc can load it.
 */
static int copy_lookups(const struct session *session, const char *dir)
{
	KL_AUTO(kl_freep) char *to = kl_fs_join(dir, KL_LOOKUPS_LIBRARY);
	KL_AUTO(kl_buf_release) struct kl_buf library = KL_BUF_INIT;
	int err = kl_fs_read(&library, session->lookups, MAX_LIBRARY);

	if (!err)
		err = kl_fs_mkdir_of(to);
	return err ? err : kl_fs_put(to, library.ptr, library.len, 0644);
}

static int compile_surface(struct kl_artefact **out, const char **class_, const void *state,
			   const struct kl_surface *surface, const char *dir)
{
	const struct session *session = state;
	int err = copy_lookups(session, dir);

	return err ? err : kl_compile_surface(out, class_, &session->tools, surface, dir);
}

static int compile_oracle(const void *state, const struct kl_surface *surface,
			  const struct kl_launch *launch, enum kl_oracle which, const char *dir)
{
	const struct session *session = state;
	int err = copy_lookups(session, dir);

	return err ? err : kl_compile_oracle(&session->tools, surface, which, dir);
}

static int add_recipe(struct kl_digest *key, const void *state)
{
	const struct session *session = state;
	int err;

	kl_compile_recipe(key, &session->tools);
	err = kl_tool_digest_runtime(key, "kl_oracle.h");
	return err ? err : kl_compile_digest_runtime(key);
}

/*
 * --- describing jobs, and the row of the table ----------------------------------------------
 */

static void describe_job(struct kl_job *job, const struct kl_backend_job *of)
{
	job->isa = kl_strdup(of->platform->march);
	job->adapter = of->contract->adapters.n > 0;
}

static const char *const includes[] = { "math", "stddef", "stdint", "stdlib", "string", NULL };
static const struct kl_oracle_words words = {
	.header = "kl_oracle.h",
	.includes = includes,
	.float_suffix = "f",
	.real_scalars = true,
};

/*
 * Generous peaks of one core at 6 GHz. Bytes: two 64-byte loads per cycle, because all data can
 * come from the nearest cache. Operations: two 16-lane FMAs per cycle, each counted as two
 * operations.
 */
#define CORE_PEAK                                        \
	{                                                \
		.bytes_per_ns = 768, .flops_per_ns = 384 \
	}

/* shared by the backends of C and C++: one compiler, one kind of image, one machine */
#define COMMON                                                                                     \
	.object = "image", .surface = KL_SURFACE_C, .peak = CORE_PEAK, .describe = describe_job,   \
	.has_feature = kl_code_has_feature, .platforms = "cpu/x86-64-v1 to cpu/x86-64-v4",         \
	.owns = owns_platform, .guess = guess_platform, .port = port_surface, .tools = name_tools, \
	.open = open_session, .close = close_session, .platform = platform_of,                     \
	.prepare = prepare_session, .compile = compile_surface, .oracle = compile_oracle,          \
	.recipe = add_recipe

const struct kl_backend kl_backend_c = {
	.language = &kl_language_c,
	.words = &words,
	COMMON,
};

const struct kl_backend kl_backend_cpp = {
	.language = &kl_language_cpp,
	COMMON,
};
