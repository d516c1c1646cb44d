/* SPDX-License-Identifier: Apache-2.0 */
/* history - commits that touch paths, ancestors, merge bases */
#include "repo/internal.h"

#include <string.h>

/* what `git rev-list` answers */
static int list_commits(git_oid **out, size_t *n, struct kl_repo *r, const struct kl_strvec *args)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) git_oid *found = NULL;
	struct kl_git_call c = { .args = (const char *const *)args->v, .out = &text };
	size_t count = 0;
	int err = kl_git_do(r, &c);

	if (err < 0)
		return err;
	found = kl_calloc(text.len / GIT_OID_HEXSZ + 1, sizeof(*found));
	for (const char *p = text.ptr; *p; p += GIT_OID_HEXSZ + 1) {
		if (text.ptr + text.len - p <= GIT_OID_HEXSZ ||
		    !kl_oid_parsen(found + count++, p, GIT_OID_HEXSZ))
			return kl_error(KL_EIO, "git rev-list answered '%.60s'", p);
	}
	*n = count;
	*out = kl_steal(&found);
	return 0;
}

/* git prunes by path as it walks, with its commit-graph and changed-path filters. */
int kl_repo_touching(git_oid **out, size_t *n, struct kl_repo *r, const git_oid *from,
		     const char *const *paths, size_t npaths, size_t max)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec args = KL_STRVEC_INIT;

	kl_strvec_pushv(&args, KL_ARGS("rev-list", "--first-parent"));
	kl_strvec_pushf(&args, "--max-count=%zu", max);
	kl_strvec_push(&args, git_oid_tostr_s(from));
	kl_strvec_push(&args, "--");
	for (size_t i = 0; i < npaths; i++)
		if (*paths[i])
			kl_strvec_push(&args, paths[i]);
	return list_commits(out, n, r, &args);
}

int kl_repo_between(git_oid **out, size_t *n, struct kl_repo *r, const git_oid *from,
		    const git_oid *to, size_t max)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec args = KL_STRVEC_INIT;
	char x[KL_OID_HEX], y[KL_OID_HEX];

	kl_oid_hex(x, from);
	kl_oid_hex(y, to);
	kl_strvec_pushv(&args, KL_ARGS("rev-list", "--topo-order", "--reverse"));
	kl_strvec_pushf(&args, "--max-count=%zu", max);
	kl_strvec_push(&args, y);
	kl_strvec_pushf(&args, "^%s", x);
	kl_strvec_push(&args, "--");
	return list_commits(out, n, r, &args);
}

static bool is_commit(struct kl_repo *r, const git_oid *oid)
{
	git_object_t type;
	size_t size;

	return git_odb_read_header(&size, &type, r->odb, oid) == 0 && type == GIT_OBJECT_COMMIT;
}

/* asked of git: libgit2 cannot walk a shallow clone */
int kl_repo_is_ancestor(bool *out, struct kl_repo *r, const git_oid *a, const git_oid *b)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	char x[KL_OID_HEX], y[KL_OID_HEX];
	struct kl_git_call c = { .args = KL_ARGS("merge-base", "--is-ancestor", x, y),
				 .err = &text };
	int status, err;

	*out = git_oid_equal(a, b);
	if (*out || !is_commit(r, a) || !is_commit(r, b))
		return 0;
	kl_oid_hex(x, a);
	kl_oid_hex(y, b);
	if ((err = kl_git_run(&status, r, &c)) < 0)
		return err;
	if (status > 1)
		return kl_error(KL_EIO, "git merge-base: %s", kl_git_complaint(&text));
	*out = !status;
	return 0;
}

int kl_repo_merge_base(git_oid *out, struct kl_repo *r, const git_oid *a, const git_oid *b)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT, said = KL_BUF_INIT;
	char x[KL_OID_HEX], y[KL_OID_HEX];
	struct kl_git_call c = { .args = KL_ARGS("merge-base", x, y), .out = &said, .err = &text };
	int status, err;

	kl_oid_hex(x, a);
	kl_oid_hex(y, b);
	if ((err = kl_git_run(&status, r, &c)) < 0)
		return err;
	if (status == 1)
		return kl_error(KL_ENOTFOUND, "%.12s and %.12s have no common ancestor", x, y);
	if (status)
		return kl_error(KL_EIO, "git merge-base: %s", kl_git_complaint(&text));
	kl_buf_rtrim(&said);
	return kl_oid_parse(out, said.ptr);
}
