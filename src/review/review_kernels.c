/* SPDX-License-Identifier: Apache-2.0 */
/* review_kernels - reviews the contracts, kernels and commits of a range */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "contract/changed_kernels.h"
#include "event/chain.h"
#include "event/verdict_lookup.h"
#include "review/contract_diff.h"
#include "review/review_parts.h"

#define MAX_BAD 20 /* list this many wrong signatures, and only count the others */

/*
 * A kernel in the base and in the head. If its contract was moved, its directories in the two
 * differ.
 */
struct change {
	const char *dir, *workload;   /* values in the head; for a removed kernel, in the base */
	struct kl_surface *old, *now; /* NULL if the kernel does not exist there; `old` is owned */
	const char *why, *old_why;    /* why `now` and `old` cannot be read, or NULL */
	size_t at_old, at_now;        /* indices of `old` and `now` in `lookup` */
	bool moved;                   /* moved to another directory; the change there owns `old` */
};

struct changes {
	struct kl_changed changed;
	struct change *v;
	size_t n;
	struct kl_strvec whys; /* owns the texts of old_why */
	struct kl_verdict_lookup lookup;
};

static void changes_release(struct changes *changes)
{
	for (size_t i = 0; i < changes->n; i++)
		kl_surface_free(changes->v[i].old);
	free(changes->v);
	kl_changed_release(&changes->changed);
	kl_strvec_release(&changes->whys);
	kl_verdict_lookup_release(&changes->lookup);
}

/*
 * --- find changes -------------------------------------------------------------------
 */

static int read_old(struct change *change, struct changes *all, struct kl_review_work *work)
{
	int err = kl_surface_from_tree(&change->old, work->r, &work->base_tree, change->dir);

	if (err == KL_EIO || err == KL_EINTR)
		return err;
	if (err < 0 && err != KL_ENOTFOUND) {
		kl_strvec_push(&all->whys, kl_error_last());
		change->old_why = all->whys.v[all->whys.n - 1];
	}
	kl_error_clear();
	return 0;
}

/*
 * Find moved contracts: one directory lost a contract, and another gained one of the same workload.
 */
static void find_moved(struct changes *all)
{
	for (size_t i = 0; i < all->n; i++) {
		struct change *gone = &all->v[i];

		if (gone->now || gone->why || !gone->old)
			continue;
		for (size_t k = 0; k < all->n; k++) {
			struct change *change = &all->v[k];

			if (change->now && !change->old &&
			    !strcmp(change->now->contract->workload,
				    gone->old->contract->workload)) {
				change->old = kl_steal(&gone->old);
				gone->moved = true;
				break;
			}
		}
	}
}

static int find_changes(struct changes *all, struct kl_review_work *work)
{
	int err = kl_changed(&all->changed, work->r, &work->base_tree, &work->head_tree);

	all->v = kl_calloc(all->changed.n + 1, sizeof(*all->v));
	for (size_t i = 0; i < all->changed.n && !err; i++) {
		const struct kl_changed_one *one = &all->changed.one[i];
		struct change *change = &all->v[all->n++];

		*change = (struct change){
			.dir = one->place,
			.workload = one->workload,
			.now = one->now,
			.why = one->why,
		};
		err = read_old(change, all, work);
	}
	if (!err)
		find_moved(all);
	return err;
}

/*
 * --- contracts -------------------------------------------------------------------------
 */

static struct kl_review_item *add_contract(struct kl_review_work *work, const struct change *change,
					   const char *how)
{
	KL_AUTO(kl_freep) char *path = kl_contract_place_path(change->dir);
	struct kl_review_item *item = kl_review_add(work, KL_REVIEW_CONTRACTS, "%s %w", path, how);

	kl_json_set_str(item->facts, "path", path);
	kl_json_set_str(item->facts, "workload", change->workload);
	kl_json_set_str(item->facts, "change", how);
	return item;
}

static void review_contract(struct kl_review_work *work, const struct change *change)
{
	struct kl_findings *findings;

	if (change->why) {
		findings = &add_contract(work, change, "broken")->found;
		kl_findings_add(findings, KL_ANSWER, "contract-broken",
				"the contract cannot be read: %s", change->why);
	} else if (!change->now && !change->moved) {
		findings = &add_contract(work, change, "removed")->found;
		kl_findings_add(findings, KL_ANSWER, "contract-removed",
				"the contract was removed, so %s is no longer judged",
				change->workload);
	} else if (change->now && !change->old) {
		findings = &add_contract(work, change, "added")->found;
		kl_findings_add(findings, KL_NOTE, "contract-added",
				"the contract is new; the base has no contract to compare it with");
		if (change->old_why)
			kl_findings_add(findings, KL_NOTE, "contract-mended",
					"the base's contract cannot be read: %s", change->old_why);
	} else if (change->now &&
		   strcmp(change->old->contract_digest, change->now->contract_digest)) {
		findings = &add_contract(work, change, "changed")->found;
		kl_contract_diff(findings, change->old, change->now);
		if (strcmp(change->old->place, change->now->place))
			kl_findings_add(findings, KL_NOTE, "contract-moved",
					"the contract was moved from %s", change->old->place);
		if (!findings->n)
			kl_findings_add(findings, KL_NOTE, "contract-same",
					"the contract was rewritten with the same requirements");
		else
			kl_findings_add(findings, KL_NOTE, "contract-base",
					"the verdicts below were reached under this contract, not "
					"under that of the base");
	}
}

/*
 * --- ratios -------------------------------------------------------------------------------
 */

/* The ratio of a kernel's speed to that of the kernel in the base. */
struct ratio {
	struct kl_comparison is;
	bool direct; /* true if measured directly; false if chained over the commits in between */
};

/* Find the comparison of an event's kernel with its parent; NULL if they were not compared. */
static const struct kl_comparison *against_parent(const struct kl_event *event)
{
	const struct kl_comparison *parent = kl_comparisons_parent(&event->profile.vs);

	return parent && parent->ratio.ppm > 0 && parent->ratio.lo > 0 && parent->ratio.hi > 0 ?
		       parent :
		       NULL;
}

/*
 * Find a pass of the surface on the platform of the event `like`; NULL if there is none. An
 * outdated pass is accepted, because its measurements are still valid.
 */
static const struct kl_event *judged_surface(const struct kl_verdict_lookup *lookup,
					     const char *surface, const struct kl_event *like)
{
	for (size_t i = 0; i < lookup->n; i++) {
		const struct kl_verdict_entry *one = &lookup->one[i];
		const struct kl_event *event = kl_verdict_entry_pass(one);

		if (!event)
			event = kl_verdict_entry_old_pass(one);
		if (event && !strcmp(one->surface, surface) &&
		    !strcmp(event->place.id, like->place.id))
			return event;
	}
	return NULL;
}

/*
 * Find the ratio of the speed of an event's kernel to that of the base: the ratio measured directly
 * or, if there is none, the ratio chained from parent to parent. Return false if a comparison in
 * the chain is missing.
 */
static bool ratio_to(struct ratio *out, const struct kl_verdict_lookup *lookup,
		     const struct kl_event *event, const char *base)
{
	const struct kl_comparison *link = against_parent(event);
	struct kl_chain chain = { 0 };

	if (link && !strcmp(link->surface, base)) {
		*out = (struct ratio){ .is = *link, .direct = true };
		return true;
	}
	for (size_t n = 0; n <= lookup->n && link; n++) {
		kl_chain_add(&chain, link, event->profile.aa_ppm);
		if (!strcmp(link->surface, base)) {
			*out = (struct ratio){ .is = kl_chain_ratio(&chain) };
			return true;
		}
		event = judged_surface(lookup, link->surface, event);
		link = event ? against_parent(event) : NULL;
	}
	return false;
}

/* --- features ------------------------------------------------------------------------------ */

static json_t *strings_json(const struct kl_strvec *names)
{
	json_t *list = json_array();

	for (size_t i = 0; i < names->n; i++)
		json_array_append_new(list, json_string(names->v[i]));
	return list;
}

static void say_list(struct kl_findings *findings, const char *code, const char *fmt,
		     const struct kl_strvec *list)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	for (size_t i = 0; i < list->n; i++)
		kl_buf_addf(&buf, "%s%s", i ? ", " : "", list->v[i]);
	if (list->n)
		kl_findings_add(findings, KL_NOTE, code, fmt, buf.ptr);
}

static void say_features(struct kl_review_item *item, const struct kl_event *old,
			 const struct kl_event *now)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec gained = KL_STRVEC_INIT, lost = KL_STRVEC_INIT;

	if (!old || !old->compiled || !now->compiled)
		return;
	kl_features_minus(&gained, &now->facts.features, &old->facts.features,
			  old->facts.features_version);
	kl_features_minus(&lost, &old->facts.features, &now->facts.features,
			  now->facts.features_version);
	say_list(&item->found, "feature-gained", "gained %s", &gained);
	say_list(&item->found, "feature-lost", "lost %s", &lost);
	kl_json_set(item->facts, "gained", strings_json(&gained));
	kl_json_set(item->facts, "lost", strings_json(&lost));
}

/* --- kernels --------------------------------------------------------------------------------- */

/* Among the lines of git notes that contain this event, find the one with the best signature. */
static const struct kl_trust_line *line_of(const struct kl_verdict_lookup *lookup,
					   const struct kl_event *event)
{
	const struct kl_trust_line *found = NULL;

	for (size_t i = 0; i < lookup->trust.n; i++) {
		const struct kl_trust_line *line = &lookup->trust.v[i];

		if (!line->counts || strcmp(line->event->id, event->id))
			continue;
		if (!found || line->sig.state == KL_SIGN_GOOD || found->sig.state == KL_SIGN_NONE)
			found = line;
		if (found->sig.state == KL_SIGN_GOOD)
			break;
	}
	return found;
}

/*
 * Return a title such as "pass". If the verdict is not trusted, the title also says whose word it
 * is. The caller frees the title.
 */
static char *fate_title(const char *fate, const struct kl_verdict_lookup *lookup,
			const struct kl_event *event)
{
	const struct kl_trust_line *line = event ? line_of(lookup, event) : NULL;
	const char *doubt = line ? kl_word_doubt(line->word) : "";

	return kl_asprintf("%s%s%s", fate, *doubt ? ", " : "", doubt);
}

/* Set the JSON members that describe a verdict. If there is no event, set none. */
static void verdict_facts(json_t *facts, const struct kl_verdict_lookup *lookup,
			  const struct kl_event *event)
{
	const struct kl_trust_line *line = event ? line_of(lookup, event) : NULL;
	const char *class_ = event ? kl_event_class(event) : "";

	if (!event)
		return;
	kl_json_set_str(facts, "event", event->id);
	kl_json_set_str(facts, "platform", event->place.id);
	kl_json_set_str(facts, "class", *class_ ? class_ : NULL);
	kl_json_set_str(facts, "word", line ? kl_word_name(line->word) : NULL);
	kl_json_set_str(facts, "signature", line ? kl_sign_state_name(line->sig.state) : NULL);
	kl_json_set_str(facts, "signer",
			line && line->sig.state == KL_SIGN_GOOD ? line->sig.who : NULL);
}

/* Return a word for the verdict on a kernel, for programs and titles. */
static const char *fate_of(const struct kl_verdict_entry *one)
{
	return one->why                       ? "unreadable" :
	       kl_verdict_entry_failure(one)  ? "fail" :
	       kl_verdict_entry_pass(one)     ? "pass" :
	       one->unsigned_                 ? "unsigned" :
	       kl_verdict_entry_old_pass(one) ? "outdated" :
	       kl_verdict_entry_checked(one)  ? "checked" :
	       one->stale                     ? "stale" :
						"missing";
}

/* Report why a kernel has no passing verdict. */
static void say_missing(struct kl_findings *findings, enum kl_weight weight,
			const struct kl_verdict_entry *one)
{
	const struct kl_event *fail = kl_verdict_entry_failure(one);
	const char *fate = fate_of(one);

	if (one->why)
		kl_findings_add(findings, weight, "verdict-unreadable",
				"the kernel cannot be judged: %s", one->why);
	else if (fail)
		kl_findings_add(findings, weight, "verdict-fail", "the kernel fails: %s, %s",
				*kl_event_class(fail) ? kl_event_class(fail) : "?",
				*fail->message ? fail->message : "no message");
	else if (!strcmp(fate, "unsigned"))
		kl_findings_add(
			findings, weight, "verdict-unsigned",
			"a note says that the kernel passed, but no allowed signer "
			"(gpg.ssh.allowedSignersFile, klineage.signers) has signed the verdict");
	else if (!strcmp(fate, "outdated"))
		kl_findings_add(findings, weight, "verdict-outdated",
				"the kernel passed under rules of the gate that have changed "
				"since; judge it again");
	else if (!strcmp(fate, "checked"))
		kl_findings_add(findings, weight, "verdict-checked",
				"only the quick stages have judged the kernel");
	else if (!strcmp(fate, "stale"))
		kl_findings_add(findings, weight, "verdict-stale",
				"the verdict is stale, because the note was made for other files");
	else
		kl_findings_add(findings, weight, "verdict-missing",
				"the kernel has not been judged");
}

static void say_speed(struct kl_review_item *item, const struct changes *all,
		      const struct change *change, const struct kl_event *now)
{
	struct ratio ratio;
	bool slow;

	if (!strcmp(change->old->digest, change->now->digest)) {
		kl_findings_add(&item->found, KL_NOTE, "same-kernel",
				"the kernel is the same as in the base, %w",
				strcmp(change->old->contract_digest, change->now->contract_digest) ?
					"under another contract" :
					"in another directory");
		return;
	}
	if (!ratio_to(&ratio, &all->lookup, now, change->old->digest)) {
		kl_findings_add(&item->found, KL_NOTE, "not-compared",
				"the kernel's speed was not compared with the base");
		return;
	}
	kl_json_set(item->facts, "base",
		    json_pack("{s:I,s:I,s:I,s:b}", "ratio_ppm", (json_int_t)ratio.is.ratio.ppm,
			      "lo_ppm", (json_int_t)ratio.is.ratio.lo, "hi_ppm",
			      (json_int_t)ratio.is.ratio.hi, "direct", ratio.direct));
	slow = ratio.is.speed == KL_SPEED_SLOW;
	kl_findings_add(&item->found, slow ? KL_ANSWER : KL_NOTE, slow ? "slower" : "speed",
			"%rx [%r, %r] against the base%w: %w", ratio.is.ratio.ppm,
			ratio.is.ratio.lo, ratio.is.ratio.hi,
			ratio.direct ? "" : ", from commit to commit",
			kl_speed_name(ratio.is.speed));
}

static int review_kernel(struct kl_review_work *work, const struct changes *all,
			 const struct change *change)
{
	const struct kl_verdict_entry *one = &all->lookup.one[change->at_now];
	const struct kl_event *fail = kl_verdict_entry_failure(one);
	const struct kl_event *now = fail ? NULL : kl_verdict_entry_pass(one), *old = NULL;
	KL_AUTO(kl_freep) char *title = fate_title(fate_of(one), &all->lookup, fail ? fail : now);
	struct kl_review_item *item = kl_review_add(work, KL_REVIEW_KERNELS, "%s in %s: %w",
						    change->workload,
						    *change->dir ? change->dir : ".", title);

	kl_json_set_str(item->facts, "workload", change->workload);
	kl_json_set_str(item->facts, "dir", change->dir);
	kl_json_set_str(item->facts, "surface", change->now->digest);
	kl_json_set_str(item->facts, "verdict", fate_of(one));
	verdict_facts(item->facts, &all->lookup, now ? now : fail);
	if (!now)
		say_missing(&item->found, KL_ANSWER, one);
	if (now && change->old) {
		old = judged_surface(&all->lookup, change->old->digest, now);
		say_speed(item, all, change, now);
		say_features(item, old, now);
		if (old && now->tier < old->tier)
			kl_findings_add(&item->found, KL_ANSWER, "tier-lowered",
					"the kernel was judged in the tier %s, but the base's "
					"kernel in the tier %s",
					kl_tier_name(now->tier), kl_tier_name(old->tier));
	}
	return change->old ? kl_review_violations(&item->found, work, change->old, change->now) : 0;
}

/* --- commits ---------------------------------------------------------------------------------- */

static void review_commit(struct kl_review_work *work, const struct kl_verdict_lookup *lookup,
			  const struct kl_verdict_entry *one)
{
	const char *fate = fate_of(one);
	const struct kl_event *fail = kl_verdict_entry_failure(one);
	const struct kl_event *event = fail ? fail : kl_verdict_entry_pass(one);
	const struct kl_comparison *parent = event ? against_parent(event) : NULL;
	KL_AUTO(kl_freep) char *name = kl_strndup(one->commit, 10);
	KL_AUTO(kl_freep) char *title = fate_title(fate, lookup, event);
	struct kl_review_item *item = kl_review_add(work, KL_REVIEW_COMMITS, "%w %s: %w", name,
						    one->workload, title);

	kl_json_set_str(item->facts, "commit", one->commit);
	kl_json_set_str(item->facts, "workload", one->workload);
	kl_json_set_str(item->facts, "verdict", fate);
	verdict_facts(item->facts, lookup, event);
	/*
	 * this is only a note, because a later commit may have fixed the kernel; if none has, the
	 * failure of the head is a separate finding
	 */
	if (strcmp(fate, "pass"))
		say_missing(&item->found, KL_NOTE, one);
	else if (parent)
		kl_findings_add(&item->found, KL_NOTE, "speed",
				"%rx [%r, %r] against its parent: %w", parent->ratio.ppm,
				parent->ratio.lo, parent->ratio.hi, kl_speed_name(parent->speed));
}

static void say_bad_signatures(struct kl_review_work *work, const struct kl_verdict_lookup *lookup)
{
	KL_AUTO(kl_map_release) struct kl_map seen = KL_MAP_INIT;
	int64_t more = 0;

	for (size_t i = 0; i < lookup->trust.n; i++) {
		const struct kl_trust_line *line = &lookup->trust.v[i];
		KL_AUTO(kl_freep) char *id = kl_strndup(line->event->id, 12);

		if (line->sig.state != KL_SIGN_BAD || line->own ||
		    kl_map_put(&seen, line->event->id, work))
			continue;
		if (seen.n > MAX_BAD)
			more++;
		else
			kl_findings_add(&work->v->general, KL_ANSWER, "signature-bad",
					"the event %w in a note has a wrong "
					"signature and does not count: %s",
					id, line->sig.why);
	}
	if (more)
		kl_findings_add(&work->v->general, KL_ANSWER, "signature-bad",
				"and %d more events have wrong signatures", more);
}

/* Report retractions in notes that have no effect, because anybody can write such a retraction. */
static void say_ineffective(struct kl_review_work *work, const struct kl_verdict_lookup *lookup)
{
	KL_AUTO(kl_map_release) struct kl_map seen = KL_MAP_INIT;

	for (size_t i = 0; i < lookup->trust.n && seen.n < MAX_BAD; i++) {
		const struct kl_trust_line *line = &lookup->trust.v[i];
		KL_AUTO(kl_freep) char *id = NULL;

		if (!kl_trust_is_ineffective(&lookup->trust, line) ||
		    kl_map_put(&seen, line->event->of, work))
			continue;
		id = kl_strndup(line->event->of, 12);
		kl_findings_add(&work->v->general, KL_NOTE, "retraction-ineffective",
				"a note retracts the event %w without effect, because only this "
				"clone, or the allowed signer of that event, can retract it",
				id);
	}
}

int kl_review_kernels(struct kl_review_work *work)
{
	KL_AUTO(changes_release) struct changes all = { 0 };
	int err = find_changes(&all, work);

	all.lookup.trust.belief = work->belief;
	for (size_t i = 0; i < all.n && !err; i++) {
		struct change *change = &all.v[i];

		review_contract(work, change);
		if (!change->now)
			continue;
		change->at_now = all.lookup.n;
		kl_verdict_lookup_state(&all.lookup, change->now, &work->v->head);
		change->at_old = all.lookup.n;
		if (change->old)
			kl_verdict_lookup_state(&all.lookup, change->old, NULL);
	}
	if (!err && all.n) {
		size_t first = all.lookup.n;

		for (size_t i = 0; i < work->ncommit && !err; i++)
			err = kl_verdict_lookup_commit(&all.lookup, work->r, &work->commit[i]);
		if (!err)
			err = kl_verdict_lookup_run(&all.lookup, work->r);
		for (size_t i = 0; i < all.n && !err; i++)
			if (all.v[i].now)
				err = review_kernel(work, &all, &all.v[i]);
		for (size_t i = first; i < all.lookup.n && !err; i++)
			review_commit(work, &all.lookup, &all.lookup.one[i]);
		if (!err)
			say_bad_signatures(work, &all.lookup);
		if (!err)
			say_ineffective(work, &all.lookup);
	}
	return err;
}
