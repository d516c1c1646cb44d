/* SPDX-License-Identifier: Apache-2.0 */
/* review_kernels - the contracts, kernels and commits of a range */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "contract/changed_kernels.h"
#include "event/chain.h"
#include "event/verdict_lookup.h"
#include "review/contract_diff.h"
#include "review/review_parts.h"

#define MAX_BAD 20 /* signatures that are told one by one */

/*
 * A kernel as the base has it and as the head has it; with a contract that was moved, at another
 * place.
 */
struct change {
	const char *dir, *workload;   /* of the head; gone: of the base */
	struct kl_surface *old, *now; /* old is owned; NULL: not there */
	const char *why, *old_why;    /* it cannot be read */
	size_t at_old, at_now;        /* in what is judged */
	bool moved;                   /* its base stands elsewhere: told there */
};

struct changes {
	struct kl_changed changed;
	struct change *v;
	size_t n;
	struct kl_strvec whys;
	struct kl_judged judged;
};

static void changes_release(struct changes *c)
{
	for (size_t i = 0; i < c->n; i++)
		kl_surface_free(c->v[i].old);
	free(c->v);
	kl_changed_release(&c->changed);
	kl_strvec_release(&c->whys);
	kl_judged_release(&c->judged);
}

/* --- what changed ------------------------------------------------------------------- */

static int read_old(struct change *c, struct changes *all, struct kl_review_work *w)
{
	int err = kl_surface_from_tree(&c->old, w->r, &w->base_tree, c->dir);

	if (err == KL_EIO || err == KL_EINTR)
		return err;
	if (err < 0 && err != KL_ENOTFOUND) {
		kl_strvec_push(&all->whys, kl_error_last());
		c->old_why = all->whys.v[all->whys.n - 1];
	}
	kl_error_clear();
	return 0;
}

/* A contract that is gone here and new there, of one workload, was moved. */
static void find_moved(struct changes *all)
{
	for (size_t i = 0; i < all->n; i++) {
		struct change *gone = &all->v[i];

		if (gone->now || gone->why || !gone->old)
			continue;
		for (size_t k = 0; k < all->n; k++) {
			struct change *c = &all->v[k];

			if (c->now && !c->old &&
			    !strcmp(c->now->contract->workload, gone->old->contract->workload)) {
				c->old = kl_steal(&gone->old);
				gone->moved = true;
				break;
			}
		}
	}
}

static int find_changes(struct changes *all, struct kl_review_work *w)
{
	int err = kl_changed(&all->changed, w->r, &w->base_tree, &w->head_tree);

	all->v = kl_calloc(all->changed.n + 1, sizeof(*all->v));
	for (size_t i = 0; i < all->changed.n && !err; i++) {
		const struct kl_changed_one *one = &all->changed.one[i];
		struct change *c = &all->v[all->n++];

		*c = (struct change){
			.dir = one->dir,
			.workload = one->workload,
			.now = one->now,
			.why = one->why,
		};
		err = read_old(c, all, w);
	}
	if (!err)
		find_moved(all);
	return err;
}

/* --- contracts ------------------------------------------------------------------------- */

static struct kl_review_item *add_contract(struct kl_review_work *w, const struct change *c,
					   const char *how)
{
	KL_AUTO(kl_freep) char *path = kl_asprintf("%s%s" KL_CONTRACT_FILE, c->dir,
						   *c->dir ? "/" : "");
	struct kl_review_item *item = kl_review_add(w, KL_REVIEW_CONTRACTS, "%s %w", path, how);

	kl_json_set_str(item->facts, "path", path);
	kl_json_set_str(item->facts, "workload", c->workload);
	kl_json_set_str(item->facts, "change", how);
	return item;
}

static void review_contract(struct kl_review_work *w, const struct change *c)
{
	struct kl_findings *f;

	if (c->why) {
		f = &add_contract(w, c, "broken")->found;
		kl_findings_add(f, KL_ANSWER, "contract-broken", "it cannot be read: %s", c->why);
	} else if (!c->now && !c->moved) {
		f = &add_contract(w, c, "removed")->found;
		kl_findings_add(f, KL_ANSWER, "contract-removed",
				"the contract is gone: nobody judges %s any more", c->workload);
	} else if (c->now && !c->old) {
		f = &add_contract(w, c, "added")->found;
		kl_findings_add(f, KL_NOTE, "contract-added",
				"a new contract; the base has nothing to hold it against");
		if (c->old_why)
			kl_findings_add(f, KL_NOTE, "contract-mended",
					"that of the base cannot be read: %s", c->old_why);
	} else if (c->now && strcmp(c->old->contract_digest, c->now->contract_digest)) {
		f = &add_contract(w, c, "changed")->found;
		kl_contract_diff(f, c->old, c->now);
		if (strcmp(c->old->dir, c->now->dir))
			kl_findings_add(f, KL_NOTE, "contract-moved", "it was in %s", c->old->dir);
		if (!f->n)
			kl_findings_add(f, KL_NOTE, "contract-same",
					"it is written otherwise and asks for the same");
		else
			kl_findings_add(f, KL_NOTE, "contract-base",
					"verdicts below were reached under it, not under "
					"the base's");
	}
}

/* --- ratios ------------------------------------------------------------------------------- */

/* Against the base: measured, or put together. */
struct ratio {
	struct kl_comparison is;
	bool direct;
};

/* What an event says of its kernel against a parent; NULL: nothing. */
static const struct kl_comparison *against_parent(const struct kl_event *event)
{
	const struct kl_comparison *parent = kl_comparisons_parent(&event->profile.vs);

	return parent && parent->ratio_ppm > 0 && parent->lo_ppm > 0 && parent->hi_ppm > 0 ?
		       parent :
		       NULL;
}

static const struct kl_event *judged_surface(const struct kl_judged *j, const char *surface,
					     const struct kl_event *like)
{
	for (size_t i = 0; i < j->n; i++) {
		const struct kl_event *event = strcmp(j->one[i].surface, surface) ?
						       NULL :
						       kl_judged_pass(&j->one[i]);

		if (event && !strcmp(event->place.id, like->place.id))
			return event;
	}
	return NULL;
}

/* From state to state, back to the base; false: something on the way was not compared. */
static bool ratio_to(struct ratio *out, const struct kl_judged *j, const struct kl_event *event,
		     const char *base)
{
	const struct kl_comparison *link = against_parent(event);
	struct kl_chain chain = { 0 };

	if (link && !strcmp(link->surface, base)) {
		*out = (struct ratio){ .is = *link, .direct = true };
		return true;
	}
	for (size_t n = 0; n <= j->n && link; n++) {
		kl_chain_add(&chain, link, event->profile.aa_ppm);
		if (!strcmp(link->surface, base)) {
			*out = (struct ratio){ .is = kl_chain_ratio(&chain) };
			return true;
		}
		event = judged_surface(j, link->surface, event);
		link = event ? against_parent(event) : NULL;
	}
	return false;
}

/* --- features ------------------------------------------------------------------------------ */

static json_t *strings_json(const struct kl_strvec *v)
{
	json_t *list = json_array();

	for (size_t i = 0; i < v->n; i++)
		json_array_append_new(list, json_string(v->v[i]));
	return list;
}

static void say_list(struct kl_findings *f, const char *code, const char *fmt,
		     const struct kl_strvec *v)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;

	for (size_t i = 0; i < v->n; i++)
		kl_buf_addf(&b, "%s%s", i ? ", " : "", v->v[i]);
	if (v->n)
		kl_findings_add(f, KL_NOTE, code, fmt, b.ptr);
}

static void say_features(struct kl_review_item *item, const struct kl_event *old,
			 const struct kl_event *now)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec gained = KL_STRVEC_INIT, lost = KL_STRVEC_INIT;

	if (!old || !old->compiled || !now->compiled)
		return;
	kl_strvec_minus(&gained, &now->facts.features, &old->facts.features);
	kl_strvec_minus(&lost, &old->facts.features, &now->facts.features);
	say_list(&item->found, "feature-gained", "gained %s", &gained);
	say_list(&item->found, "feature-lost", "lost %s", &lost);
	kl_json_set(item->facts, "gained", strings_json(&gained));
	kl_json_set(item->facts, "lost", strings_json(&lost));
}

/* --- kernels --------------------------------------------------------------------------------- */

/* Of the lines that an event was read from the one with the best signature. */
static const struct kl_trust_line *line_of(const struct kl_judged *j, const struct kl_event *event)
{
	const struct kl_trust_line *found = NULL;

	for (size_t i = 0; i < j->trust.n; i++) {
		const struct kl_trust_line *l = &j->trust.v[i];

		if (!l->counts || strcmp(l->event->id, event->id))
			continue;
		if (!found || l->sig.state == KL_SIGN_GOOD || found->sig.state == KL_SIGN_NONE)
			found = l;
		if (found->sig.state == KL_SIGN_GOOD)
			break;
	}
	return found;
}

/* Members that every verdict has. */
static void verdict_facts(json_t *facts, const struct kl_judged *j, const struct kl_event *event)
{
	const struct kl_trust_line *l = event ? line_of(j, event) : NULL;
	const char *class_ = event ? kl_event_class(event) : "";

	if (!event)
		return;
	kl_json_set_str(facts, "event", event->id);
	kl_json_set_str(facts, "platform", event->place.id);
	kl_json_set_str(facts, "class", *class_ ? class_ : NULL);
	kl_json_set_str(facts, "signature", l ? kl_sign_state_name(l->sig.state) : NULL);
	kl_json_set_str(facts, "signer", l && l->sig.state == KL_SIGN_GOOD ? l->sig.who : NULL);
}

/* One word for what is known of a state. */
static const char *fate_of(const struct kl_judged_one *one)
{
	return one->why               ? "unreadable" :
	       kl_judged_failure(one) ? "fail" :
	       kl_judged_pass(one)    ? "pass" :
	       one->unsigned_         ? "unsigned" :
	       kl_judged_checked(one) ? "checked" :
	       one->stale             ? "stale" :
					"missing";
}

/* Why a state without a passing verdict has none. */
static void say_missing(struct kl_findings *f, enum kl_weight weight,
			const struct kl_judged_one *one)
{
	const struct kl_event *fail = kl_judged_failure(one);
	const char *fate = fate_of(one);

	if (one->why)
		kl_findings_add(f, weight, "verdict-unreadable", "it cannot be judged: %s",
				one->why);
	else if (fail)
		kl_findings_add(f, weight, "verdict-fail", "it fails: %s, %s",
				*kl_event_class(fail) ? kl_event_class(fail) : "?",
				*fail->message ? fail->message : "without a word");
	else if (!strcmp(fate, "unsigned"))
		kl_findings_add(f, weight, "verdict-unsigned",
				"it passed, says a note; but nobody whom "
				"gpg.ssh.allowedSignersFile names has signed that");
	else if (!strcmp(fate, "checked"))
		kl_findings_add(f, weight, "verdict-checked",
				"only the quick stages have judged it");
	else if (!strcmp(fate, "stale"))
		kl_findings_add(f, weight, "verdict-stale",
				"its verdict is stale: the note was made for other files");
	else
		kl_findings_add(f, weight, "verdict-missing", "nobody has judged it");
}

static void say_speed(struct kl_review_item *item, const struct changes *all,
		      const struct change *c, const struct kl_event *now)
{
	struct ratio r;
	bool slow;

	if (!strcmp(c->old->digest, c->now->digest)) {
		kl_findings_add(&item->found, KL_NOTE, "same-kernel",
				"the kernel is the base's, %w",
				strcmp(c->old->contract_digest, c->now->contract_digest) ?
					"under another contract" :
					"at another place");
		return;
	}
	if (!ratio_to(&r, &all->judged, now, c->old->digest)) {
		kl_findings_add(&item->found, KL_NOTE, "not-compared",
				"nothing says how fast it is against the base");
		return;
	}
	kl_json_set(item->facts, "base",
		    json_pack("{s:I,s:I,s:I,s:b}", "ratio_ppm", (json_int_t)r.is.ratio_ppm,
			      "lo_ppm", (json_int_t)r.is.lo_ppm, "hi_ppm", (json_int_t)r.is.hi_ppm,
			      "direct", r.direct));
	slow = r.is.speed == KL_SPEED_SLOW;
	kl_findings_add(&item->found, slow ? KL_ANSWER : KL_NOTE, slow ? "slower" : "speed",
			"%rx [%r, %r] against the base%w: %w", r.is.ratio_ppm, r.is.lo_ppm,
			r.is.hi_ppm, r.direct ? "" : ", from commit to commit",
			kl_speed_name(r.is.speed));
}

static int review_kernel(struct kl_review_work *w, const struct changes *all,
			 const struct change *c)
{
	const struct kl_judged_one *one = &all->judged.one[c->at_now];
	const struct kl_event *fail = kl_judged_failure(one);
	const struct kl_event *now = fail ? NULL : kl_judged_pass(one), *old = NULL;
	struct kl_review_item *item = kl_review_add(w, KL_REVIEW_KERNELS, "%s in %s: %w",
						    c->workload, *c->dir ? c->dir : ".",
						    fate_of(one));

	kl_json_set_str(item->facts, "workload", c->workload);
	kl_json_set_str(item->facts, "dir", c->dir);
	kl_json_set_str(item->facts, "surface", c->now->digest);
	kl_json_set_str(item->facts, "verdict", fate_of(one));
	verdict_facts(item->facts, &all->judged, now ? now : fail);
	if (!now)
		say_missing(&item->found, KL_ANSWER, one);
	if (now && c->old) {
		old = judged_surface(&all->judged, c->old->digest, now);
		say_speed(item, all, c, now);
		say_features(item, old, now);
		if (old && now->tier < old->tier)
			kl_findings_add(&item->found, KL_ANSWER, "tier-lowered",
					"it was judged in the tier %s, the base in %s",
					kl_tier_name(now->tier), kl_tier_name(old->tier));
	}
	return c->old ? kl_review_violations(&item->found, w, c->old, c->now) : 0;
}

/* --- commits ---------------------------------------------------------------------------------- */

static void review_commit(struct kl_review_work *w, const struct kl_judged *j,
			  const struct kl_judged_one *one)
{
	const char *fate = fate_of(one);
	const struct kl_event *fail = kl_judged_failure(one);
	const struct kl_event *event = fail ? fail : kl_judged_pass(one);
	const struct kl_comparison *parent = event ? against_parent(event) : NULL;
	KL_AUTO(kl_freep) char *name = kl_strndup(one->commit, 10);
	struct kl_review_item *item = kl_review_add(w, KL_REVIEW_COMMITS, "%w %s: %w", name,
						    one->workload, fate);

	kl_json_set_str(item->facts, "commit", one->commit);
	kl_json_set_str(item->facts, "workload", one->workload);
	kl_json_set_str(item->facts, "verdict", fate);
	verdict_facts(item->facts, j, event);
	/* what matters of a state that was left again is told of the last one */
	if (strcmp(fate, "pass"))
		say_missing(&item->found, KL_NOTE, one);
	else if (parent)
		kl_findings_add(&item->found, KL_NOTE, "speed",
				"%rx [%r, %r] against its parent: %w", parent->ratio_ppm,
				parent->lo_ppm, parent->hi_ppm, kl_speed_name(parent->speed));
}

static void say_bad_signatures(struct kl_review_work *w, const struct kl_judged *j)
{
	KL_AUTO(kl_map_release) struct kl_map seen = KL_MAP_INIT;
	int64_t more = 0;

	for (size_t i = 0; i < j->trust.n; i++) {
		const struct kl_trust_line *l = &j->trust.v[i];
		KL_AUTO(kl_freep) char *id = kl_strndup(l->event->id, 12);

		if (l->sig.state != KL_SIGN_BAD || kl_map_put(&seen, l->event->id, w))
			continue;
		if (seen.n > MAX_BAD)
			more++;
		else
			kl_findings_add(&w->v->general, KL_ANSWER, "signature-bad",
					"the event %w in a note has a wrong "
					"signature and does not count: %s",
					id, l->sig.why);
	}
	if (more)
		kl_findings_add(&w->v->general, KL_ANSWER, "signature-bad", "so have %d more",
				more);
}

int kl_review_kernels(struct kl_review_work *w)
{
	KL_AUTO(changes_release) struct changes all = { 0 };
	int err = find_changes(&all, w);

	for (size_t i = 0; i < all.n && !err; i++) {
		struct change *c = &all.v[i];

		review_contract(w, c);
		if (!c->now)
			continue;
		c->at_now = all.judged.n;
		kl_judged_state(&all.judged, c->now, &w->v->head);
		c->at_old = all.judged.n;
		if (c->old)
			kl_judged_state(&all.judged, c->old, NULL);
	}
	if (!err && all.n) {
		size_t first = all.judged.n;

		for (size_t i = 0; i < w->ncommit && !err; i++)
			err = kl_judged_commit(&all.judged, w->r, &w->commit[i]);
		if (!err)
			err = kl_judged_find(&all.judged, w->r);
		for (size_t i = 0; i < all.n && !err; i++)
			if (all.v[i].now)
				err = review_kernel(w, &all, &all.v[i]);
		for (size_t i = first; i < all.judged.n && !err; i++)
			review_commit(w, &all.judged, &all.judged.one[i]);
		if (!err)
			say_bad_signatures(w, &all.judged);
	}
	return err;
}
