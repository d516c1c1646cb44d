/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/hook_run.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/progress.h"
#include "gate/changed.h"
#include "gate/gate.h"
#include "gate/noting.h"
#include "repo/refs.h"

int kl_hook_block_parse(enum kl_hook_block *out, const char *word)
{
	static const char *const words[] = {
		[KL_HOOK_BLOCK_FAIL] = "fail", [KL_HOOK_BLOCK_UNTESTED] = "untested",
		[KL_HOOK_BLOCK_NOTHING] = "nothing",
	};

	*out = KL_HOOK_BLOCK_FAIL;
	for (size_t i = 0; word && i < KL_ARRAY_SIZE(words); i++) {
		if (!strcmp(word, words[i])) {
			*out = (enum kl_hook_block)i;
			return 0;
		}
	}
	return word ? kl_error(KL_EINVALID, "config klineage.hooks.block: '%s' is none of fail, untested, "
			       "nothing", word) : 0;
}

/* --- one line a kernel ---------------------------------------------------------- */

/* How a kernel fared, from the best to the worst for the commit. */
enum fate { PASSED, UNTESTED, FAILED };

static void print_took(int64_t since)
{
	int64_t ms = (kl_clock_ns() - since) / 1000000;

	if (ms < 1000)
		printf("%lld ms", (long long)ms);
	else
		printf("%.1f s", (double)ms / 1e3);
}

static enum fate say_verdict(const struct kl_changed_one *c, const struct kl_verdict *v, int64_t since)
{
	const json_t *correct = json_object_get(v->event, "correct");
	bool check = !strcmp(kl_json_str_or(v->event, "kind", ""), "check");
	bool pass = !strcmp(v->verdict, "pass"), fail = !strcmp(v->verdict, "fail");

	printf("klineage: %s: %s%s%s, ", c->workload, pass ? "pass" : fail ? "FAIL" : v->verdict,
	       v->class_[0] ? " " : "", v->class_);
	if (v->cached)
		printf("judged before");
	else if (pass)
		printf("%s on %lld inputs", check ? "checked" : "judged",
		       (long long)kl_json_int_or(correct, "cases", 0));
	else
		printf("%s", check ? "checked" : "judged");
	printf(" (");
	print_took(since);
	printf(")%s%s\n", pass ? "" : ": ", pass ? "" : v->message);
	return pass ? PASSED : fail ? FAILED : UNTESTED;
}

static enum fate say_untested(const struct kl_changed_one *c, int64_t since)
{
	printf("klineage: %s: not judged (", c->workload);
	print_took(since);
	printf("): %s\n", kl_error_last());
	kl_error_clear();
	return UNTESTED;
}

static enum fate say_broken(const struct kl_changed_one *c)
{
	if (c->why) {
		printf("klineage: %s: FAIL, not to be judged: %s\n", c->workload, c->why);
		return FAILED;
	}
	printf("klineage: %s: its contract is gone, nobody judges it any more\n", c->workload);
	return PASSED;
}

/* --- before a commit -------------------------------------------------------------- */

/* What is judged elsewhere is sent there; 0 with v->deferred if no answer came at once. */
static int judge(struct kl_verdict **v, struct kl_gate *g, const struct kl_changed_one *c)
{
	KL_AUTO(kl_parcel_release) struct kl_parcel p = { 0 };
	int err = kl_gate_judge(v, g, c->now, c->before);

	if (err < 0 || !(*v)->deferred)
		return err;
	if ((err = kl_gate_send(&p, g, NULL)) < 0)
		return err;
	if (p.why)
		return kl_error(KL_ECANNOT, "%s", p.why);
	if (p.waiting)
		return kl_error(KL_ECANNOT, "the job waits in '%s'", p.file);
	kl_verdict_free(kl_steal(v));
	err = kl_gate_judge(v, g, c->now, c->before);
	if (!err && (*v)->deferred)
		return kl_error(KL_ECANNOT, "no result came back for this job");
	return err;
}

static int judge_one(enum fate *fate, struct kl_gate *g, const struct kl_changed_one *c)
{
	KL_AUTO(kl_verdict_freep) struct kl_verdict *v = NULL;
	int64_t since = kl_clock_ns();
	int err = judge(&v, g, c);

	if (err == KL_EINTR)
		return err;
	*fate = err < 0 ? say_untested(c, since) : say_verdict(c, v, since);
	fflush(stdout);
	return 0;
}

/* The gate is opened when the first kernel needs it. */
static int judge_all(enum fate *worst, struct kl_repo *r, const struct kl_changed *changed)
{
	KL_AUTO(kl_progress_freep) struct kl_progress *progress = kl_progress_new(KL_PROGRESS_AUTO);
	KL_AUTO(kl_gate_freep) struct kl_gate *g = NULL;
	struct kl_gate_opts o = { .progress = progress };
	bool profile;
	int err = kl_repo_config_bool(&profile, r, "klineage.hooks.profile", false);

	o.fast = !profile;
	for (size_t i = 0; i < changed->n && !err; i++) {
		const struct kl_changed_one *c = &changed->one[i];
		enum fate fate = PASSED;

		kl_progress_title(progress, "klineage: %s", c->workload);
		if (!c->now) {
			fate = say_broken(c);
		} else {
			if (!g && (err = kl_gate_open(&g, r, &o)) < 0)
				break;
			err = judge_one(&fate, g, c);
		}
		*worst = fate > *worst ? fate : *worst;
	}
	return err;
}

static int before_commit(struct kl_repo *r, enum kl_hook_block block)
{
	KL_AUTO(kl_changed_release) struct kl_changed changed = { 0 };
	enum fate worst = PASSED;
	git_oid staged, head, tree;
	bool unborn = false;
	int err = kl_repo_staged_tree(&staged, r);

	if (!err)
		err = kl_refs_get(&head, r, "HEAD");
	if (err == KL_ENOTFOUND) {
		unborn = true;
		err = 0;
		kl_error_clear();
	}
	if (!err && !unborn)
		err = kl_repo_tree_of(&tree, r, &head);
	if (!err)
		err = kl_changed(&changed, r, unborn ? NULL : &tree, &staged);
	if (err < 0 || !changed.n)
		return err;
	if ((err = judge_all(&worst, r, &changed)) < 0)
		return err;
	if (worst == PASSED || block == KL_HOOK_BLOCK_NOTHING ||
	    (worst == UNTESTED && block != KL_HOOK_BLOCK_UNTESTED))
		return 0;
	fprintf(stderr, "klineage: the commit is stopped; 'git commit --no-verify' makes it all the same\n");
	return 1;
}

/* --- after one --------------------------------------------------------------------- */

/* Nothing stops a commit that is made: its note can be had later, too. */
static int after_commit(struct kl_repo *r)
{
	size_t noted;
	git_oid head;
	int err = kl_refs_get(&head, r, "HEAD");

	return err < 0 ? err : kl_noting_waiting(&noted, r, &head);
}

/* --- the events --------------------------------------------------------------------- */

static const struct {
	const char *name;
	bool before;
} events[] = {
	{ "pre-commit", true }, { "pre-merge-commit", true },
	{ "post-commit", false }, { "post-merge", false },
};

bool kl_hook_known(const char *event)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(events); i++)
		if (!strcmp(events[i].name, event))
			return true;
	return false;
}

int kl_hook_run(struct kl_repo *r, const char *event, int argc, char **argv)
{
	enum kl_hook_block block;
	int err = kl_hook_block_parse(&block, kl_repo_config(r, "klineage.hooks.block"));

	for (size_t i = 0; i < KL_ARRAY_SIZE(events) && !err; i++)
		if (!strcmp(events[i].name, event))
			return events[i].before ? before_commit(r, block) : after_commit(r);
	return err;
}
