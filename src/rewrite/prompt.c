/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/prompt.h"

#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/utf8.h"
#include "text/template.h"

#define MAX_PROMPT ((size_t)256 << 10)

void kl_prompt_set(struct kl_map *values, const char *name, char *value)
{
	kl_map_put(values, name, value);
}

/* --- files ------------------------------------------------------------------- */

/*
 * Return the directory of the user's own prompts; NULL if none is set, or it is ~/ without $HOME.
 */
static char *own_dir(struct kl_repo *repo)
{
	const char *dir = kl_repo_config(repo, "klineage.chat.prompts"), *home = getenv("HOME");

	if (!dir || !*dir)
		return NULL;
	if (*dir == '/')
		return kl_strdup(dir);
	if (!strncmp(dir, "~/", 2))
		return home && *home ? kl_fs_join(home, dir + 2) : NULL;
	return kl_fs_join(kl_repo_common_dir(repo), dir);
}

static int read_prompt(struct kl_buf *text, char **path, struct kl_repo *repo, const char *name)
{
	KL_AUTO(kl_freep) char *leaf = kl_asprintf("%s.md", name);
	KL_AUTO(kl_freep) char *shipped = kl_asprintf("templates/prompts/%s", leaf);
	KL_AUTO(kl_freep) char *dir = repo ? own_dir(repo) : NULL;
	int err;

	if (dir) {
		*path = kl_fs_join(dir, leaf);
		if (kl_fs_exists(*path))
			return kl_fs_read(text, *path, MAX_PROMPT);
		free(kl_steal(path));
		if (!kl_fs_is_dir(dir))
			return kl_error(KL_EINVALID,
					"klineage.chat.prompts: '%s' is not a directory", dir);
	}
	err = kl_fs_share(path, shipped);
	return err < 0 ? err : kl_fs_read(text, *path, MAX_PROMPT);
}

int kl_prompt_fill(struct kl_buf *out, struct kl_repo *repo, const char *name,
		   const struct kl_map *values)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *path = NULL;
	int err = read_prompt(&text, &path, repo, name);

	if (err < 0)
		return err;
	if (kl_utf8_span(text.ptr, text.len) != text.len)
		return kl_error(KL_EINVALID, "'%s' is not text in UTF-8", path);
	err = kl_template_fill(out, text.ptr, values);
	return err < 0 ? kl_error_in(err, "'%s'", path) : 0;
}

/* --- fences ------------------------------------------------------------------- */

static size_t longest_run(const char *text, size_t len)
{
	size_t longest = 0, run = 0;

	for (size_t i = 0; i < len; i++) {
		run = text[i] == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

static void add_ticks(struct kl_buf *out, size_t n)
{
	while (n--)
		kl_buf_addch(out, '`');
}

void kl_prompt_fence(struct kl_buf *out, const char *info, const char *text, size_t len)
{
	KL_AUTO(kl_buf_release) struct kl_buf clean = KL_BUF_INIT;
	size_t n;

	kl_utf8_clean(&clean, text, len);
	/* count backticks in the cleaned text, since cleaning can join two runs of them */
	n = longest_run(clean.ptr, clean.len) + 1;
	n = n < 3 ? 3 : n;
	add_ticks(out, n);
	kl_buf_addf(out, "%s\n", info);
	kl_buf_add(out, clean.ptr, clean.len);
	if (!clean.len || clean.ptr[clean.len - 1] != '\n')
		kl_buf_addch(out, '\n');
	add_ticks(out, n);
	kl_buf_addch(out, '\n');
}

void kl_prompt_excerpt(struct kl_buf *out, const char *info, const char *text, size_t max)
{
	size_t len = strlen(text), head = max * 3 / 4, tail = max - head;
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	if (len <= max) {
		kl_prompt_fence(out, info, text, len);
		return;
	}
	head = kl_utf8_cut(text, len, head);
	kl_buf_add(&buf, text, head);
	kl_buf_addf(&buf, "\n[... %zu bytes left out ...]\n", len - head - tail);
	kl_buf_add(&buf, text + len - tail, tail);
	kl_prompt_fence(out, info, buf.ptr, buf.len);
}

static void number_lines(struct kl_buf *out, const char *text, size_t len)
{
	int line = 1;

	for (size_t i = 0; i < len;) {
		const char *nl = memchr(text + i, '\n', len - i);
		size_t n = nl ? (size_t)(nl - (text + i)) + 1 : len - i;

		kl_buf_addf(out, "%5d  ", line++);
		kl_buf_add(out, text + i, n);
		i += n;
	}
}

void kl_prompt_files(struct kl_buf *out, const struct kl_file *file, size_t n, bool numbered)
{
	for (size_t i = 0; i < n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

		if (i)
			kl_buf_addch(out, '\n');
		if (memchr(file[i].data, '\0', file[i].len)) {
			kl_buf_addf(out, "File %s: %zu bytes that are no text\n", file[i].path,
				    file[i].len);
			continue;
		}
		if (numbered)
			number_lines(&buf, file[i].data, file[i].len);
		kl_buf_addf(out, "File %s:\n", file[i].path);
		kl_prompt_fence(out, "", numbered ? buf.ptr : file[i].data,
				numbered ? buf.len : file[i].len);
	}
}

char *kl_prompt_sources(const struct kl_surface *surface, bool numbered)
{
	struct kl_buf buf = KL_BUF_INIT;

	kl_prompt_files(&buf, surface->file, surface->nfile, numbered);
	return kl_buf_detach(&buf);
}

void kl_prompt_features(struct kl_buf *out, const struct kl_strvec *features)
{
	for (size_t i = 0; i < features->n; i++)
		kl_buf_addf(out, " %s", features->v[i]);
}

char *kl_prompt_facts(const struct kl_strvec *features, const json_t *traits, int64_t ns)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	struct kl_buf out = KL_BUF_INIT;
	const char *name;
	json_t *trait;

	kl_buf_adds(&buf, "compiled code:");
	if (features)
		kl_prompt_features(&buf, features);
	if (traits)
		kl_buf_adds(&buf, "\nsource:");
	json_object_foreach((json_t *)traits, name, trait)
		kl_buf_addf(&buf, " %s=%s,", name,
			    json_is_string(trait) ? json_string_value(trait) : "?");
	kl_buf_adds(&buf, "\ntime: ");
	if (ns > 0)
		kl_prompt_time(&buf, ns);
	else
		kl_buf_adds(&buf, "not measured");
	kl_buf_addch(&buf, '\n');
	kl_prompt_fence(&out, "", buf.ptr, buf.len);
	return kl_buf_detach(&out);
}

void kl_prompt_time(struct kl_buf *out, int64_t ns)
{
	double exact = (double)ns;

	if (ns < 10000)
		kl_buf_addf(out, "%lld ns", (long long)ns);
	else if (ns < 10000000)
		kl_buf_addf(out, "%.1f us", exact / 1e3);
	else
		kl_buf_addf(out, "%.1f ms", exact / 1e6);
}
