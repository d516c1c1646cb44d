/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/changed_kernels.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/map.h"

void kl_changed_release(struct kl_changed *changed)
{
	for (size_t i = 0; i < changed->n; i++) {
		free(changed->one[i].place);
		free(changed->one[i].workload);
		free(changed->one[i].why);
		kl_surface_free(changed->one[i].now);
		kl_surface_free(changed->one[i].before);
	}
	free(changed->one);
	*changed = (struct kl_changed){ 0 };
}

struct looking {
	struct kl_repo *repo;
	const git_oid *from, *to; /* NULL for the empty tree */
	struct kl_strvec paths;   /* changed paths */
	struct kl_map seen;       /* directories in which contracts were looked for */
	struct kl_strvec places;  /* places of contracts in `from` or `to` that may have changed */
};

static int has_contract(bool *out, struct looking *looking, const git_oid *tree, const char *place)
{
	KL_AUTO(kl_freep) char *path = kl_contract_place_path(place);
	git_oid oid;
	int err = tree ? kl_repo_tree_entry(&oid, NULL, looking->repo, tree, path) : KL_ENOTFOUND;

	*out = !err;
	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		return 0;
	}
	return err;
}

/* Look for contracts in the directory of a changed path and in all directories above it. */
static int look_around(struct looking *looking, const char *path)
{
	KL_AUTO(kl_freep) char *dir = kl_strdup(path);
	bool now, before = false;

	for (size_t n = strlen(dir); n;) {
		int err;

		while (n && dir[--n] != '/')
			;
		dir[n] = '\0';
		if (kl_map_put(&looking->seen, dir, looking))
			return 0; /* `dir` and all directories above it were searched before */
		if ((err = has_contract(&now, looking, looking->to, dir)) < 0 ||
		    (!now && (err = has_contract(&before, looking, looking->from, dir)) < 0))
			return err;
		if (now || before)
			kl_strvec_push(&looking->places, dir);
	}
	return 0;
}

/*
 * Return true if the contract names a changed path, as a source, a file of its oracle or an
 * adapter.
 */
static bool names_changed(const struct looking *looking, const struct kl_surface *bare)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec paths = KL_STRVEC_INIT;

	kl_surface_paths(&paths, bare);
	for (size_t i = 0; i < paths.n; i++)
		if (kl_strvec_has(&looking->paths, paths.v[i]))
			return true;
	return false;
}

/*
 * Add a contract if it changed or names a changed path, since with `paths: repository` its sources
 * can be anywhere in the repository.
 */
static int look_at(struct looking *looking, const git_oid *tree, const char *place)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *bare = NULL;
	KL_AUTO(kl_freep) char *path = kl_contract_place_path(place);
	int err;

	if (kl_strvec_has(&looking->places, place))
		return 0;
	if (kl_strvec_has(&looking->paths, path)) {
		kl_strvec_push(&looking->places, place);
		return 0;
	}
	err = kl_surface_bare(&bare, looking->repo, tree, place);
	if (err == KL_EINTR || err == KL_EIO)
		return err;
	kl_error_clear(); /* a contract that cannot be read is reported when it changes */
	if (!err && names_changed(looking, bare))
		kl_strvec_push(&looking->places, place);
	return 0;
}

/* Call look_at() for all contracts of a tree. */
static int look_everywhere(struct looking *looking, const git_oid *tree)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec places = KL_STRVEC_INIT;
	int err = tree ? kl_surface_places(&places, looking->repo, tree) : 0;

	for (size_t i = 0; !err && i < places.n; i++)
		err = look_at(looking, tree, places.v[i]);
	return err;
}

/*
 * Read the surface of the contract at `place` in a tree. `*out` is NULL if there is no contract, or
 * if the surface cannot be read; in the latter case `*why` is set to the reason. Only KL_EINTR and
 * failures of the repository are returned as errors.
 */
static int read_side(struct kl_surface **out, char **why, struct looking *looking,
		     const git_oid *tree, const char *place)
{
	bool there;
	int err = has_contract(&there, looking, tree, place);

	*out = NULL;
	if (err < 0 || !there)
		return err;
	err = kl_surface_from_tree(out, looking->repo, tree, place);
	if (err == KL_EINTR || err == KL_EIO)
		return err;
	if (err < 0)
		*why = kl_strdup(kl_error_last());
	kl_error_clear();
	return 0;
}

static bool same_text(const char *left, const char *right)
{
	return !strcmp(left, right);
}

static int compare_place(struct kl_changed *out, struct looking *looking, const char *place)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *now = NULL, *before = NULL;
	KL_AUTO(kl_freep) char *why = NULL, *old_why = NULL;
	const struct kl_surface *known;
	int err;

	if ((err = read_side(&now, &why, looking, looking->to, place)) < 0 ||
	    (err = read_side(&before, &old_why, looking, looking->from, place)) < 0)
		return err;
	if (now && before && same_text(now->contract_digest, before->contract_digest) &&
	    same_text(now->digest, before->digest))
		return 0;
	/* the kernel had the same defect before, so this change did not cause it */
	if (why && old_why && same_text(why, old_why))
		return 0;
	known = now ? now : before;
	KL_GROW(out->one, out->n + 1, out->alloc);
	out->one[out->n++] = (struct kl_changed_one){
		.place = kl_strdup(place),
		.workload = kl_strdup(known  ? known->contract->workload :
				      *place ? place :
					       "."),
		.why = kl_steal(&why),
	};
	if (now && before && same_text(now->contract_digest, before->contract_digest))
		out->one[out->n - 1].before = kl_steal(&before);
	out->one[out->n - 1].now = kl_steal(&now);
	return 0;
}

static void looking_release(struct looking *looking)
{
	kl_map_release(&looking->seen);
	kl_strvec_release(&looking->paths);
	kl_strvec_release(&looking->places);
}

int kl_changed(struct kl_changed *out, struct kl_repo *repo, const git_oid *from, const git_oid *to)
{
	KL_AUTO(looking_release) struct looking looking = { .repo = repo, .from = from, .to = to };
	KL_AUTO(kl_changed_release) struct kl_changed found = { 0 };
	int err = kl_repo_diff_paths(&looking.paths, repo, from, to);

	for (size_t i = 0; i < looking.paths.n && !err; i++)
		err = look_around(&looking, looking.paths.v[i]);
	if (!err && looking.paths.n)
		err = look_everywhere(&looking, to);
	if (!err && looking.paths.n)
		err = look_everywhere(&looking, from);
	kl_strvec_sort(&looking.places);
	for (size_t i = 0; i < looking.places.n && !err; i++)
		err = compare_place(&found, &looking, looking.places.v[i]);
	if (err < 0)
		return err;
	*out = found;
	found = (struct kl_changed){ 0 };
	return 0;
}
