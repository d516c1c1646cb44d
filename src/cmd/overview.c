/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/overview.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "contract/changed_kernels.h"
#include "contract/select.h"
#include "repo/refs.h"
#include "repo/remote.h"
#include "sync/sync.h"

const char *kl_overview_where_name(enum kl_overview_where where)
{
	static const char *const names[] = { "HEAD", "index", "worktree" };

	return names[where];
}

void kl_overview_release(struct kl_overview *overview)
{
	for (size_t i = 0; i < overview->n; i++) {
		struct kl_overview_kernel *kernel = &overview->kernel[i];

		free(kernel->place);
		free(kernel->workload);
		for (int k = 0; k < KL_OVERVIEW_PLACES; k++) {
			free(kernel->at[k].why);
			kl_surface_free(kernel->at[k].surface);
		}
	}
	for (size_t i = 0; i < overview->nremote; i++)
		free(overview->remote[i].name);
	free(overview->kernel);
	free(overview->remote);
	kl_verdict_lookup_release(&overview->verdicts);
}

/* --- kernels ----------------------------------------------------------------------------- */

static struct kl_overview_kernel *find_kernel(struct kl_overview *overview, const char *place)
{
	struct kl_overview_kernel *kernel;

	for (size_t i = 0; i < overview->n; i++)
		if (!strcmp(overview->kernel[i].place, place))
			return &overview->kernel[i];
	KL_GROW(overview->kernel, overview->n + 1, overview->alloc);
	kernel = &overview->kernel[overview->n++];
	*kernel = (struct kl_overview_kernel){ .place = kl_strdup(place) };
	for (int k = 0; k < KL_OVERVIEW_PLACES; k++)
		kernel->at[k].entry = -1;
	return kernel;
}

static void name_kernel(struct kl_overview_kernel *kernel, const char *workload)
{
	/* Replace a name that is only the directory, which stands for a name that was not read. */
	if (!kernel->workload || !strcmp(kernel->workload, kernel->place)) {
		free(kernel->workload);
		kernel->workload = kl_strdup(workload);
	}
}

static int add_tree(struct kl_overview *overview, struct kl_repo *repo, const git_oid *tree,
		    enum kl_overview_where where)
{
	KL_AUTO(kl_changed_release) struct kl_changed all = { 0 };
	int err = kl_changed(&all, repo, NULL, tree);

	for (size_t i = 0; !err && i < all.n; i++) {
		struct kl_overview_kernel *kernel = find_kernel(overview, all.one[i].place);
		struct kl_overview_state *state = &kernel->at[where];

		name_kernel(kernel, all.one[i].workload);
		state->there = true;
		state->why = kl_steal(&all.one[i].why);
		state->surface = kl_steal(&all.one[i].now);
	}
	return err;
}

static int add_worktree(struct kl_overview_kernel *kernel, struct kl_repo *repo)
{
	struct kl_overview_state *state = &kernel->at[KL_IN_WORKTREE];
	int err = kl_surface_from_dir(&state->surface, kl_repo_worktree(repo), kernel->place);

	if (err == KL_EINTR)
		return err;
	state->there = err != KL_ENOTFOUND;
	name_kernel(kernel, err ? kernel->place : state->surface->contract->workload);
	if (err && state->there)
		state->why = kl_strdup(kl_error_last());
	kl_error_clear();
	return 0;
}

static int load_head(struct kl_overview *overview, git_oid *tree, struct kl_repo *repo)
{
	int err = kl_refs_get(&overview->head, repo, "HEAD");

	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		overview->head = *tree = kl_oid_none;
		return 0;
	}
	if (!err)
		err = kl_repo_tree_of(tree, repo, &overview->head);
	return err < 0 ? err : add_tree(overview, repo, tree, KL_IN_HEAD);
}

/* Copy what is known of HEAD, whose tree the index has. */
static void copy_head(struct kl_overview *overview)
{
	for (size_t i = 0; i < overview->n; i++) {
		struct kl_overview_state *at = overview->kernel[i].at;

		at[KL_IN_INDEX].there = at[KL_IN_HEAD].there;
		at[KL_IN_INDEX].repeated = true;
	}
}

static int by_place(const void *a, const void *b)
{
	const struct kl_overview_kernel *left = a, *right = b;

	return strcmp(left->place, right->place);
}

/* Read the kernels of the worktree, also those of contracts that git does not track yet. */
static int add_worktrees(struct kl_overview *overview, struct kl_repo *repo)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec here = KL_STRVEC_INIT;
	int err = kl_select_here(&here, repo);

	for (size_t i = 0; !err && i < here.n; i++)
		find_kernel(overview, here.v[i]);
	for (size_t i = 0; !err && i < overview->n; i++)
		err = add_worktree(&overview->kernel[i], repo);
	return err;
}

static int load_kernels(struct kl_overview *overview, struct kl_repo *repo)
{
	git_oid head, staged;
	int err = load_head(overview, &head, repo);

	if (!err && kl_repo_worktree(repo)) {
		/* An index with conflicts has no tree, so leave it out. */
		err = kl_repo_staged_tree(&staged, repo);
		if (err == KL_EINVALID) {
			kl_error_clear();
			err = 0;
		} else if (!err && git_oid_equal(&staged, &head)) {
			copy_head(overview);
		} else if (!err) {
			err = add_tree(overview, repo, &staged, KL_IN_INDEX);
		}
		if (!err)
			err = add_worktrees(overview, repo);
	}
	if (!err && overview->n)
		qsort(overview->kernel, overview->n, sizeof(*overview->kernel), by_place);
	return err;
}

/* --- verdicts ------------------------------------------------------------------------------ */

static bool is_same(const struct kl_overview_state *left, const struct kl_overview_state *right)
{
	return left->surface && right->surface &&
	       !strcmp(left->surface->digest, right->surface->digest) &&
	       !strcmp(left->surface->contract_digest, right->surface->contract_digest);
}

static void ask_verdict(struct kl_overview *overview, struct kl_overview_kernel *kernel)
{
	const struct kl_overview_state *before = &kernel->at[KL_IN_HEAD];

	for (int k = 0; k < KL_OVERVIEW_PLACES; k++) {
		struct kl_overview_state *state = &kernel->at[k];

		if (k && !state->repeated)
			state->repeated = is_same(state, before);
		if (!state->surface || state->repeated)
			continue;
		state->entry = (int64_t)overview->verdicts.n;
		kl_verdict_lookup_state(&overview->verdicts, state->surface,
					k == KL_IN_HEAD ? &overview->head : NULL);
		before = state;
	}
}

static int count_unsent(struct kl_overview *overview, struct kl_repo *repo)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	int err = 0;

	kl_remote_names(&names, repo);
	for (size_t i = 0; !err && i < names.n; i++) {
		struct kl_overview_remote *remote;

		KL_GROW(overview->remote, overview->nremote + 1, overview->remote_alloc);
		remote = &overview->remote[overview->nremote++];
		*remote = (struct kl_overview_remote){ .name = kl_strdup(names.v[i]) };
		err = kl_sync_unsent(&remote->unsent, repo, remote->name);
	}
	return err;
}

int kl_overview_load(struct kl_overview *out, struct kl_repo *repo)
{
	int err = load_kernels(out, repo);

	for (size_t i = 0; !err && i < out->n; i++)
		ask_verdict(out, &out->kernel[i]);
	if (!err)
		err = kl_verdict_lookup_run(&out->verdicts, repo);
	return err < 0 ? err : count_unsent(out, repo);
}
