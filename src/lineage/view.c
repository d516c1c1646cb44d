/* SPDX-License-Identifier: Apache-2.0 */
#include "lineage/view.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "event/chain.h"
#include "event/label.h"
#include "event/speed.h"
#include "repo/notes.h"
#include "text/canon.h"
#include "walk/rejection.h"
#include "walk/sequencer.h"

#define LINEAGES "refs/heads/klineage/lineage/"
#define MAX_HINTS 20
#define MAX_STEPS 1000000

static void step_release(struct kl_view_step *step)
{
	kl_step_release(&step->step);
	kl_strvec_release(&step->gained);
	kl_strvec_release(&step->lost);
	kl_strvec_release(&step->features);
	free(step->label);
	free(step->labeller);
}

void kl_view_release(struct kl_view *view)
{
	for (size_t i = 0; i < view->n; i++)
		step_release(&view->step[i]);
	free(view->step);
	free(view->workload);
	free(view->name);
	*view = (struct kl_view){ 0 };
}

int kl_view_split(char **workload, char **name, const char *ref)
{
	size_t n = strlen(LINEAGES);
	const char *slash = strncmp(ref, LINEAGES, n) ? NULL : strchr(ref + n, '/');

	if (!slash || strchr(slash + 1, '/'))
		return kl_error(KL_EINVALID, "'%s' is not the ref of a lineage", ref);
	*workload = kl_strndup(ref + n, slash - ref - n);
	*name = kl_strdup(slash + 1);
	return 0;
}

int kl_view_list(struct kl_strvec *out, struct kl_repo *repo, const char *what)
{
	struct kl_ref_list list = { 0 };
	KL_AUTO(kl_freep) char *want = NULL;
	size_t n;
	int err = kl_refs_list(&list, repo, LINEAGES);

	if (what && !strncmp(what, "refs/", 5))
		want = kl_strdup(what);
	else if (what && !strncmp(what, "klineage/lineage/", 17))
		want = kl_asprintf("refs/heads/%s", what);
	else
		want = kl_asprintf("%s%s", LINEAGES, what ? what : "");
	n = strlen(want);
	for (size_t i = 0; !err && i < list.n; i++) {
		const char *ref = list.ref[i].name;

		/*
		 * `want` must end where a component of the ref ends: "sgemm" does not match
		 * "sgemm2"
		 */
		if (!strncmp(ref, want, n) && (!ref[n] || ref[n] == '/' || want[n - 1] == '/'))
			kl_strvec_push(out, ref);
	}
	kl_ref_list_release(&list);
	return err;
}

int kl_view_none(struct kl_repo *repo, const char *what)
{
	KL_AUTO(kl_ref_list_release) struct kl_ref_list list = { 0 };
	int err = strchr(what, '/') ? 0 : kl_refs_list(&list, repo, LINEAGES);

	if (err < 0)
		return err;
	err = kl_error(KL_ENOTFOUND, "there is no lineage '%s' here", what);
	for (size_t i = 0, n = 0; i < list.n && n < MAX_HINTS; i++) {
		const char *name = list.ref[i].name + strlen(LINEAGES), *slash = strchr(name, '/');

		if (slash && !strcmp(slash + 1, what)) {
			kl_error_hint(err, "did you mean '%s'?", name);
			n++;
		}
	}
	return err;
}

int kl_view_pick(char **workload, char **name, struct kl_repo *repo, const char *what)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec refs = KL_STRVEC_INIT;
	int err = kl_view_list(&refs, repo, what);

	if (err < 0)
		return err;
	if (refs.n == 1)
		return kl_view_split(workload, name, refs.v[0]);
	if (!refs.n && what)
		return kl_view_none(repo, what);
	if (!refs.n)
		return kl_error_hint(
			kl_error(KL_ENOTFOUND, "there is no lineage in this repository yet"),
			"create one with 'git klineage deopt' or 'git klineage import'");
	err = kl_error(KL_EUSAGE, "there are %zu lineages%s%s: name one of them", refs.n,
		       what ? " of " : "", what ? what : "");
	for (size_t i = 0; i < refs.n && i < MAX_HINTS; i++)
		kl_error_hint(err, "%s", refs.v[i] + strlen(LINEAGES));
	return err;
}

/* --- loading commits -------------------------------------------------------- */

static int load_commits(struct kl_view *view, struct kl_repo *repo, const git_oid *tip)
{
	size_t alloc = 0;
	git_oid at = *tip;

	for (bool more = true; more;) {
		struct kl_commit commit = { 0 };
		struct kl_view_step *step;
		char hex[KL_OID_HEX];
		int err = kl_repo_commit_read(&commit, repo, &at);

		if (err < 0)
			return err;
		KL_GROW(view->step, view->n + 1, alloc);
		step = &view->step[view->n];
		*step = (struct kl_view_step){ .commit = at };
		kl_oid_hex(hex, &at);
		err = kl_step_parse(&step->step, hex, commit.message);
		more = commit.nparent > 0;
		if (more)
			at = commit.parent[0];
		if (commit.nparent > 1)
			step->rederived = commit.parent[1];
		kl_commit_release(&commit);
		if (err < 0)
			return kl_error_in(err, "%s", view->ref);
		if (++view->n > MAX_STEPS)
			return kl_error(KL_EINVALID, "%s has more than %d steps", view->ref,
					MAX_STEPS);
	}
	for (size_t i = 0; i < view->n / 2; i++) {
		struct kl_view_step tmp = view->step[i];

		view->step[i] = view->step[view->n - 1 - i];
		view->step[view->n - 1 - i] = tmp;
	}
	return 0;
}

/* --- taking results from an event -------------------------------------------- */

static void copy_text(char *to, size_t n, const char *from)
{
	snprintf(to, n, "%s", from);
}

static struct kl_ratio ratio_of(const struct kl_comparison *comparison)
{
	return (struct kl_ratio){ comparison->ratio.ppm, comparison->ratio.lo,
				  comparison->ratio.hi };
}

static void read_event(struct kl_view_step *step, const struct kl_event *event)
{
	const struct kl_comparison *parent = kl_comparisons_parent(&event->profile.vs);
	const struct kl_comparison *baseline = kl_comparisons_baseline(&event->profile.vs);

	copy_text(step->event, sizeof(step->event), event->id);
	kl_strvec_copy(&step->features, &event->facts.features);
	step->features_version = event->facts.features_version;
	step->verdict = event->verdict;
	step->outdated = kl_event_is_outdated(event);
	step->tier = event->tier;
	step->ns = event->profile.ns;
	copy_text(step->device, sizeof(step->device), event->place.device);
	if (baseline) {
		step->baseline_ppm = baseline->ratio.ppm;
		copy_text(step->baseline, sizeof(step->baseline), baseline->what);
	}
	/* only a forward event compares the state with the state before it in the lineage */
	if ((!event->inverse.there && !event->session.there) || !parent)
		return;
	step->prev = ratio_of(parent);
	step->speed = parent->speed;
}

/* --- reading events in notes ------------------------------------------------ */

struct noting {
	struct kl_view *v;
	struct kl_map index; /* commit in hex -> its step; borrowed */
};

static bool is_forward(const char *line, size_t n)
{
	return memmem(line, n, "\"inverse\":", 10) || memmem(line, n, "\"session\":", 10);
}

/* Check that a line is a check or a label, not a verdict of the whole gate. */
static bool is_other(const char *line, size_t n)
{
	return memmem(line, n, "\"kind\":\"check\"", 14) ||
	       memmem(line, n, "\"kind\":\"label\"", 14);
}

/*
 * Read an event from a line of a note. Return NULL if the line is not an event. The event is not
 * verified, because fsck does that.
 */
static struct kl_event *read_line(const char *line, size_t n)
{
	KL_AUTO(json_decrefp) json_t *doc = NULL;

	if (!kl_canon_load(&doc, NULL, line, n) && kl_json_parse(&doc, line, n) < 0)
		return NULL;
	return kl_event_from_json(doc);
}

/*
 * Return the newest forward event in a note; if there is none, the newest event that is neither a
 * check nor a label. Return NULL if the note has neither.
 */
static struct kl_event *pick_event(const char *text, size_t len)
{
	bool forward = is_forward(text, len);
	struct kl_event *best = NULL;
	size_t n;

	for (const char *at = text, *end = text + len; at < end; at += n + 1) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		struct kl_event *event;

		n = (size_t)((nl ? nl : end) - at);
		if (!n || (forward && !is_forward(at, n)) || is_other(at, n) ||
		    !(event = read_line(at, n)))
			continue;
		if (best && strcmp(best->time, event->time) >= 0) {
			kl_event_free(event);
			continue;
		}
		kl_event_free(best);
		best = event;
	}
	kl_error_clear();
	return best;
}

static void read_label(struct kl_view_step *step, const char *text, size_t len)
{
	KL_AUTO(kl_event_freep) struct kl_event *label = NULL;

	kl_label_in_note(&label, text, len);
	if (!label)
		return;
	step->label = kl_strdup(label->mechanism);
	step->labeller = kl_label_author(label);
}

static int on_note(const git_oid *commit, const char *text, size_t len, void *payload)
{
	struct noting *noting = payload;
	struct kl_view_step *step;
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, commit);
	step = kl_map_get(&noting->index, hex);
	if (step && !*step->event) {
		/*
		 * read the results now: keeping thousands of parsed events would need too much
		 * memory
		 */
		KL_AUTO(kl_event_freep) struct kl_event *event = pick_event(text, len);

		if (event)
			read_event(step, event);
		read_label(step, text, len);
	}
	return 0;
}

static int load_events(struct kl_view *view, struct kl_repo *repo)
{
	struct noting noting = { .v = view };
	int err;

	for (size_t i = 0; i < view->n; i++) {
		char hex[KL_OID_HEX];

		kl_oid_hex(hex, &view->step[i].commit);
		kl_map_put(&noting.index, hex, &view->step[i]);
	}
	err = kl_notes_each(repo, KL_NOTES_GATE, on_note, &noting);
	kl_map_release(&noting.index);
	if (err != KL_ENOTFOUND)
		return err;
	kl_error_clear(); /* this clone has no notes */
	return 0;
}

/* --- comparing states ------------------------------------------------------ */

static void accumulate_steps(struct kl_view *view)
{
	struct kl_chain chain = { 0 };

	for (size_t i = 1; i < view->n; i++) {
		const struct kl_ratio *prev = &view->step[i].prev;
		struct kl_comparison link = {
			.ratio.ppm = prev->ppm, .ratio.lo = prev->lo, .ratio.hi = prev->hi,
		}, whole;

		if (!kl_chain_add(&chain, &link, 0))
			/*
			 * a ratio is missing, so the speed compared with K_0 is unknown from here
			 * on
			 */
			return;
		whole = kl_chain_ratio(&chain);
		view->step[i].root = ratio_of(&whole);
	}
}

static void compare_features(struct kl_view *view)
{
	for (size_t i = 1; i < view->n; i++) {
		struct kl_view_step *step = &view->step[i], *before = &view->step[i - 1];

		if (!*step->event || !*before->event)
			continue;
		kl_features_minus(&step->gained, &step->features, &before->features,
				  before->features_version);
		kl_features_minus(&step->lost, &before->features, &step->features,
				  step->features_version);
	}
}

void kl_view_factor(char out[24], double value)
{
	snprintf(out, 24, "%.*f", value >= 100 ? 0 : value >= 10 ? 1 : 2, value);
}

/* --- loading rejected steps -------------------------------------------------- */

void kl_view_rejections_release(struct kl_view_rejections *rejections)
{
	for (size_t i = 0; i < rejections->n; i++)
		kl_step_release(&rejections->r[i].step);
	free(rejections->r);
	*rejections = (struct kl_view_rejections){ 0 };
}

int kl_view_rejections(struct kl_view_rejections *out, struct kl_repo *repo, const char *workload,
		       const char *name)
{
	char ref[256];
	git_oid at;
	int err;

	*out = (struct kl_view_rejections){ 0 };
	kl_lineage_ref(ref, "rejected", workload, name);
	err = kl_refs_get(&at, repo, ref);
	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		return 0;
	}
	for (bool more = !err; more && out->n < MAX_STEPS;) {
		struct kl_commit commit = { 0 };
		struct kl_view_rejection *rejection;

		if ((err = kl_repo_commit_read(&commit, repo, &at)) < 0)
			break;
		KL_GROW(out->r, out->n + 1, out->alloc);
		rejection = &out->r[out->n];
		*rejection = (struct kl_view_rejection){ .commit = at };
		err = commit.nparent ? kl_step_parse(&rejection->step, ref, commit.message) :
				       kl_error(KL_EINVALID,
						"%s: a rejected step has no parent commit", ref);
		out->n += !err;
		more = !err && commit.nparent > 1;
		if (!err)
			rejection->on = commit.parent[0];
		if (more)
			at = commit.parent[1];
		kl_commit_release(&commit);
	}
	if (err < 0)
		kl_view_rejections_release(out);
	return err;
}

int kl_view_event(struct kl_event **out, struct kl_repo *repo, const git_oid *commit)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = kl_notes_read(&text, repo, KL_NOTES_GATE, commit);

	if (err < 0)
		return err;
	*out = pick_event(text.ptr, text.len);
	return *out ? 0 : kl_error(KL_ENOTFOUND, "no gate event in this clone");
}

static bool is_same_text(const char *a, const char *b)
{
	return *a && !strcmp(a, b);
}

const char *kl_view_rederived(struct kl_ratio *against, struct kl_repo *repo,
			      const struct kl_view_step *step)
{
	KL_AUTO(kl_event_freep) struct kl_event *own = NULL, *goal = NULL;

	*against = (struct kl_ratio){ 0 };
	if (kl_view_event(&own, repo, &step->rederived) < 0 ||
	    kl_view_event(&goal, repo, &step->commit) < 0) {
		kl_error_clear();
		return "";
	}
	if (is_same_text(own->surface, goal->surface))
		return "the same files";
	if (kl_event_is_against(own, goal->surface) &&
	    (kl_speed_is_not_slower(&own->profile) || kl_speed_is_slower(&own->profile)))
		*against = ratio_of(kl_comparisons_parent(&own->profile.vs));
	else if (is_same_text(own->facts.code_digest, goal->facts.code_digest))
		return "the same machine code";
	return "";
}

/* Return true for a backward step that was rejected, but not for a state that was passed over. */
static bool is_rejected(const struct kl_step *step)
{
	return !step->forward && !kl_rejection_is_passed_over(step->rewriter ? step->rewriter : "",
							      step->class_ ? step->class_ : "");
}

int kl_view_load(struct kl_view *out, struct kl_repo *repo, const char *workload, const char *name)
{
	struct kl_view_rejections rejections;
	git_oid tip;
	int err;

	*out = (struct kl_view){ .workload = kl_strdup(workload), .name = kl_strdup(name) };
	kl_lineage_ref(out->ref, "lineage", workload, name);
	err = kl_refs_get(&tip, repo, out->ref);
	if (err == KL_ENOTFOUND)
		err = kl_error(KL_ENOTFOUND, "there is no lineage '%s/%s' here", workload, name);
	if (!err && !(err = load_commits(out, repo, &tip)) && !(err = load_events(out, repo)) &&
	    !(err = kl_view_rejections(&rejections, repo, workload, name))) {
		for (size_t i = 0; i < rejections.n; i++)
			out->rejected += is_rejected(&rejections.r[i].step);
		kl_view_rejections_release(&rejections);
		compare_features(out);
		accumulate_steps(out);
	}
	if (err < 0)
		kl_view_release(out);
	return err;
}
