/* SPDX-License-Identifier: Apache-2.0 */
/* history - finds commits that change paths, ancestors and merge bases */
#include "repo/internal.h"

#include <string.h>

#include "base/fs.h"
#include "text/digest.h"

/* Run `git rev-list` or `git log` and parse the commits that it prints. */
static int list_commits(git_oid **out, size_t *n, struct kl_repo *repo,
			const struct kl_strvec *args)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) git_oid *found = NULL;
	struct kl_git_call call = { .args = (const char *const *)args->v, .out = &text };
	size_t count = 0;
	int err = kl_git_do(repo, &call);

	if (err < 0)
		return err;
	found = kl_calloc(text.len / GIT_OID_HEXSZ + 1, sizeof(*found));
	for (const char *at = text.ptr; *at; at += GIT_OID_HEXSZ + 1) {
		if (text.ptr + text.len - at <= GIT_OID_HEXSZ ||
		    !kl_oid_parsen(found + count++, at, GIT_OID_HEXSZ))
			return kl_error(KL_EIO, "unexpected output of git: '%.60s'", at);
	}
	*n = count;
	*out = kl_steal(&found);
	return 0;
}

/* The question of kl_repo_touching(). */
struct paths {
	const char *const *v;
	size_t n, max;
};

/* Push the commit and the paths as arguments for git; "" stands for all paths and is not pushed. */
static void push_history(struct kl_strvec *args, const git_oid *from, const char *const *paths,
			 size_t npaths)
{
	kl_strvec_push(args, git_oid_tostr_s(from));
	kl_strvec_push(args, "--");
	for (size_t i = 0; i < npaths; i++)
		if (*paths[i])
			kl_strvec_push(args, paths[i]);
}

/*
 * Run git rev-list, because it can use the commit-graph and its changed-path filters. `without`:
 * a commit whose history is left out; NULL: none is.
 */
static int list_touching(git_oid **out, size_t *n, struct kl_repo *repo, const git_oid *from,
			 const git_oid *without, const struct paths *paths)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec args = KL_STRVEC_INIT;

	kl_strvec_pushv(&args, KL_ARGS("rev-list", "--first-parent"));
	kl_strvec_pushf(&args, "--max-count=%zu", paths->max);
	if (without)
		kl_strvec_pushf(&args, "^%s", git_oid_tostr_s(without));
	push_history(&args, from, paths->v, paths->n);
	return list_commits(out, n, repo, &args);
}

/* --- what is known of the history of paths ------------------------------------------- */

/*
 * To find the commits that touch a path, git compares the trees of all commits: half a second for
 * 50,000. So the answer for a commit is kept in klineage/cache/touching-<digest of the question>:
 * the commit, then those found, a line each, and a digest of these lines. Later commits are looked
 * at when they are there.
 */
#define MAX_KNOWN ((size_t)1 << 20) /* bytes of a file */
#define MAX_LATER 1000              /* later commits that are looked at one by one */

struct known {
	char *path;
	git_oid from, *at;
	size_t n;
};

static void known_release(struct known *known)
{
	free(known->path);
	free(known->at);
}

/* A shallow clone has less of the history than it had, or than it will have. */
static bool is_shallow(struct kl_repo *repo)
{
	KL_AUTO(kl_freep) char *shallow = kl_fs_join(kl_repo_common_dir(repo), "shallow");

	return kl_fs_exists(shallow);
}

/* Remove the digest at the end of a file; return false if it is not that of the lines before it. */
static bool take_digest(struct kl_buf *text)
{
	char hex[KL_DIGEST_HEX];

	if (text->len <= KL_DIGEST_HEX || text->ptr[text->len - 1] != '\n')
		return false;
	text->len -= KL_DIGEST_HEX;
	kl_digest_hex(hex, text->ptr, text->len);
	return text->len % (GIT_OID_HEXSZ + 1) == 0 &&
	       !memcmp(hex, text->ptr + text->len, KL_DIGEST_HEX - 1);
}

/* Return false if nothing is known. */
static bool read_known(struct known *out, struct kl_repo *repo, const struct paths *paths)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_digest *digest = kl_digest_new();
	KL_AUTO(kl_freep) char *name = NULL;
	char hex[KL_DIGEST_HEX];
	bool good;

	for (size_t i = 0; i < paths->n; i++)
		kl_digest_add(digest, paths->v[i], strlen(paths->v[i]) + 1);
	kl_digest_add(digest, &paths->max, sizeof(paths->max));
	kl_digest_end(digest, hex);
	name = kl_asprintf("klineage/cache/touching-%s", hex);
	out->path = kl_fs_join(kl_repo_common_dir(repo), name);
	good = !is_shallow(repo) && !kl_fs_read(&text, out->path, MAX_KNOWN) && take_digest(&text);
	kl_error_clear();
	out->at = kl_calloc(text.len / GIT_OID_HEXSZ + 1, sizeof(*out->at));
	for (size_t i = 0; good && i < text.len; i += GIT_OID_HEXSZ + 1)
		good = text.ptr[i + GIT_OID_HEXSZ] == '\n' &&
		       kl_oid_parsen(i ? &out->at[out->n++] : &out->from, text.ptr + i,
				     GIT_OID_HEXSZ);
	return good;
}

/* Keep what was found, except in a shallow clone. A clone that cannot be written is no error. */
static void keep_known(const struct known *known, struct kl_repo *repo, const git_oid *from,
		       const git_oid *at, size_t n)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	char hex[KL_DIGEST_HEX];

	if (is_shallow(repo))
		return;
	kl_buf_addf(&text, "%s\n", git_oid_tostr_s(from));
	for (size_t i = 0; i < n; i++)
		kl_buf_addf(&text, "%s\n", git_oid_tostr_s(&at[i]));
	kl_digest_hex(hex, text.ptr, text.len);
	kl_buf_addf(&text, "%s\n", hex);
	if (kl_fs_mkdir_of(known->path) < 0 || kl_fs_write(known->path, text.ptr, text.len) < 0)
		kl_error_clear();
}

/* Return true if `old` is `from` or one of its first parents, not too far back. */
static bool is_before(struct kl_repo *repo, const git_oid *old, const git_oid *from)
{
	git_oid at = *from;

	for (int i = 0; i < MAX_LATER; i++) {
		KL_AUTO(kl_freep) git_oid *parent = NULL;
		size_t n = 0;

		if (git_oid_equal(&at, old))
			return true;
		if (kl_repo_parents(&parent, &n, repo, &at) < 0 || !n) {
			kl_error_clear();
			return false;
		}
		at = parent[0];
	}
	return false;
}

int kl_repo_touching(git_oid **out, size_t *n, struct kl_repo *repo, const git_oid *from,
		     const char *const *paths, size_t npaths, size_t max)
{
	const struct paths of = { paths, npaths, max };
	KL_AUTO(known_release) struct known known = { 0 };
	KL_AUTO(kl_freep) git_oid *found = NULL;
	bool known_before = npaths && read_known(&known, repo, &of) &&
			    is_before(repo, &known.from, from);
	size_t count = 0;
	int err = 0;

	if (!known_before || !git_oid_equal(&known.from, from))
		err = list_touching(&found, &count, repo, from, known_before ? &known.from : NULL,
				    &of);
	if (err < 0)
		return err;
	if (known_before) {
		size_t rest = max - count < known.n ? max - count : known.n;

		found = kl_realloc(found, count + rest + 1, sizeof(*found));
		memcpy(found + count, known.at, rest * sizeof(*found));
		count += rest;
	}
	if (npaths && (!known_before || !git_oid_equal(&known.from, from)))
		keep_known(&known, repo, from, found, count);
	*n = count;
	*out = kl_steal(&found);
	return 0;
}

/*
 * Parse lines "commit parent..." of git rev-list, and collect the first commit, its first parent,
 * the first parent of that, and so on.
 */
static int follow_line(git_oid **out, size_t *n, const struct kl_buf *text)
{
	KL_AUTO(kl_freep) git_oid *found = kl_calloc(text->len / GIT_OID_HEXSZ + 1, sizeof(*found));
	const char *next = text->ptr; /* 40 digits of the commit to keep next */
	size_t count = 0, len;

	for (const char *at = text->ptr; next && *at; at += len + (at[len] == '\n')) {
		len = strcspn(at, "\n");
		if (len < GIT_OID_HEXSZ ||
		    (len > GIT_OID_HEXSZ && len < 2 * (size_t)GIT_OID_HEXSZ + 1) ||
		    !kl_oid_parsen(found + count, at, GIT_OID_HEXSZ))
			return kl_error(KL_EIO, "unexpected output of git rev-list: '%.60s'", at);
		if (memcmp(at, next, GIT_OID_HEXSZ))
			continue;
		count++;
		next = len > GIT_OID_HEXSZ ? at + GIT_OID_HEXSZ + 1 : NULL;
	}
	*n = count;
	*out = kl_steal(&found);
	return 0;
}

int kl_repo_line(git_oid **out, size_t *n, struct kl_repo *repo, const git_oid *from,
		 const char *const *paths, size_t npaths)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec args = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_git_call call = { .out = &text };
	int err;

	kl_strvec_pushv(&args, KL_ARGS("rev-list", "--topo-order", "--parents"));
	push_history(&args, from, paths, npaths);
	call.args = (const char *const *)args.v;
	err = kl_git_do(repo, &call);
	if (err < 0)
		return err;
	return follow_line(out, n, &text);
}

int kl_repo_creating(git_oid **out, size_t *n, struct kl_repo *repo, const git_oid *from,
		     const char *const *paths, size_t npaths)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec args = KL_STRVEC_INIT;

	kl_strvec_pushv(&args,
			KL_ARGS("log", "--topo-order", "--format=%H", "--no-show-signature",
				"--no-follow", "--no-renames", "--diff-filter=A", "--no-patch"));
	push_history(&args, from, paths, npaths);
	return list_commits(out, n, repo, &args);
}

int kl_repo_between(git_oid **out, size_t *n, struct kl_repo *repo, const git_oid *from,
		    const git_oid *to, size_t max)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec args = KL_STRVEC_INIT;
	char from_hex[KL_OID_HEX], to_hex[KL_OID_HEX];

	kl_oid_hex(from_hex, from);
	kl_oid_hex(to_hex, to);
	kl_strvec_pushv(&args, KL_ARGS("rev-list", "--topo-order", "--reverse"));
	kl_strvec_pushf(&args, "--max-count=%zu", max);
	kl_strvec_push(&args, to_hex);
	kl_strvec_pushf(&args, "^%s", from_hex);
	kl_strvec_push(&args, "--");
	return list_commits(out, n, repo, &args);
}

static bool is_commit(struct kl_repo *repo, const git_oid *oid)
{
	git_object_t type;
	size_t size;

	return git_odb_read_header(&size, &type, repo->odb, oid) == 0 && type == GIT_OBJECT_COMMIT;
}

/* Use git merge-base, because libgit2 cannot walk a shallow clone. */
int kl_repo_is_ancestor(bool *out, struct kl_repo *repo, const git_oid *ancestor,
			const git_oid *descendant)
{
	KL_AUTO(kl_buf_release) struct kl_buf complaint = KL_BUF_INIT;
	char ancestor_hex[KL_OID_HEX], descendant_hex[KL_OID_HEX];
	struct kl_git_call call = { .args = KL_ARGS("merge-base", "--is-ancestor", ancestor_hex,
						    descendant_hex),
				    .err = &complaint };
	int status, err;

	*out = git_oid_equal(ancestor, descendant);
	if (*out || !is_commit(repo, ancestor) || !is_commit(repo, descendant))
		return 0;
	kl_oid_hex(ancestor_hex, ancestor);
	kl_oid_hex(descendant_hex, descendant);
	if ((err = kl_git_run(&status, repo, &call)) < 0)
		return err;
	if (status > 1)
		return kl_error(KL_EIO, "git merge-base: %s", kl_git_complaint(&complaint));
	*out = !status;
	return 0;
}

int kl_repo_merge_base(git_oid *out, struct kl_repo *repo, const git_oid *left,
		       const git_oid *right)
{
	KL_AUTO(kl_buf_release) struct kl_buf complaint = KL_BUF_INIT, answer = KL_BUF_INIT;
	char left_hex[KL_OID_HEX], right_hex[KL_OID_HEX];
	struct kl_git_call call = { .args = KL_ARGS("merge-base", left_hex, right_hex),
				    .out = &answer,
				    .err = &complaint };
	int status, err;

	kl_oid_hex(left_hex, left);
	kl_oid_hex(right_hex, right);
	if ((err = kl_git_run(&status, repo, &call)) < 0)
		return err;
	if (status == 1)
		return kl_error(KL_ENOTFOUND, "%.12s and %.12s have no common ancestor", left_hex,
				right_hex);
	if (status)
		return kl_error(KL_EIO, "git merge-base: %s", kl_git_complaint(&complaint));
	kl_buf_rtrim(&answer);
	return kl_oid_parse(out, answer.ptr);
}
