/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/select.h"

#include <string.h>

#include "base/error.h"
#include "base/fs.h"

void kl_selection_release(struct kl_selection *selection)
{
	kl_surface_free(selection->candidate);
	kl_surface_free(selection->parent);
	*selection = (struct kl_selection){ 0 };
}

/* Return true if `prefix` ("a/b/") is the directory `dir` or a directory below it. */
static bool is_below(const char *dir, const char *prefix)
{
	size_t n = strlen(dir);

	return !n || (!strncmp(dir, prefix, n) && prefix[n] == '/');
}

static int refuse_several(const struct kl_strvec *workloads)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	for (size_t i = 0; i < workloads->n; i++)
		kl_buf_addf(&buf, " %s", workloads->v[i]);
	kl_error(KL_EUSAGE, "there are several contracts here; choose a contract with --workload");
	return kl_error_hint(KL_EUSAGE, "workloads:%s", buf.ptr);
}

static int refuse_none(const char *workload)
{
	if (workload)
		return kl_error(
			KL_ECANNOT,
			"no contract has the workload '%s' in this commit, index or worktree",
			workload);
	kl_error(KL_ECANNOT, "no contract (%s) in this commit, index or worktree",
		 KL_CONTRACT_FILE);
	return kl_error_hint(KL_ECANNOT,
			     "to write a contract, run 'git klineage init <kernel file>'");
}

/*
 * As refuse_none(), but the hint names the first contract that does not parse, since the user may
 * mean that contract.
 */
static int refuse_workload(struct kl_repo *repo, const git_oid *tree,
			   const struct kl_strvec *places, const struct kl_strvec *names,
			   const char *workload)
{
	KL_AUTO(kl_freep) char *why = NULL;

	for (size_t i = 0; !why && i < places->n; i++) {
		KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;

		if (!*names->v[i] &&
		    kl_surface_bare(&surface, repo, tree, places->v[i]) == KL_EINVALID)
			why = kl_strdup(kl_error_last());
		kl_error_clear();
	}
	refuse_none(workload);
	return why ? kl_error_hint(KL_ECANNOT, "a contract has an error: %s", why) : KL_ECANNOT;
}

static int choose_workload(char **out, struct kl_repo *repo, const git_oid *tree,
			   const struct kl_strvec *places, const struct kl_strvec *names,
			   const char *workload)
{
	size_t best = 0, found = 0;

	for (size_t i = 0; i < places->n; i++)
		if (!strcmp(names->v[i], workload)) {
			best = i;
			found++;
		}
	if (found > 1)
		return kl_error(KL_EINVALID,
				"the workload '%s' has %zu contracts in this commit, index or "
				"worktree; give each contract a workload of its own",
				workload, found);
	if (!found)
		return refuse_workload(repo, tree, places, names, workload);
	*out = kl_strdup(places->v[best]);
	return 0;
}

/*
 * Choose the contract in the innermost directory that contains `prefix`, the current directory. If
 * there is none, choose the only contract.
 */
static int choose_near(char **out, const struct kl_strvec *places, const struct kl_strvec *names,
		       const char *prefix)
{
	size_t best = 0, longest = 0, found = 0;

	for (size_t i = 0; i < places->n; i++) {
		KL_AUTO(kl_freep) char *dir = kl_contract_place_dir(places->v[i]);
		size_t n = strlen(dir);

		if (!is_below(dir, prefix) || (found && n < longest))
			continue;
		found = found && n == longest ? found + 1 : 1;
		longest = n;
		best = i;
	}
	if (!found && !places->n)
		return refuse_none(NULL);
	if (found > 1 || (!found && places->n > 1))
		return refuse_several(names);
	*out = kl_strdup(places->v[best]);
	return 0;
}

int kl_select_place(char **out, struct kl_repo *repo, const git_oid *tree, const char *workload)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec places = KL_STRVEC_INIT, names = KL_STRVEC_INIT;
	int err = kl_surface_find(&places, &names, repo, tree);

	if (err < 0)
		return err;
	return workload ? choose_workload(out, repo, tree, &places, &names, workload) :
			  choose_near(out, &places, &names, kl_repo_prefix(repo));
}

/* Set the parent from `tree`, if the contract is the same there and the sources differ. */
static int find_parent(struct kl_selection *selection, struct kl_repo *repo, const git_oid *tree)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
	int err = kl_surface_from_tree(&surface, repo, tree, selection->candidate->place);

	if (err == KL_EINTR || err == KL_EIO)
		return err;
	kl_error_clear(); /* a surface that is absent or cannot be read is not a parent */
	if (!err && !strcmp(surface->contract_digest, selection->candidate->contract_digest) &&
	    strcmp(surface->digest, selection->candidate->digest))
		selection->parent = kl_steal(&surface);
	return 0;
}

static int parent_of(struct kl_selection *selection, struct kl_repo *repo)
{
	KL_AUTO(kl_freep) git_oid *parents = NULL;
	git_oid tree;
	size_t n = 0;
	int err;

	if (selection->kind == KL_STATE_REV) {
		err = kl_repo_parents(&parents, &n, repo, &selection->commit);
		if (err < 0 || !n)
			return err;
		err = kl_repo_tree_of(&tree, repo, &parents[0]);
		if (err == KL_ENOTFOUND) { /* a shallow clone lacks the parent */
			kl_error_clear();
			return 0;
		}
		return err < 0 ? err : find_parent(selection, repo, &tree);
	}
	err = kl_repo_resolve(&selection->commit, repo, "HEAD");
	if (!err)
		err = kl_repo_tree_of(&tree, repo, &selection->commit);
	selection->commit = kl_oid_none;
	if (err == KL_ENOTFOUND) { /* HEAD is unborn, so there is no parent */
		kl_error_clear();
		return 0;
	}
	return err < 0 ? err : find_parent(selection, repo, &tree);
}

/* Get the tree of the index or, if the index cannot be written as a tree, the tree of HEAD. */
static int tracked_tree(git_oid *out, struct kl_repo *repo)
{
	git_oid head;
	int err = kl_repo_staged_tree(out, repo);

	if (!err || err == KL_EINTR)
		return err;
	err = kl_repo_resolve(&head, repo, "HEAD");
	return err < 0 ? err : kl_repo_tree_of(out, repo, &head);
}

/* Append the places of the contracts in the directory `at` ("" or "a/b/") of the worktree. */
static int list_places(struct kl_strvec *out, struct kl_repo *repo, const char *at)
{
	KL_AUTO(kl_freep) char *dir = kl_fs_join(kl_repo_worktree(repo), at);
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	int err = kl_fs_list(&names, dir);

	for (size_t i = 0; !err && i < names.n; i++) {
		KL_AUTO(kl_freep) char *path = kl_asprintf("%s%s", at, names.v[i]);
		char *place = kl_contract_place_of(path);

		if (place)
			kl_strvec_take(out, place);
	}
	return err;
}

/* Cut the last directory off a path such as "a/b/". Return false if it was "". */
static bool go_up(char *at)
{
	size_t n = strlen(at);

	if (!n)
		return false;
	do
		at[--n] = '\0';
	while (n && at[n - 1] != '/');
	return true;
}

int kl_select_here(struct kl_strvec *places, struct kl_repo *repo)
{
	KL_AUTO(kl_freep) char *at = kl_strdup(kl_repo_prefix(repo));
	int err;

	do
		err = list_places(places, repo, at);
	while (!err && go_up(at));
	return err;
}

static int refuse_names(const struct kl_strvec *places)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	for (size_t i = 0; i < places->n; i++) {
		KL_AUTO(kl_freep) char *path = kl_contract_place_path(places->v[i]);

		kl_buf_addf(&buf, " %s", path);
	}
	kl_error(KL_EUSAGE, "there are several contracts here; choose a contract with --workload");
	return kl_error_hint(KL_EUSAGE, "contracts:%s", buf.ptr);
}

/*
 * Find the contract's place in the worktree. Without `workload`, search the current directory and
 * those above it first, so that a contract that is not tracked is found as well.
 */
static int worktree_place(char **out, struct kl_repo *repo, const char *workload)
{
	KL_AUTO(kl_freep) char *at = kl_strdup(kl_repo_prefix(repo));
	git_oid tree;
	int err;

	while (!workload) {
		KL_AUTO(kl_strvec_release) struct kl_strvec places = KL_STRVEC_INIT;

		if ((err = list_places(&places, repo, at)) < 0)
			return err;
		if (places.n > 1)
			return refuse_names(&places);
		if (places.n) {
			*out = kl_strdup(places.v[0]);
			return 0;
		}
		if (!go_up(at))
			break;
	}
	err = tracked_tree(&tree, repo);
	if (err == KL_EINTR)
		return err;
	if (err < 0) {
		kl_error_clear();
		return refuse_none(workload);
	}
	return kl_select_place(out, repo, &tree, workload);
}

static int from_worktree(struct kl_selection *selection, struct kl_repo *repo, const char *workload)
{
	KL_AUTO(kl_freep) char *place = NULL;
	int err;

	if (!kl_repo_worktree(repo))
		return kl_error(KL_EINVALID, "cannot judge the worktree: this repository is bare");
	err = worktree_place(&place, repo, workload);
	if (err < 0)
		return err;
	return kl_surface_from_dir(&selection->candidate, kl_repo_worktree(repo), place);
}

int kl_select(struct kl_selection *out, struct kl_repo *repo, enum kl_state_kind kind,
	      const char *rev, const char *workload)
{
	KL_AUTO(kl_selection_release) struct kl_selection selection = { .kind = kind };
	KL_AUTO(kl_freep) char *place = NULL;
	int err;

	if (kind == KL_STATE_WORKTREE) {
		err = from_worktree(&selection, repo, workload);
	} else {
		err = kind == KL_STATE_STAGED ?
			      kl_repo_staged_tree(&selection.tree, repo) :
			      kl_repo_resolve(&selection.commit, repo, rev ? rev : "HEAD");
		if (!err && kind == KL_STATE_REV)
			err = kl_repo_tree_of(&selection.tree, repo, &selection.commit);
		if (!err)
			err = kl_select_place(&place, repo, &selection.tree, workload);
		if (!err)
			err = kl_surface_from_tree(&selection.candidate, repo, &selection.tree,
						   place);
	}
	if (!err)
		err = parent_of(&selection, repo);
	if (err < 0)
		return err;
	*out = selection;
	selection = (struct kl_selection){ 0 };
	return 0;
}
