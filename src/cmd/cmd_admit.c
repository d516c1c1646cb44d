/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_admit - git klineage admit: one held-out trial of a card */
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/listing.h"
#include "cmd/opt.h"
#include "cmd/skill_model.h"
#include "learn/admit.h"

static const char synopsis[] = "admit [<options>] <card>";

#define MAX_WHY 12 /* states that are named when none can be tried */

static const struct kl_admit_state *chosen_state(const struct kl_admission *a)
{
	return a->chosen < a->n ? &a->v[a->chosen] : NULL;
}

static void print_none(const struct kl_admission *a)
{
	if (!a->n)
		printf("%s: there is no lineage here to try it on\n", a->card->id);
	else
		printf("%s: no state of %zu can be tried\n", a->card->id, a->n);
	for (size_t i = 0; i < a->n && i < MAX_WHY; i++)
		printf("  %s K_%d: %s\n", a->v[i].lineage, a->v[i].step,
		       a->v[i].why ? a->v[i].why : "");
	if (a->n > MAX_WHY)
		printf("  and %zu more\n", a->n - MAX_WHY);
}

static void print_control(const char *what, const struct kl_card_control *c)
{
	KL_AUTO(kl_buf_release) struct kl_buf ratio = KL_BUF_INIT;

	if (!c->there)
		return;
	printf("  %s: %s%s%s", what, c->result == KL_RESULT_PASS ? "passed" : "failed",
	       c->class_ ? ", " : "", c->class_ ? c->class_ : "");
	if (c->ratio.ppm) {
		kl_card_decimal(&ratio, c->ratio.ppm);
		printf("; %s times the speed", ratio.ptr);
	}
	putchar('\n');
}

static void print_others(const struct kl_admission *a, const struct kl_card_trial *t)
{
	if (t->with.n)
		printf("  with %s\n", t->with.v[0]);
	print_control("that card alone", &t->alone);
	print_control("the intent alone", &t->control);
	if (t->how == KL_HOW_AGENT)
		printf("  by %s, %lld repair%s\n", t->model ? t->model : "a model",
		       (long long)t->repairs, t->repairs == 1 ? "" : "s");
}

static void print_trial(const struct kl_admission *a)
{
	const struct kl_admit_state *s = chosen_state(a);
	const struct kl_card_trial *t = a->trial;
	KL_AUTO(kl_buf_release) struct kl_buf ratio = KL_BUF_INIT;
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, &s->commit);
	printf("%s on %s K_%d (%.10s), %s%s\n", a->card->id, s->lineage, s->step, hex,
	       kl_level_name(s->level), t ? "" : ": it would be tried");
	if (!t)
		return;
	printf("  %s%s%s", t->result == KL_RESULT_PASS ? "passed" : "failed", t->class_ ? ", " : "",
	       t->class_ ? t->class_ : "");
	if (t->ratio.ppm) {
		kl_card_decimal(&ratio, t->ratio.ppm);
		printf("; %s times the speed", ratio.ptr);
	}
	if (t->event)
		printf("; event %.12s, commit %.10s", t->event, t->made);
	putchar('\n');
	print_others(a, t);
	printf("  %s -> %s\n", kl_card_status_name(a->before),
	       kl_card_status_name(a->card->status));
}

static void print_listing(const struct kl_listing *out, const struct kl_admission *a, bool dry)
{
	static const char *const fields[] = {
		"card",          "before",     "status",       "result",      "class",
		"state.lineage", "state.step", "state.commit", "state.level", "ratio_ppm",
		"repairs",       "how",        "with",         "control",     "event",
		"made",          NULL
	};
	KL_AUTO(json_decrefp) json_t *j = json_object();
	const struct kl_admit_state *s = chosen_state(a);
	const struct kl_card_trial *t = a->trial;
	json_t *left = json_array(), *state = json_object();
	char hex[KL_OID_HEX];

	for (size_t i = 0; i < a->n; i++) {
		json_t *one;

		if (!a->v[i].why)
			continue;
		one = json_object();
		kl_json_set_str(one, "lineage", a->v[i].lineage);
		kl_json_set_int(one, "step", a->v[i].step);
		kl_json_set_str(one, "why", a->v[i].why);
		json_array_append_new(left, one);
	}
	if (s) {
		kl_oid_hex(hex, &s->commit);
		kl_json_set_str(state, "lineage", s->lineage);
		kl_json_set_int(state, "step", s->step);
		kl_json_set_str(state, "commit", hex);
		kl_json_set_str(state, "level", kl_level_name(s->level));
	}
	kl_json_set_str(j, "schema", "klineage.admit/1");
	kl_json_set_str(j, "card", a->card->id);
	kl_json_set_bool(j, "dry_run", dry);
	kl_json_set_str(j, "before", kl_card_status_name(a->before));
	kl_json_set_str(j, "status", kl_card_status_name(a->card->status));
	kl_json_set_str(j, "result", !t ? NULL : t->result == KL_RESULT_PASS ? "pass" : "fail");
	kl_json_set_str(j, "class", t ? t->class_ : NULL);
	kl_json_set_str(j, "event", t ? t->event : NULL);
	kl_json_set_str(j, "made", t ? t->made : NULL);
	if (t) {
		kl_json_set_int(j, "ratio_ppm", t->ratio.ppm);
		kl_json_set_int(j, "repairs", t->repairs);
		kl_json_set_str(j, "how", t->how == KL_HOW_AGENT ? "agent" : "mechanical");
		kl_json_set_str(j, "with", t->with.n ? t->with.v[0] : NULL);
		kl_json_set_str(j, "control",
				!t->control.there                   ? NULL :
				t->control.result == KL_RESULT_PASS ? "pass" :
								      "fail");
	}
	if (s)
		kl_json_set(j, "state", state);
	else
		json_decref(state);
	kl_json_set(j, "not_tried", left);
	kl_listing_print(out, j, NULL, fields);
}

static int open_gate(struct kl_gate **out, struct kl_repo *r, struct kl_progress *progress)
{
	struct kl_gate_opts opts = { .progress = progress };
	int err = kl_repo_config_int(&opts.profile_ms, r, "klineage.profileMs", 0);

	return err < 0 ? err : kl_gate_open(out, r, &opts);
}

struct args {
	struct kl_skill_model model;
	const char *on;
	struct kl_listing out;
	bool dry, quiet, no_control;
};

static int open_session(struct kl_session **out, const char *workload, void *payload)
{
	return kl_skill_model_open(out, payload, workload);
}

static int admit_card(struct kl_admission *a, struct kl_repo *r, const char *card, struct args *o)
{
	KL_AUTO(kl_progress_freep) struct kl_progress *progress = o->quiet ?
									  NULL :
									  kl_progress_new(
										  KL_PROGRESS_AUTO);
	KL_AUTO(kl_library_freep) struct kl_library *lib = NULL;
	KL_AUTO(kl_taxonomy_freep) struct kl_taxonomy *tax = NULL;
	KL_AUTO(kl_gate_freep) struct kl_gate *g = NULL;
	int err = kl_library_open(&lib, r);

	if (!err)
		err = kl_taxonomy_load(&tax);
	if (!err)
		err = open_gate(&g, r, progress);
	kl_progress_title(progress, "admit %s", card);
	o->model.progress = progress;
	if (!err)
		err = kl_admit(a, &(struct kl_admit_opts){
					  .repo = r,
					  .library = lib,
					  .tax = tax,
					  .gate = g,
					  .card = card,
					  .on = o->on,
					  .dry = o->dry,
					  .rewriter = kl_skill_model_is(&o->model) ?
							      o->model.rewriter :
							      NULL,
					  .open = open_session,
					  .payload = &o->model,
					  .no_control = o->no_control,
					  .progress = progress,
				  });
	o->model.progress = NULL;
	return err;
}

int cmd_admit(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(kl_admission_release) struct kl_admission a = { 0 };
	struct args o = { .model = { .repo = ctx->repo, .of = KL_BUDGET_INDUCE } };
	const struct kl_opt opts[] = { KL_OPT_BOOL('n', "dry-run", &o.dry,
						   "show on which state the card would be tried"),
				       KL_OPT_STR('\0', "on", &o.on, "<state>",
						  "use only this lineage, or this commit of one"),
				       KL_OPT_BOOL('q', "quiet", &o.quiet, "show no progress"),
				       KL_SKILL_MODEL_OPTS(&o.model, "induce"),
				       KL_OPT_BOOL('\0', "no-control", &o.no_control,
						   "do not ask the model with the intent alone"),
				       KL_OPT_LISTING(&o.out),
				       KL_OPT_END };
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if (argc != 1)
		return kl_opt_usage(synopsis, argc ? "one card at a time" : "which card?");
	if ((err = kl_listing_check(&o.out, synopsis)) < 0 ||
	    (err = kl_skill_model_check(&o.model, synopsis)) < 0)
		return err;
	err = admit_card(&a, ctx->repo, argv[0], &o);
	kl_skill_model_release(&o.model);
	if (err < 0)
		return err;
	if (kl_listing_asked(&o.out))
		print_listing(&o.out, &a, o.dry);
	else if (chosen_state(&a))
		print_trial(&a);
	else
		print_none(&a);
	if (!chosen_state(&a))
		return 1;
	return o.dry || a.trial->result == KL_RESULT_PASS ? 0 : 1;
}
