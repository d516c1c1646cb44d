/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/search_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "cmd/cli/listing.h"
#include "cmd/cli/out.h"
#include "model/money.h"
#include "search/policy/policy.h"

#define BRANCH_PREFIX 11 /* "refs/heads/" */
#define MOST_WHY 160

static void print_why(const char *text)
{
	KL_AUTO(kl_freep) char *line = kl_strndup(text, kl_utf8_cut(text, strlen(text), MOST_WHY));

	for (char *at = line; (at = strpbrk(at, "\n\t")); at++)
		*at = ' ';
	fputs(": ", stdout);
	kl_out_line(stdout, line);
}

static void print_link(const struct kl_cell_link *link)
{
	const struct kl_observation *seen = &link->seen;

	if (link->kind != KL_TICKET_EDIT)
		return;
	printf("ticket %" PRId64 " on %" PRId64, seen->ticket, seen->parent);
	if (seen->form) {
		fputs(", ", stdout);
		kl_out_line(stdout, seen->form);
	}
	printf(": %s", link->result);
	if (seen->outcome == KL_OUTCOME_CORRECT)
		printf(", %.3fx [%.3f, %.3f]", (double)seen->speed_ppm / 1e6,
		       (double)seen->low_ppm / 1e6, (double)seen->high_ppm / 1e6);
	else if (link->class_)
		printf(", %s", link->class_);
	if (link->why && *link->why)
		print_why(link->why);
	putchar('\n');
}

static int print_cost(const struct kl_search_result *result)
{
	char spent[KL_MONEY_TEXT], cap[KL_MONEY_TEXT];
	int64_t nano, most;
	int err = kl_session_money(&nano, &most, result->session);

	if (err < 0)
		return err;
	kl_money_text(spent, nano);
	kl_money_text(cap, most);
	if (nano)
		printf("%s of %s are spent\n", spent, cap);
	return 0;
}

static void print_evidence(const struct kl_cell *cell)
{
	if (cell->judging.table)
		printf("evidence: %s. The verdicts are those of the table of %s, judged on %s, "
		       "%s; nothing was measured\n",
		       kl_cell_evidence(cell), cell->judging.table->workload,
		       cell->judging.table->platform, cell->judging.table->device);
}

static void print_best(const struct kl_search_result *result)
{
	const struct kl_cell *cell = result->cell;
	const struct kl_comparison *root = result->again ? kl_comparisons_parent(
								   &result->again->profile.vs) :
							   NULL;
	char hex[KL_OID_HEX];

	if (cell->wave.sent.waiting)
		printf("%zu verdict%s to come from elsewhere\n", cell->wave.sent.jobs,
		       cell->wave.sent.jobs == 1 ? " is" : "s are");
	if (!cell->best && cell->open)
		return;
	if (!cell->best) {
		printf("nothing is faster than the root in %" PRId64 " candidates\n",
		       cell->candidates);
		return;
	}
	kl_oid_hex(hex, &cell->chain.v[cell->best].commit);
	printf("%s is at %.10s, ticket %" PRId64 " of %" PRId64 " candidates\n",
	       cell->branch + BRANCH_PREFIX, hex, cell->best, cell->candidates);
	if (root)
		printf("measured again, apart from the search: %.3fx the root [%.3f, %.3f], %s\n",
		       (double)root->ratio.ppm / 1e6, (double)root->ratio.lo / 1e6,
		       (double)root->ratio.hi / 1e6, kl_speed_name(root->speed));
}

/* --- JSON ------------------------------------------------------------------------------------ */

static json_t *link_json(const struct kl_cell_link *link)
{
	json_t *json = kl_observation_write(&link->seen);
	static const char *const kind[] = { "root", "skip", "edit", "note" };
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, &link->commit);
	kl_json_set_str(json, "kind", kind[link->kind]);
	kl_json_set_str(json, "result", link->result);
	kl_json_set_str(json, "class", link->class_);
	kl_json_set_str(json, "event", link->event);
	kl_json_set_str(json, "why", link->why);
	kl_json_set_str(json, "commit", hex);
	return json;
}

static json_t *again_json(const struct kl_event *event)
{
	const struct kl_comparison *root = event ? kl_comparisons_parent(&event->profile.vs) : NULL;
	json_t *json;

	if (!root)
		return json_null();
	json = json_object();
	kl_json_set_int(json, "ratio_ppm", root->ratio.ppm);
	kl_json_set_int(json, "lo_ppm", root->ratio.lo);
	kl_json_set_int(json, "hi_ppm", root->ratio.hi);
	kl_json_set_str(json, "speed", kl_speed_name(root->speed));
	kl_json_set_str(json, "event", event->id);
	return json;
}

static int print_json(const struct kl_search_result *result)
{
	const struct kl_cell *cell = result->cell;
	KL_AUTO(json_decrefp) json_t *json = json_object();
	json_t *tickets = json_array();
	int64_t spent, cap;
	int err = kl_session_money(&spent, &cap, result->session);

	if (err < 0)
		return err;
	for (size_t i = 0; i < cell->chain.n; i++)
		json_array_append_new(tickets, link_json(&cell->chain.v[i]));
	kl_json_set_str(json, "schema", "klineage.search/1");
	kl_json_set_str(json, "workload", result->workload);
	kl_json_set_str(json, "name", result->name);
	kl_json_set(json, "setup", kl_setup_write(&cell->setup));
	kl_json_set_str(json, "evidence", kl_cell_evidence(cell));
	kl_json_set_str(json, "judge", kl_judging_name[cell->judging.mode]);
	kl_json_set_str(json, "skill", cell->judging.skill ? cell->judging.skill->name : NULL);
	kl_json_set_str(json, "table", cell->judging.table ? cell->judging.table->digest : NULL);
	kl_json_set(json, "tickets", tickets);
	kl_json_set_int(json, "candidates", cell->candidates);
	kl_json_set_int(json, "judged", (int64_t)cell->judged);
	kl_json_set_int(json, "best", cell->best);
	kl_json_set_str(json, "branch", cell->best ? cell->branch : NULL);
	kl_json_set_str(json, "chain", cell->ref);
	kl_json_set_str(json, "ended", cell->ended);
	kl_json_set_int(json, "waiting",
			cell->wave.sent.waiting ? (int64_t)cell->wave.sent.jobs : 0);
	kl_json_set_int(json, "spent_nano", spent);
	kl_json_set_int(json, "cap_nano", cap);
	kl_json_set(json, "again", again_json(result->again));
	kl_listing_put(json);
	return 0;
}

int kl_search_print(const struct kl_search_result *result, bool json)
{
	const struct kl_cell *cell = result->cell;

	if (json)
		return print_json(result);
	for (size_t i = 0; i < cell->chain.n; i++)
		print_link(&cell->chain.v[i]);
	if (cell->ended) {
		fputs("the search stopped: ", stdout);
		kl_out_line(stdout, cell->ended);
		putchar('\n');
	}
	print_best(result);
	print_evidence(cell);
	return print_cost(result);
}

/* --- plans and policies ---------------------------------------------------------------------- */

static void print_value(const struct kl_policy_param *param, int64_t value)
{
	if (param->words)
		fputs(param->words[value], stdout);
	else if (param->decimal)
		printf("%g", (double)value / 1e6);
	else
		printf("%" PRId64, value);
}

void kl_search_print_policies(void)
{
	for (size_t i = 0; kl_policies[i]; i++) {
		const struct kl_policy *policy = kl_policies[i];

		printf("%s\n    %s\n", policy->name, policy->what);
		for (const struct kl_policy_param *param = policy->param; param->name; param++)
			printf("    --set %s=%s: %s\n", param->name, param->dflt, param->what);
		for (const struct kl_policy_preset *preset = policy->preset; preset->name; preset++)
			printf("    --preset %s: %s\n", preset->name, preset->what);
	}
}

static void plan_lines(struct kl_strvec *out, const struct kl_setup *setup)
{
	if (setup->policy->cannot)
		setup->policy->cannot(out, setup);
}

static void print_plan_json(const struct kl_search_plan *plan)
{
	KL_AUTO(json_decrefp) json_t *json = json_object();
	KL_AUTO(kl_strvec_release) struct kl_strvec lines = KL_STRVEC_INIT;
	json_t *cannot = json_array();

	plan_lines(&lines, plan->setup);
	for (size_t i = 0; i < lines.n; i++)
		json_array_append_new(cannot, json_string(lines.v[i]));
	kl_json_set_str(json, "schema", "klineage.search-plan/1");
	kl_json_set_str(json, "workload", plan->workload);
	kl_json_set_str(json, "name", plan->name);
	kl_json_set(json, "setup", kl_setup_write(plan->setup));
	kl_json_set_str(json, "budget", plan->budget);
	kl_json_set(json, "cannot", cannot);
	kl_listing_put(json);
}

void kl_search_print_plan(const struct kl_search_plan *plan, bool json)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec lines = KL_STRVEC_INIT;
	const struct kl_setup *setup = plan->setup;

	if (json) {
		print_plan_json(plan);
		return;
	}
	printf("%s/%s: %s, %" PRId64 " candidates at most, %" PRId64 " at once\n", plan->workload,
	       plan->name, setup->policy->name, setup->candidates, setup->width);
	for (int i = 0; setup->policy->param[i].name; i++) {
		printf("    %s=", setup->policy->param[i].name);
		print_value(&setup->policy->param[i], setup->value[i]);
		putchar('\n');
	}
	if (setup->memory)
		printf("memory: %zu entries\n", json_object_size(setup->memory));
	if (plan->budget)
		printf("it may cost at most $%s, over all roles\n", plan->budget);
	else
		puts("it may cost at most what klineage.budget.materialize says, over all roles");
	plan_lines(&lines, setup);
	for (size_t i = 0; i < lines.n; i++)
		printf("cannot happen: %s\n", lines.v[i]);
	puts("nothing was sent");
}
