/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_status - git klineage status: shows kernels, verdicts, the walk and what is not pushed */
#include <stdio.h>
#include <string.h>

#include "cmd/cli/listing.h"
#include "cmd/cli/opt.h"
#include "cmd/cli/out.h"
#include "cmd/cli/table.h"
#include "cmd/cmd.h"
#include "cmd/overview.h"
#include "retrieve/retrieve.h"
#include "walk/opstate.h"

static const char synopsis[] = "status [--json | --porcelain [-z]]";

/* The number of cards that fit a kernel in HEAD, or -1 if it is not known. */
struct fit {
	int64_t verified, hypotheses;
};

struct status {
	struct kl_repo *repo;
	const struct kl_term *term;
	struct kl_overview all;
	struct fit *cards; /* for each kernel */
	struct kl_opstate op;
	bool walks;
};

static void status_release(struct status *status)
{
	free(status->cards);
	if (status->walks)
		kl_opstate_release(&status->op);
	kl_overview_release(&status->all);
}

/* --- what is known of a state ------------------------------------------------------------- */

/* The verdict to show for a state, and its word. */
struct known {
	const struct kl_event *event; /* borrowed; NULL if the kernel was never judged */
	const char *word;
};

static struct known find_known(const struct kl_overview *all, const struct kl_overview_state *state)
{
	const struct kl_verdict_entry *entry;
	struct known known = { .word = "cannot be read" };

	if (!state->there)
		return (struct known){ .word = "absent" };
	if (state->entry < 0)
		return known;
	entry = &all->verdicts.one[state->entry];
	if ((known.event = kl_verdict_entry_failure(entry)))
		known.word = "fail";
	else if ((known.event = kl_verdict_entry_pass(entry)))
		known.word = "pass";
	else if (kl_verdict_entry_checked(entry))
		known.word = "checked";
	else if ((known.event = kl_verdict_entry_old_pass(entry)))
		known.word = "outdated";
	else
		known.word = "not judged";
	return known;
}

static const struct kl_comparison *best_comparison(const struct kl_event *event)
{
	const struct kl_comparison *baseline = kl_comparisons_baseline(&event->profile.vs);

	return baseline ? baseline : kl_comparisons_parent(&event->profile.vs);
}

/* --- as text ---------------------------------------------------------------------------------- */

static void print_speed(const struct kl_event *event)
{
	const struct kl_comparison *comparison = best_comparison(event);
	char time[32];

	if (!event->profile.there)
		return;
	kl_table_time(time, event->profile.ns);
	printf(", %s", time);
	if (!comparison || comparison->ratio.ppm <= 0)
		return;
	printf(", %.2fx the speed of %s", (double)comparison->ratio.ppm / 1e6,
	       strcmp(comparison->what, "parent") != 0 ? "" : "its parent");
	if (strcmp(comparison->what, "parent"))
		kl_out_line(stdout, comparison->what);
}

static void print_verdict(const struct status *status, const struct known *known)
{
	const struct kl_event *event = known->event;
	enum kl_verdict verdict = event && strcmp(known->word, "outdated") ? event->verdict :
									     KL_VERDICT_NOT_RUN;

	printf("%s%s%s", kl_paint(status->term, kl_paint_verdict(verdict)), known->word,
	       kl_paint(status->term, KL_PAINT_RESET));
	if (!event)
		return;
	if (verdict == KL_VERDICT_FAIL) {
		printf(" ");
		kl_out_line(stdout, kl_event_class(event));
	} else {
		print_speed(event);
	}
	printf(", %.10s", event->time);
	if (*event->place.id) {
		printf(" on ");
		kl_out_line(stdout, event->place.id);
	}
}

/* Print the command that judges a state that has no verdict. */
static void print_next(const struct kl_overview_kernel *kernel, enum kl_overview_where where)
{
	static const char *const flags[] = { "", " --staged", " --worktree" };

	printf("; judge it: git klineage gate%s --workload ", flags[where]);
	kl_out_line(stdout, kernel->workload);
}

static void print_state(const struct status *status, const struct kl_overview_kernel *kernel,
			enum kl_overview_where where)
{
	const struct kl_overview_state *state = &kernel->at[where];
	struct known known = find_known(&status->all, state);

	printf("  %-9s ", kl_overview_where_name(where));
	if (state->repeated) {
		printf("as in %s", where == KL_IN_INDEX || kernel->at[KL_IN_INDEX].repeated ?
					   "HEAD" :
					   "the index");
	} else {
		print_verdict(status, &known);
		if (state->why) {
			printf(": ");
			kl_out_line(stdout, state->why);
		} else if (state->there && !known.event) {
			print_next(kernel, where);
		}
	}
	putchar('\n');
}

static void print_fit(const struct fit *fit, const char *workload)
{
	if (fit->verified <= 0 && fit->hypotheses <= 0)
		return;
	if (fit->verified > 0)
		printf("  cards     %lld fit HEAD: git klineage retrieve ",
		       (long long)fit->verified);
	else
		printf("  cards     %lld unverified fit HEAD; try them: git klineage skills try ",
		       (long long)fit->hypotheses);
	kl_out_line(stdout, workload);
	putchar('\n');
}

static void print_kernel(const struct status *status, size_t i)
{
	const struct kl_overview_kernel *kernel = &status->all.kernel[i];
	KL_AUTO(kl_freep) char *path = kl_contract_place_path(kernel->place);

	kl_out_line(stdout, kernel->workload);
	printf(" (");
	kl_out_line(stdout, path);
	puts(")");
	for (int where = 0; where < KL_OVERVIEW_PLACES; where++)
		if (where == KL_IN_HEAD || kl_repo_worktree(status->repo))
			print_state(status, kernel, (enum kl_overview_where)where);
	print_fit(&status->cards[i], kernel->workload);
}

static void print_status(const struct status *status)
{
	const struct kl_overview *all = &status->all;

	for (size_t i = 0; i < all->n; i++)
		print_kernel(status, i);
	if (!all->n)
		puts("no kernel has a contract here; write one with 'git klineage adopt' or "
		     "'git klineage init'");
	if (status->walks) {
		printf("walk of ");
		kl_out_line(stdout, kl_walk_str(&status->op.walk, "workload"));
		putchar('/');
		kl_out_line(stdout, kl_walk_str(&status->op.walk, "name"));
		printf(": %zu accepted step%s; go on: git klineage deopt --continue\n",
		       json_array_size(kl_walk_steps(&status->op.walk)),
		       json_array_size(kl_walk_steps(&status->op.walk)) == 1 ? "" : "s");
	}
	for (size_t i = 0; i < all->nremote; i++) {
		if (!all->remote[i].unsent)
			continue;
		printf("remote '");
		kl_out_line(stdout, all->remote[i].name);
		printf("': %zu ref%s to exchange: git klineage sync ", all->remote[i].unsent,
		       all->remote[i].unsent == 1 ? "" : "s");
		kl_out_line(stdout, all->remote[i].name);
		putchar('\n');
	}
}

/* --- as JSON ----------------------------------------------------------------------------------- */

static json_t *state_json(const struct status *status, const struct kl_overview_kernel *kernel,
			  enum kl_overview_where where, const struct fit *fit)
{
	const struct kl_overview_state *state = &kernel->at[where];
	struct known known = find_known(&status->all, state);
	const struct kl_comparison *comparison = known.event ? best_comparison(known.event) : NULL;
	json_t *value = json_object();

	kl_json_set_str(value, "workload", kernel->workload);
	kl_json_set_str(value, "place", kernel->place);
	kl_json_set_str(value, "where", kl_overview_where_name(where));
	kl_json_set_str(value, "state", state->repeated ? "repeated" : known.word);
	kl_json_set_str(value, "class", known.event ? kl_event_class(known.event) : NULL);
	kl_json_set_str(value, "why", state->why);
	kl_json_set_str(value, "event", known.event ? known.event->id : NULL);
	kl_json_set_str(value, "time", known.event ? known.event->time : NULL);
	kl_json_set_str(value, "platform", known.event ? known.event->place.id : NULL);
	kl_json_set_str(value, "against", comparison ? comparison->what : NULL);
	kl_json_set_int(value, "ratio_ppm", comparison ? comparison->ratio.ppm : 0);
	kl_json_set_str(value, "surface", state->surface ? state->surface->digest : NULL);
	kl_json_set(value, "cards",
		    !fit || fit->verified < 0 ? json_null() : json_integer(fit->verified));
	kl_json_set(value, "hypotheses",
		    !fit || fit->hypotheses < 0 ? json_null() : json_integer(fit->hypotheses));
	return value;
}

static json_t *walk_json(const struct status *status)
{
	json_t *value;

	if (!status->walks)
		return json_null();
	value = json_object();
	kl_json_set_str(value, "workload", kl_walk_str(&status->op.walk, "workload"));
	kl_json_set_str(value, "name", kl_walk_str(&status->op.walk, "name"));
	kl_json_set_int(value, "steps", (int64_t)json_array_size(kl_walk_steps(&status->op.walk)));
	return value;
}

static void print_listing(const struct status *status, const struct kl_listing *out)
{
	static const char *const fields[] = { "workload", "where",    "state",   "class",
					      "event",    "platform", "against", "ratio_ppm",
					      "surface",  "place",    NULL };
	KL_AUTO(json_decrefp) json_t *value = json_object();
	json_t *states = json_array(), *remotes = json_array();

	kl_json_set_str(value, "schema", "klineage.status/1");
	for (size_t i = 0; i < status->all.n; i++)
		for (int where = 0; where < KL_OVERVIEW_PLACES; where++)
			json_array_append_new(
				states, state_json(status, &status->all.kernel[i],
						   (enum kl_overview_where)where,
						   where == KL_IN_HEAD ? &status->cards[i] : NULL));
	for (size_t i = 0; i < status->all.nremote; i++) {
		json_t *remote = json_object();

		kl_json_set_str(remote, "name", status->all.remote[i].name);
		kl_json_set_int(remote, "unsent", (int64_t)status->all.remote[i].unsent);
		json_array_append_new(remotes, remote);
	}
	kl_json_set(value, "states", states);
	kl_json_set(value, "walk", walk_json(status));
	kl_json_set(value, "remotes", remotes);
	kl_listing_print(out, value, "states", fields);
}

/* --- the verb ------------------------------------------------------------------------------------ */

static int count_fit(int64_t *out, const struct kl_index *ix, struct kl_target *target,
		     unsigned statuses)
{
	KL_AUTO(kl_retrieval_release) struct kl_retrieval found = { 0 };
	struct kl_retrieve_opts opts = KL_RETRIEVE_OPTS_INIT;
	int err;

	opts.order = KL_ORDER_NEXT;
	if (statuses)
		opts.statuses = statuses;
	err = kl_retrieve(&found, ix, target, &opts);
	if (!err)
		*out = (int64_t)found.n;
	return err;
}

static int count_cards(struct fit *out, const struct status *status, const struct kl_index *ix,
		       const struct kl_taxonomy *tax, const struct kl_surface *surface)
{
	KL_AUTO(kl_target_release) struct kl_target target = { 0 };
	int err = kl_target_of_commit(&target, tax, status->repo, surface, &status->all.head, NULL);

	/* If the platform cannot be found out here, still show the rest of the status. */
	if (err == KL_ECANNOT || err == KL_EINVALID || err == KL_ENOTFOUND) {
		kl_error_clear();
		return 0;
	}
	if (!err)
		err = count_fit(&out->verified, ix, &target, 0);
	if (!err)
		err = count_fit(&out->hypotheses, ix, &target, 1u << KL_CARD_HYPOTHESIS);
	return err;
}

static int find_cards(struct status *status)
{
	KL_AUTO(kl_taxonomy_freep) struct kl_taxonomy *tax = NULL;
	KL_AUTO(kl_index_freep) struct kl_index *ix = NULL;
	int err = 0;

	status->cards = kl_calloc(status->all.n + 1, sizeof(*status->cards));
	for (size_t i = 0; i < status->all.n; i++)
		status->cards[i] = (struct fit){ -1, -1 };
	if (!status->all.n)
		return 0;
	if ((err = kl_taxonomy_load(&tax)) < 0 || (err = kl_index_open(&ix, status->repo, tax)) < 0)
		return err;
	for (size_t i = 0; !err && i < status->all.n && kl_index_count(ix); i++)
		if (status->all.kernel[i].at[KL_IN_HEAD].surface)
			err = count_cards(&status->cards[i], status, ix, tax,
					  status->all.kernel[i].at[KL_IN_HEAD].surface);
	return err;
}

int cmd_status(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(status_release) struct status status = { .repo = ctx->repo, .term = &ctx->term };
	struct kl_listing out = { 0 };
	const struct kl_opt opts[] = { KL_OPT_LISTING(&out), KL_OPT_END };
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if ((err = kl_listing_check(&out, synopsis)) < 0)
		return err;
	if (argc)
		return kl_opt_usage(synopsis, "status takes no argument");
	if ((err = kl_overview_load(&status.all, ctx->repo)) < 0 || (err = find_cards(&status)) < 0)
		return err;
	err = kl_opstate_load(&status.op, ctx->repo);
	status.walks = !err;
	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		err = 0;
	}
	if (err < 0)
		return err;
	if (kl_listing_asked(&out))
		print_listing(&status, &out);
	else
		print_status(&status);
	return 0;
}
