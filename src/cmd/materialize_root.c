/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/materialize_root.h"

#include <string.h>

#include "apply/card_commit.h"
#include "apply/materialize.h"
#include "apply/oracle_kernel.h"
#include "base/error.h"
#include "contract/checkout.h"
#include "contract/select.h"
#include "repo/refs.h"

void kl_materialize_root_release(struct kl_materialize_root *root)
{
	kl_surface_free(root->state);
	free(root->name);
}

int kl_materialize_root_hint(int err)
{
	return kl_error_hint(err, "use '--root baseline' to start from the contract's oracle");
}

static int take_state(struct kl_materialize_root *root, struct kl_repo *repo,
		      enum kl_state_kind kind, const char *rev, const char *workload)
{
	KL_AUTO(kl_selection_release) struct kl_selection sel = { 0 };
	int err = kl_select(&sel, repo, kind, rev, workload);

	if (!err)
		err = kl_checkout_check(repo, sel.candidate, sel.kind, &sel.tree);
	if (err < 0)
		return err;
	root->state = kl_steal(&sel.candidate);
	root->commit = sel.commit;
	return 0;
}

static int take_commit(struct kl_materialize_root *root, struct kl_repo *repo, const char *workload)
{
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, &root->commit);
	return take_state(root, repo, KL_STATE_REV, hex, workload);
}

/* --- an existing run ------------------------------------------------------------------------ */

/* Find the workload to use; HEAD need not have a kernel of this workload. */
static int find_workload(char **out, const struct kl_materialize_root *root, struct kl_repo *repo)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
	KL_AUTO(kl_freep) char *dir = NULL;
	git_oid head, tree;
	int err;

	if (root->workload) {
		*out = kl_strdup(root->workload);
		return 0;
	}
	if ((err = kl_repo_resolve(&head, repo, "HEAD")) < 0 ||
	    (err = kl_repo_tree_of(&tree, repo, &head)) < 0 ||
	    (err = kl_select_place(&dir, repo, &tree, NULL)) < 0 ||
	    (err = kl_surface_bare(&surface, repo, &tree, dir)) < 0)
		return err;
	*out = kl_strdup(surface->contract->workload);
	return 0;
}

/* Find the run named `called`, or the only run of the workload. */
static int find_run(struct kl_materialize_root *root, struct kl_repo *repo, const char *workload,
		    const char *kind)
{
	KL_AUTO(kl_ref_list_release) struct kl_ref_list refs = { 0 };
	KL_AUTO(kl_freep) char *prefix = kl_asprintf("refs/%s/%s/", kind, workload);
	const char *called = root->called;
	int err = kl_refs_list(&refs, repo, prefix);

	if (err)
		return err;
	for (size_t i = 0; i < refs.n; i++) {
		const char *name = refs.ref[i].name + strlen(prefix);

		if (called && strcmp(called, name))
			continue;
		if (root->name)
			return kl_error(KL_EUSAGE,
					"'%s' was materialized under several names; choose a name "
					"with --name",
					workload);
		root->name = kl_strdup(name);
		root->commit = refs.ref[i].oid;
	}
	return root->name ?
		       0 :
		       kl_error(KL_ENOTFOUND,
				"'%s' has no best state yet, because nothing was materialized%s%s",
				workload, called ? " under the name " : "", called ? called : "");
}

static int find_best(struct kl_materialize_root *root, struct kl_repo *repo)
{
	KL_AUTO(kl_freep) char *workload = NULL;
	int err;

	if ((err = find_workload(&workload, root, repo)) < 0 ||
	    (err = find_run(root, repo, workload, "heads/klineage/materialize")) < 0)
		return err;
	root->go_on = true;
	return take_commit(root, repo, workload);
}

static int find_begun(struct kl_materialize_root *root, struct kl_repo *repo)
{
	KL_AUTO(kl_freep) char *workload = NULL;
	int err;

	if ((err = find_workload(&workload, root, repo)) < 0 ||
	    (err = find_run(root, repo, workload, "klineage/nodes")) < 0 ||
	    (err = kl_materialize_begun(&root->commit, repo, workload, root->name)) < 0)
		return err;
	return take_commit(root, repo, workload);
}

/* --- a state without a commit ----------------------------------------------------------------- */

static bool has_surface(struct kl_repo *repo, const git_oid *tree, const struct kl_surface *surface)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *committed = NULL;

	if (kl_surface_from_tree(&committed, repo, tree, surface->place) < 0) {
		kl_error_clear();
		return false;
	}
	return !strcmp(committed->digest, surface->digest) &&
	       !strcmp(committed->contract_digest, surface->contract_digest);
}

static int find_worktree(struct kl_materialize_root *root, struct kl_repo *repo)
{
	git_oid tree;
	int err;

	if ((err = take_state(root, repo, KL_STATE_WORKTREE, NULL, root->workload)) < 0 ||
	    (err = kl_repo_resolve(&root->commit, repo, "HEAD")) < 0 ||
	    (err = kl_repo_tree_of(&tree, repo, &root->commit)) < 0)
		return err;
	if (root->dry || has_surface(repo, &tree, root->state))
		return 0;
	return kl_card_commit_root(&root->commit, repo, &root->commit, root->state, false);
}

/*
 * Make a kernel of the oracle and commit it, even in a dry run. If HEAD were used in place of this
 * commit, the steps made on the kernel in HEAD would count as made on the oracle.
 */
static int find_baseline(struct kl_materialize_root *root, struct kl_repo *repo)
{
	KL_AUTO(kl_freep) char *dir = NULL;
	git_oid head, tree;
	int err;

	if ((err = kl_repo_resolve(&head, repo, "HEAD")) < 0 ||
	    (err = kl_repo_tree_of(&tree, repo, &head)) < 0 ||
	    (err = kl_select_place(&dir, repo, &tree, root->workload)) < 0 ||
	    (err = kl_reference_make(&root->state, repo, &tree, dir)) < 0)
		return err;
	return kl_card_commit_root(&root->commit, repo, &head, root->state, true);
}

int kl_materialize_root_find(struct kl_materialize_root *root, struct kl_repo *repo)
{
	const char *word = root->root ? root->root : "HEAD";
	int err;

	if (root->again)
		return find_begun(root, repo);
	if (!strcmp(word, "best"))
		return find_best(root, repo);
	if (!strcmp(word, "worktree"))
		return find_worktree(root, repo);
	if (!strcmp(word, "baseline"))
		return find_baseline(root, repo);
	err = take_state(root, repo, KL_STATE_REV, word, root->workload);
	return err == KL_ENOTFOUND ? kl_materialize_root_hint(err) : err;
}
