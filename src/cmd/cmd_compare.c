/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_compare - git klineage compare: judges two states of a kernel against each other */
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/listing.h"
#include "cmd/cli/opt.h"
#include "cmd/cli/out.h"
#include "cmd/cli/table.h"
#include "cmd/cmd.h"
#include "cmd/send_away.h"
#include "contract/checkout.h"
#include "contract/select.h"
#include "event/speed.h"
#include "gate/gate.h"
#include "lineage/view.h"

static const char synopsis[] = "compare [<options>] <old> <new>";

struct args {
	const char *workload, *platform, *runner;
	bool fresh, quiet, progress, json;
};

/* One of the two states. */
struct side {
	const char *word; /* as the user named it */
	char *rev;
	struct kl_selection sel;
	struct kl_judgement *judgement;
};

struct pair {
	struct side old, new;
	struct kl_strvec gained, lost;
};

static void side_release(struct side *side)
{
	free(side->rev);
	kl_selection_release(&side->sel);
	kl_judgement_free(side->judgement);
}

static void pair_release(struct pair *pair)
{
	side_release(&pair->old);
	side_release(&pair->new);
	kl_strvec_release(&pair->gained);
	kl_strvec_release(&pair->lost);
}

/* --- the states ----------------------------------------------------------------- */

/*
 * Find the commit of "<workload>/<name>", the expert of a lineage, or of "<lineage>:<step>" or
 * "<step>", one of its states. *there: the lineage exists.
 */
static int find_in_lineage(char **rev, bool *there, struct kl_repo *repo, const char *word)
{
	const char *colon = strrchr(word, ':'), *step = colon ? colon + 1 : "K*";
	bool bare = !colon && !strncmp(word, "K_", 2);
	KL_AUTO(kl_freep) char *what = kl_strndup(word,
						  colon ? (size_t)(colon - word) : strlen(word));
	KL_AUTO(kl_freep) char *workload = NULL;
	KL_AUTO(kl_freep) char *name = NULL;
	KL_AUTO(kl_view_release) struct kl_view view = { 0 };
	char hex[KL_OID_HEX];
	size_t i;
	int err = kl_view_pick(&workload, &name, repo, bare ? NULL : what);

	*there = !err;
	if (!err)
		err = kl_view_load(&view, repo, workload, name);
	if (!err)
		err = kl_view_find(&i, &view, repo, bare ? word : step);
	if (err < 0)
		return err;
	kl_oid_hex(hex, &view.step[i].commit);
	*rev = kl_strdup(hex);
	return 0;
}

static int find_state(struct side *side, struct kl_repo *repo, const char *workload)
{
	bool there = false;
	git_oid commit;
	int err = kl_repo_resolve(&commit, repo, side->word);

	if (!err) {
		side->rev = kl_strdup(side->word);
	} else if (err == KL_ENOTFOUND || err == KL_EINVALID) {
		KL_AUTO(kl_freep) char *why = kl_strdup(kl_error_last());

		kl_error_clear();
		err = find_in_lineage(&side->rev, &there, repo, side->word);
		if (err == KL_ENOTFOUND && !there) {
			err = kl_error(KL_ENOTFOUND, "%s", why);
			return kl_error_hint(err, "a state is a revision, a lineage "
						  "(<workload>/<name>), or a step of one "
						  "(<workload>/<name>:K_3)");
		}
	}
	if (!err)
		err = kl_select(&side->sel, repo, KL_STATE_REV, side->rev, workload);
	if (!err)
		err = kl_checkout_check(repo, side->sel.candidate, KL_STATE_REV, &side->sel.tree);
	return err < 0 ? kl_error_in(err, "%s", side->word) : 0;
}

static int find_states(struct pair *pair, struct kl_repo *repo, const char *workload)
{
	const struct kl_surface *old, *new;
	int err = find_state(&pair->old, repo, workload);

	if (!err)
		err = find_state(&pair->new, repo, pair->old.sel.candidate->contract->workload);
	if (err < 0)
		return err;
	old = pair->old.sel.candidate;
	new = pair->new.sel.candidate;
	if (!strcmp(old->contract_digest, new->contract_digest))
		return 0;
	err = kl_error(KL_EINVALID,
		       "the contracts of '%s' and '%s' differ, so the two kernels promise "
		       "different things",
		       pair->old.word, pair->new.word);
	return kl_error_hint(err, "judge each by itself: git klineage gate %s %s", pair->old.word,
			     pair->new.word);
}

/* --- judging ----------------------------------------------------------------------- */

/* Judge the old state, then the new one with the old one as its parent, both timed in one run. */
static int judge_pair(struct pair *pair, struct kl_gate *gate)
{
	const struct kl_surface *old = pair->old.sel.candidate, *new = pair->new.sel.candidate;
	bool same = !strcmp(old->digest, new->digest);
	int err;

	kl_judgement_free(kl_steal(&pair->old.judgement));
	kl_judgement_free(kl_steal(&pair->new.judgement));
	kl_gate_expect(gate, new, old);
	err = kl_gate_judge(&pair->old.judgement, gate, old, NULL);
	return err < 0 ? err : kl_gate_judge(&pair->new.judgement, gate, new, same ? NULL : old);
}

static int judge_states(struct pair *pair, struct kl_repo *repo, const struct args *args)
{
	KL_AUTO(kl_progress_freep) struct kl_progress *progress =
		args->quiet ?
			NULL :
			kl_progress_new(args->progress ? KL_PROGRESS_ALWAYS : KL_PROGRESS_AUTO);
	KL_AUTO(kl_gate_freep) struct kl_gate *gate = NULL;
	KL_AUTO(kl_freep) char *again = kl_asprintf("git klineage compare %s %s", pair->old.word,
						    pair->new.word);
	struct kl_gate_opts opts = {
		.progress = progress,
		.platform = args->platform,
		.runner = args->runner,
		.no_cache = args->fresh,
	};
	int err = kl_gate_open(&gate, repo, &opts);

	kl_progress_title(progress, "compare %s", pair->old.sel.candidate->contract->workload);
	if (!err)
		err = judge_pair(pair, gate);
	if (err < 0 || (!pair->old.judgement->deferred && !pair->new.judgement->deferred))
		return err;
	err = kl_send_away(gate, again);
	return err < 0 ? err : judge_pair(pair, gate);
}

/* Return the ratio of both times; NULL: not both pass, or they were not timed. */
static const struct kl_comparison *comparison_of(const struct pair *pair)
{
	if (pair->old.judgement->event->verdict != KL_VERDICT_PASS ||
	    pair->new.judgement->event->verdict != KL_VERDICT_PASS)
		return NULL;
	return kl_comparisons_parent(&pair->new.judgement->event->profile.vs);
}

/* Return 1 if the machine code is the same, 0 if it differs, -1 if a state was not compiled. */
static int is_same_code(const struct pair *pair)
{
	const struct kl_event *old = pair->old.judgement->event, *new = pair->new.judgement->event;

	if (!old->compiled || !new->compiled || !*old->facts.code_digest ||
	    !*new->facts.code_digest)
		return -1;
	return !strcmp(old->facts.code_digest, new->facts.code_digest);
}

static void compare_facts(struct pair *pair)
{
	const struct kl_facts *old = &pair->old.judgement->event->facts;
	const struct kl_facts *new = &pair->new.judgement->event->facts;

	if (is_same_code(pair) < 0)
		return;
	kl_features_minus(&pair->gained, &new->features, &old->features, old->features_version);
	kl_features_minus(&pair->lost, &old->features, &new->features, new->features_version);
}

static int exit_code(const struct pair *pair)
{
	enum kl_verdict old = pair->old.judgement->event->verdict;
	enum kl_verdict new = pair->new.judgement->event->verdict;

	if (old == KL_VERDICT_PASS && new == KL_VERDICT_PASS)
		return 0;
	return old == KL_VERDICT_FAIL || new == KL_VERDICT_FAIL ? 1 : 125;
}

/* --- as text ------------------------------------------------------------------------ */

static void add_row(struct kl_table *table, const char *which, const struct side *side)
{
	const struct kl_event *event = side->judgement->event;
	const struct kl_comparison *baseline = kl_comparisons_baseline(&event->profile.vs);
	KL_AUTO(kl_freep) char *verdict = kl_asprintf("%s%s%s", kl_verdict_name(event->verdict),
						      *kl_event_class(event) ? " " : "",
						      kl_event_class(event));
	char time[32], share[32] = "-", hex[KL_OID_HEX];

	kl_oid_hex(hex, &side->sel.commit);
	hex[10] = '\0';
	kl_table_time(time, event->profile.ns);
	if (baseline && baseline->ratio.ppm > 0)
		snprintf(share, sizeof(share), "%.0f%%", (double)baseline->ratio.ppm / 1e4);
	kl_table_row(table, (const char *[]){ which, side->word, hex, verdict, time, share });
	kl_table_paint(table, 3, kl_paint_verdict(event->verdict));
}

static void print_speed(const struct pair *pair)
{
	const struct kl_comparison *comparison = comparison_of(pair);
	KL_AUTO(kl_buf_release) struct kl_buf ratio = KL_BUF_INIT;

	if (!strcmp(pair->old.sel.candidate->digest, pair->new.sel.candidate->digest)) {
		puts("speed   both states have the same sources");
		return;
	}
	if (!comparison || comparison->ratio.ppm <= 0) {
		puts("speed   not compared, because not both states pass and were timed");
		return;
	}
	kl_table_ratio(&ratio, &comparison->ratio);
	printf("speed   new is %s of old (%s), both timed in one run\n", ratio.ptr,
	       kl_speed_name(comparison->speed));
}

static void print_pair(const struct pair *pair, const struct kl_term *term)
{
	static const char *const code[] = { "not known", "differs", "the same" };
	static const struct kl_column columns[] = {
		{ "", 0, 0, false },       { "state", 0, 12, false },
		{ "commit", 2, 0, false }, { "verdict", 0, 8, false },
		{ "time", 0, 0, false },   { "of baseline", 1, 0, false },
	};
	KL_AUTO(kl_table_release) struct kl_table table = { .columns = KL_ARRAY_SIZE(columns),
							    .column = columns,
							    .term = term };

	kl_table_head(&table);
	add_row(&table, "old", &pair->old);
	add_row(&table, "new", &pair->new);
	kl_table_print(&table);
	putchar('\n');
	print_speed(pair);
	printf("code    %s\n", code[is_same_code(pair) + 1]);
	kl_out_words("gained ", &pair->gained);
	kl_out_words("lost   ", &pair->lost);
}

/* --- for programs ---------------------------------------------------------------------- */

static json_t *words_json(const struct kl_strvec *words)
{
	json_t *list = json_array();

	for (size_t i = 0; i < words->n; i++)
		json_array_append_new(list, json_string(words->v[i]));
	return list;
}

static json_t *side_json(const struct side *side)
{
	const struct kl_event *event = side->judgement->event;
	const char *class_ = kl_event_class(event);
	json_t *out = json_object();
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, &side->sel.commit);
	kl_json_set_str(out, "state", side->word);
	kl_json_set_str(out, "commit", hex);
	kl_json_set_str(out, "verdict", kl_verdict_name(event->verdict));
	kl_json_set_str(out, "class", *class_ ? class_ : NULL);
	kl_json_set_int(out, "ns", event->profile.ns);
	kl_json_set_str(out, "event", event->id);
	return out;
}

static void print_json(const struct pair *pair)
{
	const struct kl_comparison *comparison = comparison_of(pair);
	KL_AUTO(json_decrefp) json_t *value = json_object();
	bool known = comparison && comparison->ratio.ppm > 0;
	int same = is_same_code(pair);

	kl_json_set_str(value, "schema", "klineage.compare/1");
	kl_json_set_str(value, "workload", pair->new.sel.candidate->contract->workload);
	kl_json_set_str(value, "platform", pair->new.judgement->event->place.id);
	kl_json_set(value, "old", side_json(&pair->old));
	kl_json_set(value, "new", side_json(&pair->new));
	kl_json_set(value, "ratio_ppm", known ? json_integer(comparison->ratio.ppm) : json_null());
	kl_json_set(value, "lo_ppm", known ? json_integer(comparison->ratio.lo) : json_null());
	kl_json_set(value, "hi_ppm", known ? json_integer(comparison->ratio.hi) : json_null());
	kl_json_set_str(value, "speed", known ? kl_speed_name(comparison->speed) : NULL);
	kl_json_set(value, "same_code", same < 0 ? json_null() : json_boolean(same));
	kl_json_set(value, "gained", words_json(&pair->gained));
	kl_json_set(value, "lost", words_json(&pair->lost));
	kl_listing_put(value);
}

int cmd_compare(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(pair_release) struct pair pair = { 0 };
	struct args args = { 0 };
	const struct kl_opt opts[] = {
		KL_OPT_STR('w', "workload", &args.workload, "<name>", "compare this kernel"),
		KL_OPT_STR('\0', "platform", &args.platform, "<id>",
			   "compile for this platform, such as x86-64-v2"),
		KL_OPT_STR('\0', "runner", &args.runner, "<runner>",
			   "where to judge: local, bundle or ssh:<host>"),
		KL_OPT_BOOL('\0', "fresh", &args.fresh, "ignore cached verdicts"),
		KL_OPT_BOOL('q', "quiet", &args.quiet, "show no progress"),
		KL_OPT_BOOL('\0', "progress", &args.progress, "always show progress"),
		KL_OPT_BOOL('\0', "json", &args.json, "print the result as JSON"),
		KL_OPT_END
	};
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if (argc != 2)
		return kl_opt_usage(synopsis, "expected two states to compare");
	pair.old.word = argv[0];
	pair.new.word = argv[1];
	if ((err = find_states(&pair, ctx->repo, args.workload)) < 0 ||
	    (err = judge_states(&pair, ctx->repo, &args)) < 0)
		return err;
	compare_facts(&pair);
	if (args.json)
		print_json(&pair);
	else
		print_pair(&pair, &ctx->term);
	return exit_code(&pair);
}
