/* SPDX-License-Identifier: Apache-2.0 */
/* check_walk - checks the chains of walks and rejected steps, and the changes of each commit */
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/prefix.h"
#include "fsck/parts.h"

#define MAX_STEPS 1000000
/*
 * maximum number of bytes that the inflated commits of a remote's lineage, or of its ref of
 * rejected steps, may have together
 */
#define MAX_FOREIGN_BYTES (64 << 20)

void kl_chain_release(struct kl_chain *chain)
{
	for (size_t i = 0; i < chain->n; i++) {
		kl_commit_release(&chain->c[i]);
		kl_step_release(&chain->step[i]);
	}
	free(chain->c);
	free(chain->step);
}

int kl_chain_read(struct kl_chain *out, struct kl_checker *checker, const git_oid *tip, size_t via,
		  bool past_end)
{
	git_oid at = *tip;
	size_t bytes = 0, size;

	for (;;) {
		struct kl_commit commit = { 0 };
		struct kl_step step = { 0 };
		bool is_step;
		int err = 0;

		if (checker->foreign &&
		    !(err = kl_repo_object_size(&size, checker->c->repo, &at)) &&
		    (bytes += size) > MAX_FOREIGN_BYTES)
			return kl_error(KL_EINVALID, "the commits are larger than %d MiB in total",
					MAX_FOREIGN_BYTES >> 20);
		if (err < 0 || (err = kl_repo_commit_read(&commit, checker->c->repo, &at)) < 0)
			return err;
		is_step = !kl_step_parse(&step, "commit", commit.message);
		if (!is_step)
			kl_error_clear();
		KL_GROW(out->c, out->n + 1, out->alloc);
		KL_GROW(out->step, out->n + 1, out->step_alloc);
		out->c[out->n] = commit;
		out->step[out->n++] = step;
		if (commit.nparent <= via || (!is_step && past_end))
			return 0;
		if (out->n == (checker->foreign ? KL_CHECK_FOREIGN_STEPS : MAX_STEPS))
			return kl_error(KL_EINVALID, "the ref has more than %zu steps", out->n);
		at = commit.parent[via];
	}
}

/* --- checking a walk ------------------------------------------------------------ */

/* Check that a step of a walk changes only files that are sources of the contract. */
static void check_change(struct kl_checker *checker, const char *ref, const struct kl_chain *chain,
			 size_t i, const struct kl_surface *surface)
{
	KL_AUTO(kl_buf_release) struct kl_buf diff = KL_BUF_INIT;
	const struct kl_strvec *sources = &surface->contract->sources;
	char short_id[KL_OID_HEX];

	kl_check_short(short_id, &chain->c[i].oid);
	if (kl_repo_diff(&diff, checker->c->repo, &chain->c[i + 1].tree, &chain->c[i].tree, NULL) <
	    0) {
		kl_check_report_error(checker, ref);
		return;
	}
	for (const char *change = diff.ptr; (change = strstr(change, "diff --git a/")); change++) {
		bool source = false;

		if (change > diff.ptr && change[-1] != '\n')
			continue;
		for (size_t k = 0; k < sources->n && !source; k++) {
			KL_AUTO(kl_freep) char *path = kl_fs_join(surface->dir, sources->v[k]);
			KL_AUTO(kl_freep) char *line = kl_asprintf("diff --git a/%s b/%s\n", path,
								   path);

			source = kl_prefix_has(change, line);
		}
		if (!source)
			kl_check_report(checker, KL_CHECK_ERROR, ref,
					"commit %s changes a file that is not a source: %.*s",
					short_id, (int)strcspn(change + 13, " \n"), change + 13);
	}
}

int kl_check_contract(struct kl_surface **out, char **place, struct kl_checker *checker,
		      const git_oid *tree, const char *workload)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec places = KL_STRVEC_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec workloads = KL_STRVEC_INIT;
	int err = kl_surface_find(&places, &workloads, checker->c->repo, tree);

	for (size_t i = 0; !err && i < places.n; i++)
		if (!strcmp(workloads.v[i], workload)) {
			*place = kl_strdup(places.v[i]);
			return kl_surface_from_tree(out, checker->c->repo, tree, *place);
		}
	return err < 0 ? err :
			 kl_error(KL_ENOTFOUND, "the tree has no contract of workload '%s'",
				  workload);
}

void kl_check_walk(struct kl_checker *checker, const char *ref, const git_oid *tip,
		   const char *workload)
{
	KL_AUTO(kl_chain_release) struct kl_chain chain = { 0 };
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
	KL_AUTO(kl_freep) char *place = NULL;
	size_t back = 0;

	checker->c->walks++;
	if (kl_chain_read(&chain, checker, tip, 0, true) < 0) {
		kl_check_report_error(checker, ref);
		return;
	}
	while (back < chain.n && chain.step[back].action && chain.step[back].kind == KL_STEP_BACK)
		back++;
	/* if the walk continues an earlier walk, its own steps begin at the newest step 1 */
	for (size_t i = 0; i < back; i++)
		if (chain.step[i].number == 1)
			back = i + 1;
	if (!back || back == chain.n) {
		kl_check_report(checker, KL_CHECK_ERROR, ref,
				"the walk has no backward steps on top of an expert commit");
		return;
	}
	if (kl_check_contract(&surface, &place, checker, &chain.c[0].tree, workload) < 0) {
		kl_check_report_error(checker, ref);
		return;
	}
	for (size_t i = 0; i < back; i++) {
		if (chain.step[i].number != (int)(back - i))
			kl_check_report(checker, KL_CHECK_ERROR, ref,
					"found step %d where step %zu is expected",
					chain.step[i].number, back - i);
		if (chain.c[i].nparent != 1)
			kl_check_report(checker, KL_CHECK_ERROR, ref,
					"step %d has %zu parents, but must have one",
					chain.step[i].number, chain.c[i].nparent);
		if (i + 1 < chain.n)
			check_change(checker, ref, &chain, i, surface);
	}
}

/* --- checking rejected steps -------------------------------------------------------- */

void kl_check_rejected(struct kl_checker *checker, const char *ref, const git_oid *tip)
{
	KL_AUTO(kl_chain_release) struct kl_chain chain = { 0 };

	checker->c->rejected++;
	if (kl_chain_read(&chain, checker, tip, 1, false) < 0) {
		kl_check_report_error(checker, ref);
		return;
	}
	for (size_t i = 0; i < chain.n; i++) {
		char short_id[KL_OID_HEX];

		kl_check_short(short_id, &chain.c[i].oid);
		if (chain.step[i].kind != KL_STEP_REJECTED || !chain.step[i].class_)
			kl_check_report(checker, KL_CHECK_ERROR, ref,
					"commit %s is not a rejected step", short_id);
		else if (!chain.c[i].nparent || chain.c[i].nparent > 2)
			kl_check_report(
				checker, KL_CHECK_ERROR, ref,
				"commit %s is not a child of the state that it was tried on",
				short_id);
	}
}
