/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SCRATCH_H
#define KL_SCRATCH_H

/*
 * scratch - throw-away repositories for tests: a home of their own, a fixed
 * identity, and stock git through the shell to set up and to check.
 */
#include <strings.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/proc.h"
#include "repo/repo.h"
#include "test.h"

static char *scratch_root;

/** Group setup: an empty home that no user's or system's config reaches. */
static inline int scratch_setup(void **state)
{
	static const char *const unset[] = {
		"GIT_DIR",
		"GIT_WORK_TREE",
		"GIT_INDEX_FILE",
		"GIT_CONFIG_PARAMETERS",
		"GIT_CONFIG_COUNT",
		"GIT_AUTHOR_DATE",
		"GIT_COMMITTER_DATE",
		"EMAIL",
		"XDG_CONFIG_HOME",
		"GIT_COMMON_DIR",
		"GIT_PREFIX",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(unset); i++)
		unsetenv(unset[i]);
	assert_ok(kl_fs_tempdir(&scratch_root, "klineage-test"));
	setenv("HOME", scratch_root, 1);
	setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	setenv("GIT_CEILING_DIRECTORIES", scratch_root, 1);
	setenv("GIT_AUTHOR_NAME", "A U Thor", 1);
	setenv("GIT_AUTHOR_EMAIL", "author@example.com", 1);
	setenv("GIT_COMMITTER_NAME", "C O Mitter", 1);
	setenv("GIT_COMMITTER_EMAIL", "committer@example.com", 1);
	return 0;
}

static inline int scratch_teardown(void **state)
{
	assert_int_equal(chdir("/"), 0);
	kl_fs_tempdir_cleanup(&scratch_root);
	return 0;
}

/** Run a script in `dir`; its exit code. stdout in `out` (may be NULL), last newline cut. */
static __attribute__((unused, format(printf, 3, 4))) int try_sh(struct kl_buf *out, const char *dir,
								const char *fmt, ...)
{
	KL_AUTO(kl_buf_release) struct kl_buf script = KL_BUF_INIT;
	struct kl_buf text = KL_BUF_INIT;
	struct kl_proc_result res;
	struct kl_proc_opts opts = { .dir = dir, .out = &text, .flags = KL_PROC_INHERIT_STDERR };
	va_list ap;

	va_start(ap, fmt);
	kl_buf_vaddf(&script, fmt, ap);
	va_end(ap);
	opts.argv = (const char *const[]){ "sh", "-ec", script.ptr, NULL };
	assert_ok(kl_proc_run(&res, &opts));
	if (text.len && text.ptr[text.len - 1] == '\n')
		text.ptr[--text.len] = '\0';
	if (out)
		*out = text;
	else
		kl_buf_release(&text);
	return res.signal ? 128 + res.signal : res.exit;
}

#define sh(dir, ...)                                                                 \
	do {                                                                         \
		int kl_rc_ = try_sh(NULL, dir, __VA_ARGS__);                         \
		if (kl_rc_)                                                          \
			fail_msg("script failed with %d: %s", kl_rc_, #__VA_ARGS__); \
	} while (0)

/** What a script prints; the caller frees. It must succeed. */
#define sh_text(dir, ...)                                                            \
	__extension__({                                                              \
		struct kl_buf kl_out_ = KL_BUF_INIT;                                 \
		int kl_rc_ = try_sh(&kl_out_, dir, __VA_ARGS__);                     \
		if (kl_rc_)                                                          \
			fail_msg("script failed with %d: %s", kl_rc_, #__VA_ARGS__); \
		kl_buf_detach(&kl_out_);                                             \
	})

/** A script's output must be `want`. */
#define assert_sh(want, dir, ...)                          \
	do {                                               \
		char *kl_got_ = sh_text(dir, __VA_ARGS__); \
		assert_string_equal(kl_got_, want);        \
		free(kl_got_);                             \
	} while (0)

/** A new directory below the scratch root; the caller frees. */
static __attribute__((unused)) char *scratch_dir(const char *name)
{
	char *dir = kl_asprintf("%s/%s", scratch_root, name);

	assert_ok(kl_fs_remove(dir));
	assert_ok(kl_fs_mkdir(dir));
	return dir;
}

/** A repository with one commit: a.txt, dir/b.txt. The caller frees. */
static __attribute__((unused)) char *scratch_repo(const char *name)
{
	char *dir = scratch_dir(name);

	sh(dir, "git init -q -b main . && mkdir dir && echo one >a.txt && echo two >dir/b.txt && "
		"git add . && git commit -q -m first");
	return dir;
}

static __attribute__((unused)) git_oid oid_of(const char *dir, const char *rev)
{
	KL_AUTO(kl_freep) char *hex = sh_text(dir, "git rev-parse --verify \"%s\"", rev);
	git_oid oid;

	assert_ok(kl_oid_parse(&oid, hex));
	return oid;
}

static __attribute__((unused)) void assert_oid(const char *dir, const char *rev, const git_oid *oid)
{
	KL_AUTO(kl_freep) char *want = sh_text(dir, "git rev-parse --verify \"%s\"", rev);
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, oid);
	assert_string_equal(hex, want);
}

#endif
