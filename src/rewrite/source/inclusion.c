/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/source/inclusion.h"

#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "rewrite/source/ctoken.h"
#include "rewrite/source/include_name.h"

#define MAX_SOURCE (4u << 20)
#define MAX_DEPTH 64

/*
 * Join a directory and a path, without "." and "..". Return NULL if the path leaves the repository.
 */
static char *join_path(const char *dir, const char *path)
{
	KL_AUTO(kl_freep) char *all = *dir ? kl_asprintf("%s/%s", dir, path) : kl_strdup(path);
	KL_AUTO(kl_strvec_release) struct kl_strvec parts = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;
	size_t n = 0;

	if (*path == '/')
		return NULL;
	kl_strvec_split(&parts, all, "/");
	for (size_t i = 0; i < parts.n; i++) {
		if (!strcmp(parts.v[i], "."))
			continue;
		if (!strcmp(parts.v[i], "..")) {
			char *slash;

			if (!n--)
				return NULL;
			slash = strrchr(out.ptr, '/');
			out.len = slash ? (size_t)(slash - out.ptr) : 0;
			out.ptr[out.len] = '\0';
			continue;
		}
		kl_buf_addf(&out, "%s%s", n++ ? "/" : "", parts.v[i]);
	}
	return kl_buf_detach(&out);
}

static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? kl_strndup(path, (size_t)(slash - path)) : kl_strdup("");
}

/* List the places where the compiler looks for a name, for a file in the directory `dir`. */
static void list_places(struct kl_strvec *out, const struct kl_inclusion *inclusion,
			const struct kl_include_name *wanted, const char *dir)
{
	const struct kl_contract_build *build = &inclusion->contract->build;
	const struct kl_strvec *lists[] = { &build->iquote, &build->include, &build->isystem };
	char *path;

	if (wanted->quoted && (path = join_path(dir, wanted->text)))
		kl_strvec_take(out, path);
	for (size_t k = wanted->quoted ? 0 : 1; k < KL_ARRAY_SIZE(lists); k++)
		for (size_t i = 0; i < lists[k]->n; i++) {
			KL_AUTO(kl_freep) char *in = join_path(inclusion->dir, lists[k]->v[i]);

			if (in && (path = join_path(in, wanted->text)))
				kl_strvec_take(out, path);
		}
	if (!inclusion->contract->from_top && (path = join_path(inclusion->dir, wanted->text)))
		kl_strvec_take(out, path);
}

/*
 * Return the index of the source that an #include in source `i` refers to; SIZE_MAX if there is
 * none.
 */
static size_t find_listed(const struct kl_inclusion *inclusion, size_t i,
			  const struct kl_include_name *wanted)
{
	KL_AUTO(kl_freep) char *dir = directory_of(inclusion->now->v[i]);
	KL_AUTO(kl_strvec_release) struct kl_strvec places = KL_STRVEC_INIT;

	list_places(&places, inclusion, wanted, dir);
	for (size_t place = 0; place < places.n; place++)
		for (size_t k = 0; k < inclusion->now->n; k++)
			if (!strcmp(places.v[place], inclusion->now->v[k]))
				return k;
	return SIZE_MAX;
}

/*
 * Find the file that an #include in the file `from` of the older commit refers to. If the commit
 * does not have it, *out stays NULL.
 */
static int find_file(char **out, git_oid *blob, const struct kl_inclusion *inclusion,
		     const char *from, const struct kl_include_name *wanted)
{
	KL_AUTO(kl_freep) char *dir = directory_of(from);
	KL_AUTO(kl_strvec_release) struct kl_strvec places = KL_STRVEC_INIT;
	uint32_t mode;

	list_places(&places, inclusion, wanted, dir);
	for (size_t i = 0; i < places.n; i++) {
		int err = kl_repo_tree_entry(blob, &mode, inclusion->repo, inclusion->tree,
					     places.v[i]);

		if (err < 0 && err != KL_ENOTFOUND)
			return err;
		kl_error_clear();
		if (!err && (mode & 0170000) == 0100000) {
			*out = kl_strdup(places.v[i]);
			return 0;
		}
	}
	return 0;
}

/* The completion of one source. */
struct completion {
	const struct kl_inclusion *inclusion;
	size_t i;
	struct kl_buf *out;
	struct kl_strvec *inlined;
	struct kl_strvec stack; /* paths of the files that are being written, outermost first */
	struct kl_include_macros macros; /* the macros that the text read so far defines */
};

static int add_text(struct completion *at, const char *path, const char *text, size_t len);

static void define_options(struct kl_include_macros *macros, const struct kl_inclusion *inclusion)
{
	const struct kl_strvec *define = &inclusion->contract->build.define;

	for (size_t i = 0; i < define->n; i++)
		kl_include_name_option(macros, define->v[i]);
}

/* Note the macros that a source of the older commit defines. */
static int note_source(struct kl_include_macros *macros, const struct kl_inclusion *inclusion,
		       const char *path)
{
	KL_AUTO(kl_ctokens_release) struct kl_ctokens tokens = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	git_oid blob;
	uint32_t mode;
	size_t size = 0;
	int err = kl_repo_tree_entry(&blob, &mode, inclusion->repo, inclusion->tree, path);

	if (!err)
		err = kl_repo_object_size(&size, inclusion->repo, &blob);
	if (!err && size <= MAX_SOURCE && (mode & 0170000) == 0100000)
		err = kl_repo_blob_read(&text, inclusion->repo, &blob, MAX_SOURCE);
	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		return 0;
	}
	if (err < 0 || !text.len)
		return err;
	kl_ctoken_lex(&tokens, text.ptr, text.len);
	for (size_t i = 0; i < tokens.n; i++)
		if (tokens.t[i].kind == KL_CT_DIRECTIVE)
			kl_include_name_define(macros, text.ptr + tokens.t[i].off, tokens.t[i].len);
	return 0;
}

/*
 * Read an #include of a macro that the text above it does not define. The macro stands for a file
 * if all sources of the older commit that define it name the same file.
 */
static int read_elsewhere(enum kl_include_kind *kind, struct kl_include_name *out,
			  const struct kl_inclusion *inclusion, const char *text, size_t len)
{
	struct kl_include_macros macros = KL_INCLUDE_MACROS_INIT;
	int err = 0;

	macros.unordered = true;
	define_options(&macros, inclusion);
	for (size_t i = 0; !err && i < inclusion->then->n; i++)
		err = note_source(&macros, inclusion, inclusion->then->v[i]);
	kl_include_name_release(out);
	*kind = kl_include_name_read(out, &macros, text, len);
	kl_map_release(&macros.value);
	return err;
}

/*
 * Write a file in place of its #include. If the file has #pragma once, add an include guard,
 * because the pragma does not work in the middle of another file.
 */
static int add_file(struct completion *at, const char *path, const git_oid *blob)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	char once[KL_DIGEST_HEX];
	size_t size;
	bool guarded;
	int err = kl_repo_object_size(&size, at->inclusion->repo, blob);

	if (err < 0 || size > MAX_SOURCE ||
	    (err = kl_repo_blob_read(&text, at->inclusion->repo, blob, MAX_SOURCE)) < 0)
		return err;
	if (!kl_strvec_has(at->inlined, path))
		kl_strvec_push(at->inlined, path);
	guarded = strstr(text.ptr, "#pragma once") != NULL;
	kl_digest_hex(once, path, strlen(path));
	if (guarded)
		kl_buf_addf(at->out, "#ifndef ONCE_%.16s\n#define ONCE_%.16s\n", once, once);
	err = add_text(at, path, text.ptr, text.len);
	if (at->out->len && at->out->ptr[at->out->len - 1] != '\n')
		kl_buf_addch(at->out, '\n');
	if (guarded)
		kl_buf_adds(at->out, "#endif\n");
	return err;
}

/* Set *done to true if a directive of the file `from` was replaced. */
static int replace_include(bool *done, struct completion *at, const char *from,
			   const struct kl_include_name *wanted)
{
	const struct kl_inclusion *inclusion = at->inclusion;
	size_t listed = find_listed(inclusion, at->i, wanted);
	KL_AUTO(kl_freep) char *path = NULL;
	git_oid blob;
	int err;

	*done = false;
	if (inclusion->left && kl_map_get(inclusion->left, wanted->text))
		return 0;
	if ((err = find_file(&path, &blob, inclusion, from, wanted)) < 0 || !path ||
	    (listed != SIZE_MAX && !strcmp(inclusion->then->v[listed], path)))
		return err;
	*done = true;
	/*
	 * If the file includes itself, its include guard makes the second copy empty: leave it out.
	 */
	if (kl_strvec_has(&at->stack, path))
		return 0;
	return add_file(at, path, &blob);
}

static int add_text(struct completion *at, const char *path, const char *text, size_t len)
{
	KL_AUTO(kl_ctokens_release) struct kl_ctokens tokens = { 0 };
	size_t pos = 0;
	int err = 0;

	kl_ctoken_lex(&tokens, text, len);
	kl_strvec_push(&at->stack, path);
	for (size_t i = 0; !err && i < tokens.n && at->stack.n <= MAX_DEPTH; i++) {
		const struct kl_ctok *token = &tokens.t[i];
		KL_AUTO(kl_include_name_release) struct kl_include_name wanted = { .text = NULL };
		const char *directive = text + token->off;
		size_t start = at->out->len;
		enum kl_include_kind kind;
		bool done = false;

		if (at->out->len > MAX_SOURCE)
			break;
		if (token->kind != KL_CT_DIRECTIVE ||
		    kl_include_name_define(&at->macros, directive, token->len))
			continue;
		kind = kl_include_name_read(&wanted, &at->macros, directive, token->len);
		if (kind == KL_INCLUDE_MACRO)
			err = read_elsewhere(&kind, &wanted, at->inclusion, directive, token->len);
		if (err < 0 || kind != KL_INCLUDE_FILE)
			continue;
		kl_buf_add(at->out, text + pos, token->off - pos);
		err = replace_include(&done, at, path, &wanted);
		pos = done ? token->off + token->len : pos;
		if (!done) {
			at->out->len = start;
			at->out->ptr[start] = '\0';
		}
	}
	kl_buf_add(at->out, text + pos, len - pos);
	free(at->stack.v[--at->stack.n]);
	at->stack.v[at->stack.n] = NULL;
	return err;
}

int kl_inclusion_complete(struct kl_buf *out, struct kl_strvec *inlined,
			  const struct kl_inclusion *inclusion, size_t i, const char *text,
			  size_t len)
{
	KL_AUTO(kl_buf_release) struct kl_buf whole = KL_BUF_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec found = KL_STRVEC_INIT;
	struct completion at = {
		.inclusion = inclusion,
		.i = i,
		.out = &whole,
		.inlined = &found,
		.macros = KL_INCLUDE_MACROS_INIT,
	};
	int err;

	define_options(&at.macros, inclusion);
	err = add_text(&at, inclusion->then->v[i], text, len);
	kl_strvec_release(&at.stack);
	kl_map_release(&at.macros.value);
	if (err < 0)
		return err;
	if (!found.n || whole.len > MAX_SOURCE) {
		kl_buf_add(out, text, len);
		return 0;
	}
	kl_buf_add(out, whole.ptr, whole.len);
	for (size_t k = 0; k < found.n; k++)
		if (!kl_strvec_has(inlined, found.v[k]))
			kl_strvec_push(inlined, found.v[k]);
	return 0;
}

bool kl_inclusion_open(struct kl_map *out, const struct kl_inclusion *inclusion, size_t i,
		       const char *text, size_t len)
{
	KL_AUTO(kl_ctokens_release) struct kl_ctokens tokens = { 0 };
	struct kl_include_macros macros = KL_INCLUDE_MACROS_INIT;
	bool unknown = false;

	define_options(&macros, inclusion);
	kl_ctoken_lex(&tokens, text, len);
	for (size_t k = 0; k < tokens.n; k++) {
		KL_AUTO(kl_include_name_release) struct kl_include_name wanted = { .text = NULL };
		const char *directive = text + tokens.t[k].off;
		enum kl_include_kind kind;

		if (tokens.t[k].kind != KL_CT_DIRECTIVE ||
		    kl_include_name_define(&macros, directive, tokens.t[k].len))
			continue;
		kind = kl_include_name_read(&wanted, &macros, directive, tokens.t[k].len);
		unknown |= kind == KL_INCLUDE_MACRO;
		if (kind == KL_INCLUDE_FILE && find_listed(inclusion, i, &wanted) == SIZE_MAX)
			kl_map_put(out, wanted.text, out);
	}
	kl_map_release(&macros.value);
	return unknown;
}
