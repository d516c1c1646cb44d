/* SPDX-License-Identifier: Apache-2.0 */
/* check_walk - checks walks and rejected steps: their chains, and what each commit changes */
#include <string.h>

#include "base/error.h"
#include "fsck/parts.h"

#define MAX_STEPS 1000000
#define MAX_FOREIGN_BYTES (64 << 20) /* of a chain's commits, out of the pack */

void kl_chain_release(struct kl_chain *c)
{
	for (size_t i = 0; i < c->n; i++) {
		kl_commit_release(&c->c[i]);
		kl_step_release(&c->step[i]);
	}
	free(c->c);
	free(c->step);
}

int kl_chain_read(struct kl_chain *out, struct kl_checker *k, const git_oid *tip, size_t via,
		  bool past_end)
{
	git_oid at = *tip;
	size_t bytes = 0, size;

	for (;;) {
		struct kl_commit c = { 0 };
		struct kl_step step = { 0 };
		bool is_step;
		int err = 0;

		if (k->foreign && !(err = kl_repo_object_size(&size, k->c->repo, &at)) &&
		    (bytes += size) > MAX_FOREIGN_BYTES)
			return kl_error(KL_EINVALID, "its commits have more than %d MiB",
					MAX_FOREIGN_BYTES >> 20);
		if (err < 0 || (err = kl_repo_commit_read(&c, k->c->repo, &at)) < 0)
			return err;
		is_step = !kl_step_parse(&step, "commit", c.message);
		if (!is_step)
			kl_error_clear();
		KL_GROW(out->c, out->n + 1, out->alloc);
		KL_GROW(out->step, out->n + 1, out->step_alloc);
		out->c[out->n] = c;
		out->step[out->n++] = step;
		if (c.nparent <= via || (!is_step && past_end))
			return 0;
		if (out->n == (k->foreign ? KL_CHECK_FOREIGN_STEPS : MAX_STEPS))
			return kl_error(KL_EINVALID, "it has more than %zu steps", out->n);
		at = c.parent[via];
	}
}

/* --- a walk --------------------------------------------------------------------- */

/* only sources of the contract may change on a walk */
static void check_change(struct kl_checker *k, const char *ref, const struct kl_chain *w, size_t i,
			 const char *dir, const struct kl_contract *contract)
{
	KL_AUTO(kl_buf_release) struct kl_buf diff = KL_BUF_INIT;
	char at[KL_OID_HEX];

	kl_check_short(at, &w->c[i].oid);
	if (kl_repo_diff(&diff, k->c->repo, &w->c[i + 1].tree, &w->c[i].tree, NULL) < 0) {
		kl_check_say_error(k, ref);
		return;
	}
	for (const char *s = diff.ptr; (s = strstr(s, "diff --git a/")); s++) {
		bool source = false;

		if (s > diff.ptr && s[-1] != '\n')
			continue;
		for (size_t f = 0; f < contract->sources.n && !source; f++) {
			KL_AUTO(kl_freep) char *path = *dir ? kl_asprintf("%s/%s", dir,
									  contract->sources.v[f]) :
							      kl_strdup(contract->sources.v[f]);
			KL_AUTO(kl_freep) char *line = kl_asprintf("diff --git a/%s b/%s\n", path,
								   path);

			source = !strncmp(s, line, strlen(line));
		}
		if (!source)
			kl_check_say(k, KL_CHECK_ERROR, ref,
				     "%s changes a file that is no source: %.*s", at,
				     (int)strcspn(s + 13, " \n"), s + 13);
	}
}

int kl_check_contract(struct kl_surface **out, char **dir, struct kl_checker *k,
		      const git_oid *tree, const char *workload)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec dirs = KL_STRVEC_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec workloads = KL_STRVEC_INIT;
	int err = kl_surface_find(&dirs, &workloads, k->c->repo, tree);

	for (size_t i = 0; !err && i < dirs.n; i++)
		if (!strcmp(workloads.v[i], workload)) {
			*dir = kl_strdup(dirs.v[i]);
			return kl_surface_from_tree(out, k->c->repo, tree, *dir);
		}
	return err < 0 ?
		       err :
		       kl_error(KL_ENOTFOUND, "no contract of workload '%s' in its tree", workload);
}

void kl_check_walk(struct kl_checker *k, const char *ref, const git_oid *tip, const char *workload)
{
	KL_AUTO(kl_chain_release) struct kl_chain w = { 0 };
	KL_AUTO(kl_surface_freep) struct kl_surface *s = NULL;
	KL_AUTO(kl_freep) char *dir = NULL;
	size_t back = 0;

	k->c->walks++;
	if (kl_chain_read(&w, k, tip, 0, true) < 0) {
		kl_check_say_error(k, ref);
		return;
	}
	while (back < w.n && w.step[back].action && w.step[back].kind == KL_STEP_BACK)
		back++;
	/* a walk may stand on an earlier one: its own steps end where the numbers begin again */
	for (size_t i = 0; i < back; i++)
		if (w.step[i].number == 1)
			back = i + 1;
	if (!back || back == w.n) {
		kl_check_say(k, KL_CHECK_ERROR, ref,
			     "it has no backward steps on an expert's commit");
		return;
	}
	if (kl_check_contract(&s, &dir, k, &w.c[0].tree, workload) < 0) {
		kl_check_say_error(k, ref);
		return;
	}
	for (size_t i = 0; i < back; i++) {
		if (w.step[i].number != (int)(back - i))
			kl_check_say(k, KL_CHECK_ERROR, ref,
				     "step %d stands where step %zu belongs", w.step[i].number,
				     back - i);
		if (w.c[i].nparent != 1)
			kl_check_say(k, KL_CHECK_ERROR, ref, "step %d has %zu parents",
				     w.step[i].number, w.c[i].nparent);
		if (i + 1 < w.n)
			check_change(k, ref, &w, i, dir, s->contract);
	}
}

/* --- rejections ----------------------------------------------------------------------- */

void kl_check_rejected(struct kl_checker *k, const char *ref, const git_oid *tip)
{
	KL_AUTO(kl_chain_release) struct kl_chain r = { 0 };

	k->c->rejected++;
	if (kl_chain_read(&r, k, tip, 1, false) < 0) {
		kl_check_say_error(k, ref);
		return;
	}
	for (size_t i = 0; i < r.n; i++) {
		char at[KL_OID_HEX];

		kl_check_short(at, &r.c[i].oid);
		if (r.step[i].kind != KL_STEP_REJECTED || !r.step[i].class_)
			kl_check_say(k, KL_CHECK_ERROR, ref, "%s is no rejected step", at);
		else if (!r.c[i].nparent || r.c[i].nparent > 2)
			kl_check_say(k, KL_CHECK_ERROR, ref,
				     "%s does not stand on the state it was tried on", at);
	}
}
