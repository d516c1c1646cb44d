/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_prune - git klineage prune: finds the simplest kernel that is not slower than the expert */
#include <string.h>

#include "cmd/cli/listing.h"
#include "cmd/cli/table.h"
#include "cmd/cmd.h"
#include "cmd/transplant_print.h"
#include "cmd/transplant_session.h"
#include "transplant/prune.h"

static const char synopsis[] = "prune [<options>] [<workload>[/<name>]]";

#define BRANCH_PREFIX 11 /* "refs/heads/" */

/* --- printing -------------------------------------------------------------------------------- */

static const char *end_name(const struct kl_prune_trial *trial)
{
	static const char *const name[] = {
		[KL_PRUNE_UNTRIED] = "untried",   [KL_PRUNE_UNDONE] = "undone",
		[KL_PRUNE_UNMERGED] = "unmerged", [KL_PRUNE_GONE] = "gone",
		[KL_PRUNE_FAILS] = "fails",       [KL_PRUNE_SLOWER] = "slower",
		[KL_PRUNE_NOISY] = "noisy",
	};

	return name[trial->end];
}

static void add_end(struct kl_buf *out, const struct kl_prune_trial *trial)
{
	switch (trial->end) {
	case KL_PRUNE_UNDONE:
		kl_buf_adds(out, trial->same_code ? "undone: the code is the same without it" :
						    "undone: not slower without it");
		break;
	case KL_PRUNE_UNMERGED:
		kl_buf_adds(out, "kept: later steps are written on it");
		break;
	case KL_PRUNE_GONE:
		kl_buf_adds(out, "kept: nothing of it is left to undo");
		break;
	case KL_PRUNE_FAILS:
		kl_buf_addf(out, "kept: fails (%s) without it", trial->why);
		break;
	case KL_PRUNE_SLOWER:
		kl_buf_adds(out, "kept: slower without it");
		break;
	case KL_PRUNE_NOISY:
		kl_buf_adds(out, "kept: not shown to be as fast without it");
		break;
	case KL_PRUNE_UNTRIED:
		kl_buf_adds(out, "not tried yet");
		break;
	}
}

static void print_trials(const struct kl_prune *prune, const struct kl_transplant *transplant)
{
	KL_AUTO(kl_table_release) struct kl_table table = { .columns = 4 };

	kl_table_row(&table, (const char *[]){ "step", "mechanism", "x K* without it", "" });
	for (const size_t *step = prune->order; *step; step++) {
		const struct kl_prune_trial *trial = &prune->trial[*step];
		const char *mechanism = transplant->view.step[*step].step.mechanism;
		KL_AUTO(kl_freep) char *name = kl_asprintf("K_%zu", *step);
		KL_AUTO(kl_buf_release) struct kl_buf ratio = KL_BUF_INIT;
		KL_AUTO(kl_buf_release) struct kl_buf end = KL_BUF_INIT;

		kl_transplant_add_ratio(&ratio, &trial->ratio);
		add_end(&end, trial);
		kl_table_row(&table,
			     (const char *[]){ name, mechanism && *mechanism ? mechanism : "-",
					       ratio.ptr, end.ptr });
	}
	kl_table_print(&table);
}

static size_t count_lines(const struct kl_surface *surface)
{
	size_t lines = 0;

	for (size_t i = 0; i < surface->nfile; i++)
		for (size_t k = 0; k < surface->file[i].len; k++)
			lines += surface->file[i].data[k] == '\n';
	return lines;
}

static void print_kernel(const struct kl_prune *prune, const struct kl_transplant *transplant)
{
	size_t n = kl_transplant_steps(transplant);
	const struct kl_comparison *parent = prune->event ? kl_comparisons_parent(
								    &prune->event->profile.vs) :
							    NULL;
	KL_AUTO(kl_buf_release) struct kl_buf ratio = KL_BUF_INIT;

	printf("\n%zu of %zu steps undone, %zu lines instead of %zu", prune->nundone, n,
	       count_lines(prune->kernel), count_lines(transplant->state[n]));
	if (parent) {
		kl_transplant_add_ratio(&ratio, &parent->ratio);
		printf("; %s the speed of K*", ratio.ptr);
	}
	putchar('\n');
	if (prune->put_back)
		printf("%zu step%s put back: the kernel without %s was not as fast when it was "
		       "measured again\n",
		       prune->put_back, prune->put_back == 1 ? " was" : "s were",
		       prune->put_back == 1 ? "it" : "them");
}

static void print_result(const struct kl_prune *prune, const struct kl_transplant *transplant,
			 bool dry_run)
{
	printf("%s/%s: %zu steps\n\n", transplant->view.workload, transplant->view.name,
	       kl_transplant_steps(transplant));
	print_trials(prune, transplant);
	if (dry_run)
		printf("\nnothing was judged; the steps would be tried in this order, unless K* is "
		       "judged anew\n");
	if (transplant->waiting || dry_run)
		return;
	if (transplant->late || !prune->complete) {
		printf("\nnot all is judged%s: run the command again to go on\n",
		       transplant->late ? ", the time of --seconds is spent" : "");
		return;
	}
	if (!prune->nundone) {
		printf("\nno step can be undone: K* is as simple as it can be made this way\n");
		return;
	}
	print_kernel(prune, transplant);
	printf("\n%s: %zu state%s%s\nsee what went: git diff %s %s\n", prune->ref + BRANCH_PREFIX,
	       prune->states, prune->states == 1 ? "" : "s",
	       prune->already ? ", there already" : "", transplant->view.ref + BRANCH_PREFIX,
	       prune->ref + BRANCH_PREFIX);
}

static json_t *trial_json(const struct kl_prune *prune, const struct kl_transplant *transplant,
			  size_t step)
{
	const struct kl_prune_trial *trial = &prune->trial[step];
	json_t *out = kl_view_step_json(&transplant->view.step[step], step);

	kl_json_set_str(out, "end", end_name(trial));
	kl_json_set_bool(out, "same_code", trial->same_code);
	kl_json_set_int(out, "ratio_ppm", trial->ratio.ppm);
	kl_json_set_int(out, "lo_ppm", trial->ratio.lo);
	kl_json_set_int(out, "hi_ppm", trial->ratio.hi);
	kl_json_set_str(out, "event", *trial->event ? trial->event : NULL);
	kl_json_set_str(out, "why", trial->why);
	return out;
}

static void print_json(const struct kl_prune *prune, const struct kl_transplant *transplant,
		       int64_t within_ppm)
{
	KL_AUTO(json_decrefp) json_t *out = json_object();
	json_t *tried = json_array(), *undone = json_array();
	char hex[KL_OID_HEX];

	for (const size_t *step = prune->order; *step; step++)
		json_array_append_new(tried, trial_json(prune, transplant, *step));
	for (size_t i = 0; i < prune->nundone; i++)
		json_array_append_new(undone, json_integer((json_int_t)prune->undone[i]));
	kl_oid_hex(hex, &prune->tip);
	kl_json_set_str(out, "schema", "klineage.prune/1");
	kl_json_set_str(out, "workload", transplant->view.workload);
	kl_json_set_str(out, "lineage", transplant->view.name);
	kl_json_set_int(out, "within_ppm", within_ppm);
	kl_json_set(out, "steps", tried);
	kl_json_set(out, "undone", undone);
	kl_json_set_int(out, "put_back", (int64_t)prune->put_back);
	kl_json_set_bool(out, "complete", prune->complete && !transplant->late);
	kl_json_set_str(out, "event", prune->event ? prune->event->id : NULL);
	kl_json_set_str(out, "ref", prune->states ? prune->ref : NULL);
	kl_json_set_str(out, "tip", prune->states ? hex : NULL);
	kl_json_set_int(out, "states", (int64_t)prune->states);
	kl_json_set_bool(out, "already", prune->already);
	kl_json_set_int(out, "judged", (int64_t)transplant->judged);
	kl_json_set_int(out, "known", (int64_t)transplant->known);
	kl_json_set_int(out, "waiting", (int64_t)transplant->waiting);
	kl_listing_put(out);
}

/* --- the verb -------------------------------------------------------------------------------- */

struct pruning {
	struct kl_prune *prune;
	struct kl_transplant_session *session;
	struct kl_repo *repo;
	const struct kl_prune_opts *opts;
};

static int prune_wave(void *payload)
{
	struct pruning *pruning = payload;

	kl_prune_release(pruning->prune);
	return kl_prune_run(pruning->prune, &pruning->session->transplant, pruning->repo,
			    pruning->opts);
}

static int prune_lineage(struct kl_prune *prune, struct kl_transplant_session *session,
			 struct kl_repo *repo, const struct kl_transplant_args *args,
			 const char *name)
{
	const struct kl_prune_opts opts = { .judging = session->opts,
					    .within_ppm = args->within_ppm,
					    .name = name };
	struct pruning pruning = { prune, session, repo, &opts };
	int err = args->dry_run ? kl_prune_plan(prune, &session->transplant, &opts) :
				  kl_transplant_session_judge(session, prune_wave, &pruning);

	kl_transplant_session_quiet(session);
	if (err < 0)
		return err;
	if (args->json)
		print_json(prune, &session->transplant, args->within_ppm);
	else
		print_result(prune, &session->transplant, args->dry_run);
	return kl_transplant_session_end(session);
}

int cmd_prune(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(kl_transplant_session_close) struct kl_transplant_session session = { 0 };
	KL_AUTO(kl_prune_release) struct kl_prune prune = { 0 };
	struct kl_transplant_args args = { 0 };
	const char *name = NULL;
	const struct kl_opt opts[] = {
		KL_OPT_STR('\0', "name", &name, "<name>",
			   "name of the new lineage (default: the old name with -pruned)"),
		KL_TRANSPLANT_OPTS(&args), KL_OPT_END
	};
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if (argc > 1)
		return kl_opt_usage(synopsis, "one lineage can be given, not %d", argc);
	if ((err = kl_transplant_args_check(&args, synopsis)) < 0 ||
	    (err = kl_transplant_session_open(&session, ctx->repo, &args, argc ? argv[0] : NULL)) <
		    0)
		return err;
	if (session.step)
		return kl_opt_usage(synopsis, "prune takes a lineage, not one of its steps");
	return prune_lineage(&prune, &session, ctx->repo, &args, name);
}
