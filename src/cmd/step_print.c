/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/step_print.h"

#include <string.h>

#include "cmd/gate_print.h"

#define MOST_LEFT 10 /* most names of other files to print */

static const char *short_branch(const struct kl_worktree_step *step)
{
	return !strncmp(step->branch, "refs/heads/", 11) ? step->branch + 11 : step->branch;
}

static bool is_committed(const struct kl_worktree_step *step)
{
	return !git_oid_is_zero(&step->commit);
}

/* Return why the edit was not committed, in words; the caller frees it. */
static char *why_refused(const struct kl_worktree_step *step)
{
	double ratio = (double)step->ratio.ppm / 1e6;

	if (!strcmp(step->refused, "slower"))
		return kl_asprintf("it is right, but runs at %.3f times the speed of HEAD", ratio);
	if (!strcmp(step->refused, "not-fast"))
		return kl_asprintf("--require fast: it was not shown to be faster than HEAD");
	if (!strcmp(step->refused, "not-shown"))
		return kl_asprintf("--require not-slower: that was not shown");
	return kl_asprintf("%s", step->refused);
}

static const char *what_next(const struct kl_worktree_step *step)
{
	if (is_committed(step))
		return "edit on and step again, or take it back with 'git revert HEAD'";
	if (!strcmp(step->refused, "slower"))
		return "make it faster and step again, commit it anyway with --allow-slow, or take "
		       "the edit back with 'git restore'";
	if (!strcmp(step->refused, "inconclusive"))
		return "step again when the machine is quiet";
	return "mend the edit and step again, or take it back with 'git restore'";
}

static void print_left(const struct kl_worktree_step *step)
{
	if (!step->left.n)
		return;
	printf("left as %s: ", step->left.n == 1 ? "it is" : "they are");
	for (size_t i = 0; i < step->left.n && i < MOST_LEFT; i++)
		printf("%s%s", i ? ", " : "", step->left.v[i]);
	if (step->left.n > MOST_LEFT)
		printf(" and %zu more", step->left.n - MOST_LEFT);
	printf(" (changed, but no source of this kernel)\n");
}

static void print_claim(const struct kl_worktree_step *step)
{
	if (!step->card)
		return;
	if (step->trial && !*step->class_)
		printf("trial %lld of %s on this state: passed", (long long)step->trial,
		       step->card->id);
	else if (step->trial)
		printf("trial %lld of %s on this state: failed, %s%s%s", (long long)step->trial,
		       step->card->id, step->class_, step->missing ? ", the code lacks " : "",
		       step->missing ? step->missing : "");
	if (step->trial)
		printf(" (%s; made by hand, so it admits nothing)\n", kl_level_name(step->level));
	else if (step->noisy)
		printf("no trial of %s: noise hides whether the edit is faster\n", step->card->id);
	else
		printf("no trial of %s: this edit counts as one already\n", step->card->id);
	if (is_committed(step) && step->missing)
		printf("the commit does not name the card, because what it provides is not there\n");
}

void kl_step_say(const struct kl_worktree_step *step, const struct kl_term *term)
{
	char hex[KL_OID_HEX];

	kl_gate_print_verdict(step->judgement, step->to, term);
	if (is_committed(step)) {
		kl_oid_hex(hex, &step->commit);
		printf("committed %.10s on %s:", hex, short_branch(step));
		for (size_t i = 0; i < step->changed.n; i++)
			printf(" %s", step->changed.v[i]);
		putchar('\n');
	} else {
		KL_AUTO(kl_freep) char *why = why_refused(step);

		printf("not committed: %s; your files are as they were\n", why);
	}
	print_left(step);
	print_claim(step);
	fprintf(stderr, "hint: %s\n", what_next(step));
}

/* --- for programs --------------------------------------------------------------------------------- */

static json_t *list_json(const struct kl_strvec *list)
{
	json_t *value = json_array();

	for (size_t i = 0; i < list->n; i++) {
		KL_AUTO(json_decrefp) json_t *holder = json_object();

		kl_json_set_str(holder, "path", list->v[i]);
		json_array_append(value, json_object_get(holder, "path"));
	}
	return value;
}

static json_t *trial_json(const struct kl_worktree_step *step)
{
	json_t *value;

	if (!step->trial)
		return json_null();
	value = json_object();
	kl_json_set_int(value, "trial", step->trial);
	kl_json_set_str(value, "result", *step->class_ ? "fail" : "pass");
	kl_json_set_str(value, "class", *step->class_ ? step->class_ : NULL);
	kl_json_set_str(value, "missing", step->missing);
	kl_json_set_str(value, "level", kl_level_name(step->level));
	return value;
}

void kl_step_print_listing(const struct kl_listing *out, const struct kl_worktree_step *step)
{
	static const char *const fields[] = { "workload",  "branch", "parent",  "commit",
					      "verdict",   "class",  "refused", "speed",
					      "ratio_ppm", "event",  "card",    NULL };
	const struct kl_event *event = step->judgement->event;
	const char *class_ = kl_event_class(event);
	KL_AUTO(json_decrefp) json_t *value = json_object();
	char hex[KL_OID_HEX];

	kl_json_set_str(value, "schema", "klineage.step/1");
	kl_json_set_str(value, "workload", step->to->contract->workload);
	kl_json_set_str(value, "branch", short_branch(step));
	kl_oid_hex(hex, &step->parent);
	kl_json_set_str(value, "parent", hex);
	kl_oid_hex(hex, &step->commit);
	kl_json_set_str(value, "commit", is_committed(step) ? hex : NULL);
	kl_json_set_str(value, "verdict", kl_verdict_name(event->verdict));
	kl_json_set_str(value, "class", *class_ ? class_ : NULL);
	kl_json_set_str(value, "message", *event->message ? event->message : NULL);
	kl_json_set_str(value, "refused", *step->refused ? step->refused : NULL);
	kl_json_set_str(value, "speed", step->speed ? kl_speed_name(step->speed) : NULL);
	kl_json_set_int(value, "ratio_ppm", step->ratio.ppm);
	kl_json_set_int(value, "lo_ppm", step->ratio.lo);
	kl_json_set_int(value, "hi_ppm", step->ratio.hi);
	kl_json_set_str(value, "event", event->id);
	kl_json_set(value, "files", list_json(&step->changed));
	kl_json_set(value, "left", list_json(&step->left));
	kl_json_set_str(value, "card", step->card ? step->card->id : NULL);
	kl_json_set(value, "trial", trial_json(step));
	kl_json_set_str(value, "next", what_next(step));
	kl_listing_print(out, value, NULL, fields);
}
