/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/skills_try.h"

#include <stdio.h>
#include <string.h>

#include "apply/carrier.h"
#include "apply/materialize.h"
#include "base/clock.h"
#include "base/error.h"
#include "cmd/materialize_root.h"
#include "learn/admit.h"
#include "retrieve/retrieve.h"

#define ALL_STATUSES (1u << KL_CARD_HYPOTHESIS | 1u << KL_CARD_PROVISIONAL | 1u << KL_CARD_ADMITTED)
#define MAX_PLACES 8 /* most contracts that the hint names */
#define PER_AXIS 64  /* cards to take on each axis, as many as are applied without a model */

/* --- what can be tried ------------------------------------------------------------------------ */

struct shop {
	struct kl_repo *repo;
	struct kl_library *library;
	struct kl_taxonomy *tax;
	struct kl_index *index;
};

static void shop_release(struct shop *shop)
{
	kl_index_free(shop->index);
	kl_taxonomy_free(shop->tax);
	kl_library_free(shop->library);
}

static int open_shop(struct shop *shop, struct kl_repo *repo)
{
	int err;

	shop->repo = repo;
	if ((err = kl_taxonomy_load(&shop->tax)) < 0 ||
	    (err = kl_library_open(&shop->library, repo)) < 0)
		return err;
	if (!kl_library_count(shop->library))
		return kl_error_hint(kl_error(KL_ENOTFOUND, "the library has no cards"),
				     "get some with 'git klineage skills import --shipped' or "
				     "'git klineage lift'");
	return kl_index_of(&shop->index, repo, shop->library, shop->tax);
}

/* Count the cards that fit the kernel, and those of them that a tool can apply to its language. */
static int count_fitting(size_t *fit, size_t *mechanical, const struct shop *shop,
			 const struct kl_surface *state, const git_oid *commit)
{
	KL_AUTO(kl_retrieval_release) struct kl_retrieval found = { 0 };
	struct kl_retrieve_opts opts = KL_RETRIEVE_OPTS_INIT;
	struct kl_target target = { .known = KL_KNOWN_INIT };
	int err = kl_target_of_commit(&target, shop->tax, shop->repo, state, commit, NULL);

	*fit = *mechanical = 0;
	opts.statuses = ALL_STATUSES;
	opts.per_axis = PER_AXIS;
	if (!err)
		err = kl_retrieve(&found, shop->index, &target, &opts);
	if (!err)
		err = kl_retrieve_mark_fit(&found, shop->index, shop->repo, &target, state);
	for (size_t i = 0; !err && i < found.n; i++) {
		KL_AUTO(kl_card_freep) struct kl_card *card = NULL;

		if (!found.v[i].fits)
			continue;
		err = kl_index_load(&card, shop->index, shop->repo, found.v[i].card);
		(*fit)++;
		*mechanical += !err && kl_carrier_mechanical(card, state->contract->language->name);
	}
	kl_target_release(&target);
	return err;
}

static void hint_place(const struct shop *shop, const git_oid *head, const git_oid *tree,
		       const char *place)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *state = NULL;
	size_t fit, mechanical;

	if (kl_surface_from_tree(&state, shop->repo, tree, place) < 0 ||
	    count_fitting(&fit, &mechanical, shop, state, head) < 0) {
		printf("  %s: %s\n", *place ? place : ".", kl_error_last());
		kl_error_clear();
		return;
	}
	printf("  %s (%s): %zu card%s fit%s, %zu of them by a tool", state->contract->workload,
	       state->contract->language->title, fit, fit == 1 ? "" : "s", fit == 1 ? "s" : "",
	       mechanical);
	if (mechanical)
		printf("; try them: git klineage skills try %s", state->contract->workload);
	putchar('\n');
}

void kl_skills_hint(struct kl_repo *repo)
{
	KL_AUTO(shop_release) struct shop shop = { 0 };
	KL_AUTO(kl_strvec_release) struct kl_strvec places = KL_STRVEC_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec workloads = KL_STRVEC_INIT;
	git_oid head, tree;

	if (kl_repo_resolve(&head, repo, "HEAD") < 0 || kl_repo_tree_of(&tree, repo, &head) < 0 ||
	    kl_surface_find(&places, &workloads, repo, &tree) < 0 || open_shop(&shop, repo) < 0)
		kl_error_clear();
	if (!places.n) {
		puts("there is no contract at HEAD to try them on; make one with 'git klineage "
		     "adopt' or 'git klineage init'");
		return;
	}
	puts("at HEAD:");
	for (size_t i = 0; shop.index && i < places.n && i < MAX_PLACES; i++)
		hint_place(&shop, &head, &tree, places.v[i]);
	if (places.n > MAX_PLACES)
		printf("  and %zu more contracts\n", places.n - MAX_PLACES);
}

/* --- trying ----------------------------------------------------------------------------------- */

struct trying {
	const struct kl_skills_try *o;
	struct shop shop;
	struct kl_progress *progress;
	struct kl_gate *gate;
	struct kl_materialize_root root;
	struct kl_materialization m;
	char *name;
};

static void trying_release(struct trying *trying)
{
	kl_materialize_release(&trying->m);
	kl_materialize_root_release(&trying->root);
	kl_gate_free(trying->gate);
	kl_progress_free(trying->progress);
	shop_release(&trying->shop);
	free(trying->name);
}

static int open_gate(struct trying *trying)
{
	struct kl_repo *repo = trying->shop.repo;
	struct kl_gate_opts opts = { 0 };
	int err = kl_repo_config_int(&opts.profile_ms, repo, "klineage.profileMs", 0);

	if (err < 0)
		return err;
	trying->progress = trying->o->quiet ? NULL : kl_progress_new(KL_PROGRESS_AUTO);
	opts.progress = trying->progress;
	kl_progress_title(trying->progress, "try %s", trying->root.state->contract->workload);
	return kl_gate_open(&trying->gate, repo, &opts);
}

/* A second call for the same commit goes on with the run of the first. */
static int apply_cards(struct trying *trying)
{
	struct kl_materialize_opts opts = {
		.repo = trying->shop.repo,
		.library = trying->shop.repo,
		.index = trying->shop.index,
		.tax = trying->shop.tax,
		.gate = trying->gate,
		.root = trying->root.state,
		.commit = trying->root.commit,
		.statuses = ALL_STATUSES,
		.dry = trying->o->dry,
		.arm = KL_CARDS_FULL,
		.progress = trying->progress,
	};
	struct kl_platform platform;
	git_oid begun;
	int err = kl_gate_platform(&platform, trying->gate, trying->root.state);

	if (err < 0)
		return err;
	trying->name = kl_materialize_name(platform.id, &trying->root.commit);
	opts.name = trying->name;
	if (trying->o->seconds)
		opts.until = kl_clock_ns() + trying->o->seconds * 1000000000;
	err = kl_materialize_begun(&begun, opts.repo, trying->root.state->contract->workload,
				   trying->name);
	opts.again = !err && !opts.dry;
	if (err == KL_ENOTFOUND)
		kl_error_clear();
	else if (err < 0)
		return err;
	return kl_materialize(&trying->m, &opts);
}

/* Print what was applied or judged; the cards that changed nothing are only counted. */
static void print_attempts(const struct trying *trying)
{
	const struct kl_materialization *m = &trying->m;
	size_t left = 0;

	for (size_t i = 0; i < m->n; i++) {
		const struct kl_materialize_attempt *attempt = &m->v[i];

		if (attempt->outcome == KL_MATERIALIZE_LEFT) {
			left++;
			continue;
		}
		printf("%s on ", attempt->card);
		if (attempt->on)
			printf("step %d", m->node[attempt->on].depth);
		else
			fputs("the kernel", stdout);
		printf(": %s, %s", kl_materialize_outcome_name(attempt->outcome), attempt->how);
		if (*attempt->why)
			printf(": %s", attempt->why);
		if (attempt->ratio.ppm)
			printf(", %.2fx [%.2f, %.2f] %s", (double)attempt->ratio.ppm / 1e6,
			       (double)attempt->ratio.lo / 1e6, (double)attempt->ratio.hi / 1e6,
			       kl_speed_name(attempt->speed));
		putchar('\n');
	}
	if (left)
		printf("%zu attempt%s changed nothing: the card's diffs are for other code, or it "
		       "has none for %s\n",
		       left, left == 1 ? "" : "s", trying->root.state->contract->language->title);
	if (m->best)
		printf("%s is %d step%s from the kernel\n", m->branch + strlen("refs/heads/"),
		       m->node[m->best].depth, m->node[m->best].depth == 1 ? "" : "s");
}

/* Check that the attempt was judged, clearly, and is the first of its card that was. */
static bool is_trial(const struct kl_materialization *m, size_t at)
{
	for (size_t i = 0; i <= at; i++) {
		const struct kl_materialize_attempt *attempt = &m->v[i];

		if (attempt->outcome >= KL_MATERIALIZE_FAIL && *attempt->card &&
		    attempt->speed != KL_SPEED_AMBIGUOUS && !strcmp(attempt->card, m->v[at].card))
			return i == at;
	}
	return false;
}

static void write_trial(struct kl_buf *out, const struct kl_admission *admission)
{
	const struct kl_card_trial *trial = admission->trial;

	if (!trial) {
		kl_buf_addf(out, "%s: no trial: %s\n", admission->card->id,
			    admission->waiting ? "its verdict is to come from elsewhere" :
			    admission->n && admission->v[0].why ? admission->v[0].why :
								  "no trial could be recorded");
		return;
	}
	kl_buf_addf(out, "%s: a trial at level %s: %s", admission->card->id,
		    kl_level_name(trial->level),
		    trial->result == KL_RESULT_PASS ? "passed" : trial->class_);
	if (trial->ratio.ppm)
		kl_buf_addf(out, ", %.2fx", (double)trial->ratio.ppm / 1e6);
	if (admission->before != admission->card->status)
		kl_buf_addf(out, "; %s -> %s", kl_card_status_name(admission->before),
			    kl_card_status_name(admission->card->status));
	kl_buf_addch(out, '\n');
}

/*
 * Record the trial of a card on the state on which it was judged: the kernel, or what other cards
 * made of it. Its verdict is in the cache by now. A card that a tool cannot try
 * alone is named with the reason.
 */
static int record_trial(struct kl_buf *out, struct trying *trying,
			const struct kl_materialize_attempt *attempt)
{
	const struct kl_materialize_node *node = &trying->m.node[attempt->on];
	KL_AUTO(kl_admission_release) struct kl_admission admission = { 0 };
	const struct kl_admit_opts opts = {
		.repo = trying->shop.repo,
		.library = trying->shop.library,
		.tax = trying->shop.tax,
		.gate = trying->gate,
		.card = attempt->card,
		.kernel = node->state,
		.commit = node->commit,
		.progress = trying->progress,
	};
	int err = kl_admit(&admission, &opts);

	if (err == KL_ECANNOT) {
		kl_buf_addf(out, "%s: no trial: %s\n", attempt->card, kl_error_last());
		kl_error_clear();
		return 0;
	}
	if (!err)
		write_trial(out, &admission);
	return err;
}

static int record_trials(struct kl_buf *out, struct trying *trying)
{
	int err = 0;

	for (size_t i = 0; !err && i < trying->m.n; i++)
		if (is_trial(&trying->m, i))
			err = record_trial(out, trying, &trying->m.v[i]);
	return err;
}

static void print_next(const struct trying *trying)
{
	const char *branch = trying->m.branch + strlen("refs/heads/");

	if (trying->m.stopped)
		puts("the time is spent; the same command goes on from here");
	if (trying->m.best)
		printf("see the edits: git log -p HEAD..%s; take them: git merge --ff-only %s\n",
		       branch, branch);
	else if (trying->m.stopped)
		return;
	else if (!trying->m.offered)
		puts("no card fits this kernel; see why: git klineage retrieve --explain "
		     "--status hypothesis,provisional,admitted");
	else
		puts("no card made it faster by itself; a model can try them: git klineage "
		     "materialize --status hypothesis,provisional,admitted --rewriter exec");
}

int kl_skills_try(struct kl_repo *repo, const struct kl_skills_try *opts)
{
	KL_AUTO(trying_release) struct trying trying = { .o = opts,
							 .root.workload = opts->workload };
	KL_AUTO(kl_buf_release) struct kl_buf said = KL_BUF_INIT;
	const char *who;
	int err;

	if ((!opts->dry && (err = kl_repo_identity(&who, repo)) < 0) ||
	    (err = open_shop(&trying.shop, repo)) < 0 ||
	    (err = kl_materialize_root_find(&trying.root, repo)) < 0 ||
	    (err = open_gate(&trying)) < 0)
		return err;
	err = apply_cards(&trying);
	if (err == KL_ENO)
		return kl_materialize_root_hint(err);
	if (err < 0)
		return err;
	if (!opts->dry)
		err = record_trials(&said, &trying);
	kl_progress_free(kl_steal(&trying.progress));
	print_attempts(&trying);
	fputs(said.ptr ? said.ptr : "", stdout);
	if (err < 0)
		return err;
	if (opts->dry)
		return trying.m.offered ? 0 : 1;
	print_next(&trying);
	return trying.m.best ? 0 : 1;
}
