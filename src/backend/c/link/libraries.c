/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/c/link/libraries.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/proc.h"
#include "base/vec.h"
#include "text/digest.h"

#define MAX_SCRIPT ((size_t)4096)
#define ID_DIGITS 12

void kl_libraries_free(struct kl_libraries *libraries)
{
	if (!libraries)
		return;
	for (size_t i = 0; i < libraries->n; i++)
		kl_archive_free(libraries->archive[i]);
	free(libraries);
}

/*
 * List the directories that gcc searches, from the line "libraries: =<dir>:<dir>..." of its output.
 */
static int find_directories(struct kl_strvec *out)
{
	static const char *const argv[] = { "gcc", "-print-search-dirs", NULL };
	/* as in the compile jail, ignore the user's environment */
	static const char *const env[] = { "PATH=/usr/bin:/bin", "LC_ALL=C", NULL };
	static const char key[] = "libraries: =";
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *list = NULL;
	const struct kl_proc_opts opts = { .argv = argv, .env = env, .out = &text };
	struct kl_proc_result res;
	const char *at;
	int err = kl_proc_run(&res, &opts);

	if (err < 0 || res.exit)
		return err == KL_EINTR ? err : kl_error(KL_ECANNOT, "cannot run 'gcc'");
	at = strstr(text.ptr, key);
	at = at ? at + sizeof(key) - 1 : "";
	list = kl_strndup(at, strcspn(at, "\n"));
	kl_strvec_split(out, list, ":");
	return 0;
}

static int add_archive(struct kl_libraries *libraries, const char *path)
{
	int err;

	if (libraries->n == KL_ARRAY_SIZE(libraries->archive))
		return kl_error(KL_ECANNOT,
				"the C library has more files than this program supports: '%s'",
				path);
	err = kl_archive_open(&libraries->archive[libraries->n], path);
	if (!err)
		libraries->n++;
	return err;
}

/*
 * Add the archives named by a linker script that is installed in place of an archive:
 * "GROUP ( <path> <path> )".
 */
static int add_group(struct kl_libraries *libraries, const char *script)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec words = KL_STRVEC_INIT;
	size_t before = libraries->n;
	int err = 0;

	kl_strvec_split(&words, script, " \t\n");
	for (size_t i = 0; !err && i < words.n; i++)
		if (words.v[i][0] == '/' && strstr(words.v[i], ".a"))
			err = add_archive(libraries, words.v[i]);
	return err || libraries->n > before ?
		       err :
		       kl_error(KL_EINVALID, "the linker script names no libraries");
}

static int add_library(struct kl_libraries *libraries, const char *path)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = add_archive(libraries, path);

	if (err != KL_EINVALID || kl_fs_read(&text, path, MAX_SCRIPT) < 0)
		return err;
	kl_error_clear();
	return add_group(libraries, text.ptr);
}

static int find_library(struct kl_libraries *libraries, const struct kl_strvec *dirs,
			const char *name)
{
	int err;

	for (size_t i = 0; i < dirs->n; i++) {
		KL_AUTO(kl_freep) char *path = kl_fs_join(dirs->v[i], name);

		if (!kl_fs_exists(path))
			continue;
		err = add_library(libraries, path);
		return err < 0 ? kl_error_in(KL_ECANNOT, "'%s'", path) : 0;
	}
	err = kl_error(KL_ECANNOT, "'%s' is not installed, but every kernel is linked with it",
		       name);
	return kl_error_hint(err, "install libc6-dev and gcc, or run 'make deps'");
}

/* Write the version in the banner of the C library, such as "2.36"; "" if there is no banner. */
static void find_version(char *out, size_t size, const struct kl_libraries *libraries)
{
	static const char banner[] = "stable release version ";

	*out = '\0';
	for (size_t i = 0; i < libraries->n && !*out; i++) {
		size_t len;
		const char *bytes = kl_archive_bytes(libraries->archive[i], &len);
		const char *at = memmem(bytes, len, banner, sizeof(banner) - 1);

		if (!at)
			continue;
		at += sizeof(banner) - 1;
		len -= (size_t)(at - bytes);
		for (size_t n = 0; n < len && n + 1 < size && strchr("0123456789.", at[n]) && at[n];
		     n++) {
			out[n] = at[n];
			out[n + 1] = '\0';
		}
	}
	if (*out && out[strlen(out) - 1] == '.')
		out[strlen(out) - 1] = '\0';
}

static void identify(struct kl_libraries *libraries)
{
	struct kl_digest *digest = kl_digest_new();
	char hex[KL_DIGEST_HEX], version[16];

	for (size_t i = 0; i < libraries->n; i++) {
		size_t len;
		const void *bytes = kl_archive_bytes(libraries->archive[i], &len);

		kl_digest_add(digest, bytes, len);
	}
	kl_digest_end(digest, hex);
	find_version(version, sizeof(version), libraries);
	snprintf(libraries->id, sizeof(libraries->id), "glibc %s%s%.*s", version,
		 *version ? " " : "", ID_DIGITS, hex);
}

int kl_libraries_open(struct kl_libraries **out)
{
	static const char *const names[] = { "libm.a", "libc.a", "libgcc.a" };
	KL_AUTO(kl_libraries_freep)
	struct kl_libraries *libraries = kl_calloc(1, sizeof(*libraries));
	KL_AUTO(kl_strvec_release) struct kl_strvec dirs = KL_STRVEC_INIT;
	int err = find_directories(&dirs);

	for (size_t i = 0; !err && i < KL_ARRAY_SIZE(names); i++)
		err = find_library(libraries, &dirs, names[i]);
	if (err < 0)
		return err;
	identify(libraries);
	*out = kl_steal(&libraries);
	return 0;
}

int kl_libraries_find(struct kl_object **out, const struct kl_libraries *libraries,
		      const char *symbol)
{
	for (size_t i = 0; i < libraries->n; i++) {
		size_t at = kl_archive_find(libraries->archive[i], symbol);

		if (at)
			return kl_archive_member(out, libraries->archive[i], at);
	}
	return KL_ENOTFOUND;
}
