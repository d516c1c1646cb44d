/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/materialize_print.h"

#include <string.h>

#include "base/utf8.h"
#include "cmd/cli/out.h"
#include "cmd/estimate_print.h"
#include "model/money.h"
#include "walk/step.h"

/* Print on one line at most `max` bytes of a text that a model wrote. */
static void print_plain(FILE *to, const char *text, size_t max)
{
	KL_AUTO(kl_freep) char *line = kl_strndup(text, kl_utf8_cut(text, strlen(text), max));

	for (char *at = line; (at = strpbrk(at, "\n\t")); at++)
		*at = ' ';
	kl_out_line(to, line);
}

static void add_ratio(struct kl_buf *buf, const struct kl_materialize_attempt *attempt)
{
	kl_buf_addf(buf, "%.3fx [%.3f, %.3f] %s", (double)attempt->ratio.ppm / 1e6,
		    (double)attempt->ratio.lo / 1e6, (double)attempt->ratio.hi / 1e6,
		    kl_speed_name(attempt->speed));
}

static void print_try(FILE *to, const struct kl_materialization *materialization,
		      const struct kl_materialize_attempt *attempt)
{
	KL_AUTO(kl_buf_release) struct kl_buf ratio = KL_BUF_INIT;
	bool tool = !strcmp(attempt->by, "card");
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, &materialization->node[attempt->on].commit);
	if (tool || *attempt->card)
		fprintf(to, "%s (%s) on %.10s", *attempt->card ? attempt->card : "-",
			*attempt->blob ? kl_card_status_name(attempt->status) : "not offered", hex);
	else
		fprintf(to, "%s on %.10s", attempt->by, hex);
	fprintf(to, ": %s", kl_materialize_outcome_name(attempt->outcome));
	if (!tool)
		fprintf(to, ", by %s, %s%s", attempt->by, attempt->source,
			attempt->free ? ", a free step" : "");
	if (*attempt->how && attempt->outcome != KL_MATERIALIZE_LEFT)
		fprintf(to, ", %s", attempt->how);
	if (*attempt->why) {
		fputs(": ", to);
		print_plain(to, attempt->why, 300);
	}
	if (attempt->ratio.ppm) {
		add_ratio(&ratio, attempt);
		fprintf(to, ", %s", ratio.ptr);
	}
	fputc('\n', to);
}

static const char *short_ref(const char *ref)
{
	return !strncmp(ref, "refs/heads/", 11) ? ref + 11 : ref;
}

static void print_model(FILE *to, const struct kl_materialization *materialization)
{
	char money[KL_MONEY_TEXT] = "not metered";

	for (size_t i = 0; i < materialization->left_out.n; i++)
		fprintf(to, "%s: not given to the model: the prompt has no room for more cards\n",
			materialization->left_out.v[i]);
	if (!materialization->ended)
		return;
	if (materialization->nano >= 0)
		kl_money_text(money, materialization->nano);
	fprintf(to, "the conversation ended (%s): ", money);
	print_plain(to, materialization->ended, 400);
	fputc('\n', to);
}

void kl_materialize_say(FILE *to, const struct kl_materialization *materialization, bool dry)
{
	char hex[KL_OID_HEX];

	for (size_t i = 0; i < materialization->n; i++)
		print_try(to, materialization, &materialization->v[i]);
	print_model(to, materialization);
	if (dry) {
		fprintf(to, "%zu card%s fit; those that apply would be judged on %s\n",
			materialization->offered, materialization->offered == 1 ? "" : "s",
			short_ref(materialization->branch));
		return;
	}
	kl_oid_hex(hex, &materialization->node[materialization->best].commit);
	if (materialization->waiting)
		fprintf(to, "%zu verdict%s to come from elsewhere\n", materialization->waiting,
			materialization->waiting == 1 ? " is" : "s are");
	else if (materialization->best)
		fprintf(to, "%s is at %.10s, %d step%s from the root\n",
			short_ref(materialization->branch), hex,
			materialization->node[materialization->best].depth,
			materialization->node[materialization->best].depth == 1 ? "" : "s");
	else
		fprintf(to, "nothing is faster than the root, %.10s%s\n", hex,
			materialization->offered || materialization->n ? "" : ": no card fits it");
	if (materialization->stopped)
		fputs("stopped after one change; --continue resumes\n", to);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static json_t *try_json(const struct kl_materialization *materialization,
			const struct kl_materialize_attempt *attempt)
{
	json_t *value = json_object();
	char hex[KL_OID_HEX];

	kl_json_set_str(value, "card", *attempt->card ? attempt->card : NULL);
	kl_json_set_str(value, "blob", *attempt->blob ? attempt->blob : NULL);
	kl_json_set_str(value, "status",
			*attempt->blob ? kl_card_status_name(attempt->status) : NULL);
	kl_json_set_str(value, "free", kl_free_name(attempt->free));
	kl_json_set_str(value, "by", attempt->by);
	kl_json_set_str(value, "source", *attempt->source ? attempt->source : NULL);
	kl_oid_hex(hex, &materialization->node[attempt->on].commit);
	kl_json_set_str(value, "on", hex);
	kl_oid_hex(hex, &materialization->node[attempt->node].commit);
	kl_json_set_str(value, "commit", attempt->node ? hex : NULL);
	kl_json_set_str(value, "outcome", kl_materialize_outcome_name(attempt->outcome));
	kl_json_set_str(value, "how", *attempt->how ? attempt->how : NULL);
	kl_json_set_str(value, "why", *attempt->why ? attempt->why : NULL);
	kl_json_set_str(value, "speed", attempt->speed ? kl_speed_name(attempt->speed) : NULL);
	kl_json_set_int(value, "ratio_ppm", attempt->ratio.ppm);
	kl_json_set_str(value, "event", *attempt->event ? attempt->event : NULL);
	return value;
}

static json_t *tries_json(const struct kl_materialization *materialization)
{
	json_t *list = json_array();

	for (size_t i = 0; i < materialization->n; i++)
		json_array_append_new(list, try_json(materialization, &materialization->v[i]));
	return list;
}

void kl_materialize_print_listing(const struct kl_listing *out,
				  const struct kl_materialization *materialization,
				  const char *workload, const char *name, bool has_branch, bool dry)
{
	static const char *const fields[] = { "card",  "blob",      "status",  "by",  "source",
					      "on",    "commit",    "outcome", "how", "why",
					      "speed", "ratio_ppm", "event",   NULL };
	KL_AUTO(json_decrefp) json_t *value = json_object();
	json_t *left_out = json_array();
	char hex[KL_OID_HEX];

	for (size_t i = 0; i < materialization->left_out.n; i++)
		json_array_append_new(left_out, json_string(materialization->left_out.v[i]));
	kl_json_set_str(value, "schema", "klineage.materialize/1");
	kl_json_set_str(value, "workload", workload);
	kl_json_set_str(value, "name", name);
	kl_json_set_bool(value, "dry_run", dry);
	kl_oid_hex(hex, &materialization->node[0].commit);
	kl_json_set_str(value, "root", hex);
	kl_oid_hex(hex, &materialization->node[materialization->best].commit);
	kl_json_set_str(value, "best", hex);
	kl_json_set_str(value, "branch", has_branch ? materialization->branch : NULL);
	kl_json_set_int(value, "offered", (int64_t)materialization->offered);
	kl_json_set_bool(value, "stopped", materialization->stopped);
	kl_json_set_str(value, "ended", materialization->ended);
	kl_json_set_int(value, "nano", materialization->nano);
	kl_json_set(value, "left_out", left_out);
	kl_json_set(value, "tries", tries_json(materialization));
	kl_listing_print(out, value, "tries", fields);
}

int kl_materialize_print_patch(struct kl_repo *repo,
			       const struct kl_materialization *materialization)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	struct kl_commit root = { 0 };
	git_oid from, to;
	int err = kl_repo_commit_read(&root, repo, &materialization->node[0].commit);

	/* an oracle root is not in the user's history, so the patch must also add the root */
	if (!err && kl_step_is_oracle_root(root.message) && root.nparent)
		err = kl_repo_tree_of(&from, repo, &root.parent[0]);
	else if (!err)
		from = root.tree;
	kl_commit_release(&root);
	if (!err)
		err = kl_repo_tree_of(&to, repo,
				      &materialization->node[materialization->best].commit);
	if (!err)
		err = kl_repo_diff(&buf, repo, &from, &to, NULL);
	if (!err && buf.len)
		kl_out_exact(buf.ptr, buf.len);
	return err;
}

/* --- roundtrips ------------------------------------------------------------------------------- */

void kl_materialize_print_trial(const struct kl_roundtrip *rt)
{
	const struct kl_roundtrip_trial *trial = &rt->v[rt->n - 1];
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, &trial->m.node[trial->m.best].commit);
	printf("trial %zu: %.1f %% of K* [%.1f, %.1f]%s%s, %d step%s to %.10s", rt->n,
	       (double)trial->recovered.ppm / 1e4, (double)trial->recovered.lo / 1e4,
	       (double)trial->recovered.hi / 1e4, trial->success ? ", recovered" : "",
	       trial->noisy ? ", within the noise" : "", trial->m.node[trial->m.best].depth,
	       trial->m.node[trial->m.best].depth == 1 ? "" : "s", hex);
	if (trial->m.ended) {
		fputs(" (", stdout);
		print_plain(stdout, trial->m.ended, 200);
		putchar(')');
	}
	putchar('\n');
}

static json_t *trial_json(const struct kl_roundtrip_trial *trial)
{
	json_t *value = json_object();
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, &trial->m.node[trial->m.best].commit);
	kl_json_set_str(value, "name", trial->name);
	kl_json_set_str(value, "best", hex);
	kl_json_set_int(value, "steps", trial->m.node[trial->m.best].depth);
	kl_json_set_int(value, "recovered_ppm", trial->recovered.ppm);
	kl_json_set_int(value, "lo_ppm", trial->recovered.lo);
	kl_json_set_int(value, "hi_ppm", trial->recovered.hi);
	kl_json_set_str(value, "event", *trial->event ? trial->event : NULL);
	kl_json_set_bool(value, "success", trial->success);
	kl_json_set_bool(value, "noisy", trial->noisy);
	kl_json_set_int(value, "nano", trial->m.nano);
	kl_json_set_str(value, "ended", trial->m.ended);
	kl_json_set(value, "tries", tries_json(&trial->m));
	return value;
}

static void print_roundtrip(const struct kl_listing *out, const struct kl_roundtrip *rt)
{
	static const char *const fields[] = { "name",   "best",   "steps",   "recovered_ppm",
					      "lo_ppm", "hi_ppm", "success", "event",
					      "nano",   "ended",  "noisy",   NULL };
	KL_AUTO(json_decrefp) json_t *value = json_object();
	json_t *list = json_array();
	char hex[KL_OID_HEX];

	for (size_t i = 0; i < rt->n; i++)
		json_array_append_new(list, trial_json(&rt->v[i]));
	kl_json_set_str(value, "schema", "klineage.roundtrip/1");
	kl_json_set_str(value, "lineage", rt->lineage);
	kl_oid_hex(hex, &rt->first);
	kl_json_set_str(value, "root", hex);
	kl_oid_hex(hex, &rt->expert);
	kl_json_set_str(value, "expert", hex);
	kl_json_set_str(value, "cards", kl_cards_arm_name(rt->arm));
	kl_json_set_bool(value, "held_out", rt->held_out);
	kl_json_set_int(value, "successes", (int64_t)rt->successes);
	kl_json_set(value, "trials", list);
	kl_listing_print(out, value, "trials", fields);
}

void kl_materialize_print_roundtrip(const struct kl_roundtrip *rt, const struct kl_listing *out)
{
	if (kl_listing_asked(out)) {
		print_roundtrip(out, rt);
		return;
	}
	printf("%s: %zu of %zu trials recovered 90 %% of K*\n", rt->lineage, rt->successes, rt->n);
	if (rt->noisy)
		printf("%zu within the noise; --continue measures them again\n", rt->noisy);
}

/* --- estimates -------------------------------------------------------------------------------- */

int kl_materialize_print_estimate(const struct kl_materialize_estimate *estimate,
				  struct kl_session *session, const char *workload, bool json)
{
	/* clang-format off */
	const struct kl_estimate_row rows[] = {
		{ "cards", "cards", "that fit, given in full", NULL, estimate->cards },
		{ "prefix_bytes", "prefix", "bytes of rules, cards and contract in each request", NULL,
		  estimate->prefix_bytes },
		{ "state_bytes", "state", "bytes of source", NULL, estimate->state_bytes },
		{ "reply_tokens", "reply", "tokens", estimate->reply_tokens, 0 },
		{ "requests", "requests", "in total, each with the earlier turns",
		  estimate->requests, 0 },
	};
	/* clang-format on */

	return kl_estimate_print(
		&(struct kl_estimate_print){
			.workload = workload,
			.one = "a run",
			.all = "runs on this workload",
			.nano = estimate->nano,
			.row = rows,
			.n = KL_ARRAY_SIZE(rows),
		},
		session, json);
}
