/* SPDX-License-Identifier: Apache-2.0 */
#include "repo/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/prefix.h"

int kl_txn_now(git_oid *out, struct kl_repo *repo, const char *ref)
{
	int err = git_reference_name_to_id(out, repo->git, ref);

	if (!err)
		return 0;
	memset(out, 0, sizeof(*out));
	return err == GIT_ENOTFOUND ? 0 : kl_error_git(err, "cannot read ref '%s'", ref);
}

int kl_refs_get(git_oid *out, struct kl_repo *repo, const char *ref)
{
	git_oid now;
	int err = kl_txn_now(&now, repo, ref);

	if (err < 0)
		return err;
	if (git_oid_is_zero(&now))
		return kl_error(KL_ENOTFOUND, "no ref '%s'", ref);
	git_oid_cpy(out, &now);
	return 0;
}

void kl_ref_list_release(struct kl_ref_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->ref[i].name);
	free(list->ref);
	*list = (struct kl_ref_list){ 0 };
}

int kl_refs_is_checked_out(bool *out, struct kl_repo *repo, const char *ref)
{
	KL_AUTO(git_reference_freep) git_reference *found = NULL;
	int err = git_reference_lookup(&found, repo->git, ref);

	*out = false;
	if (err == GIT_ENOTFOUND)
		return 0;
	if (!err && git_reference_is_branch(found))
		err = git_branch_is_checked_out(found);
	if (err < 0)
		return kl_error_git(err, "cannot determine if '%s' is checked out", ref);
	*out = err > 0;
	return 0;
}

static int by_name(const void *left, const void *right)
{
	const struct kl_ref *x = left, *y = right;

	return strcmp(x->name, y->name);
}

static void push_ref(struct kl_ref_list *list, struct kl_repo *repo, git_reference *ref)
{
	git_oid oid;

	/* skip a dangling symbolic ref, which has no object */
	if (git_reference_name_to_id(&oid, repo->git, git_reference_name(ref)) < 0)
		return;
	KL_GROW(list->ref, list->n + 1, list->alloc);
	list->ref[list->n++] = (struct kl_ref){ kl_strdup(git_reference_name(ref)), oid };
}

int kl_refs_list(struct kl_ref_list *out, struct kl_repo *repo, const char *prefix)
{
	KL_AUTO(git_reference_iterator_freep) git_reference_iterator *it = NULL;
	KL_AUTO(kl_ref_list_release) struct kl_ref_list found = { 0 };
	bool special = prefix[strcspn(prefix, "*?[\\")];
	KL_AUTO(kl_freep) char *glob = kl_asprintf("%s*", special ? "refs/" : prefix);
	int err = git_reference_iterator_glob_new(&it, repo->git, glob);

	while (!err) {
		git_reference *ref = NULL;

		err = git_reference_next(&ref, it);
		if (!err && kl_prefix_has(git_reference_name(ref), prefix))
			push_ref(&found, repo, ref);
		git_reference_free(ref);
	}
	if (err != GIT_ITEROVER)
		return kl_error_git(err, "cannot list refs '%s'", prefix);
	if (found.n)
		qsort(found.ref, found.n, sizeof(*found.ref), by_name);
	*out = found;
	found = (struct kl_ref_list){ 0 };
	return 0;
}

/* Report that `ref` cannot be created because of a directory/file conflict with the ref `taken`. */
static int in_the_way(const char *ref, const char *taken)
{
	const char *branch = strncmp(taken, "refs/heads/", 11) ? NULL : taken + 11;
	int err;

	if (!branch) {
		err = kl_error(KL_EINVALID, "cannot create '%s': the ref '%s' is in the way", ref,
			       taken);
		return kl_error_hint(
			err, "if nothing needs that ref, delete it: git update-ref -d %s", taken);
	}
	err = kl_error(KL_EINVALID, "cannot create '%s': the branch '%s' is in the way", ref,
		       branch);
	return kl_error_hint(err, "git branch -m %s <another name>", branch);
}

int kl_refs_can_create(struct kl_repo *repo, const char *ref)
{
	KL_AUTO(kl_ref_list_release) struct kl_ref_list below = { 0 };
	KL_AUTO(kl_freep) char *part = kl_strdup(ref);
	KL_AUTO(kl_freep) char *dir = kl_asprintf("%s/", ref);
	git_oid now;
	int valid = 0, err;

	if (git_reference_name_is_valid(&valid, ref) < 0 || !valid || strncmp(ref, "refs/", 5))
		return kl_error(KL_EINVALID, "'%.200s' is not a valid ref name", ref);
	if ((err = kl_txn_now(&now, repo, ref)) < 0)
		return err;
	if (!git_oid_is_zero(&now))
		return kl_error(KL_EEXISTS, "'%s' already exists", ref);
	for (char *at = strrchr(part, '/'); at > part + 4; at = strrchr(part, '/')) {
		*at = '\0';
		if ((err = kl_txn_now(&now, repo, part)) < 0)
			return err;
		if (!git_oid_is_zero(&now))
			return in_the_way(ref, part);
	}
	if ((err = kl_refs_list(&below, repo, dir)) < 0)
		return err;
	return below.n ? in_the_way(ref, below.ref[0].name) : 0;
}
