/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/materialize_say.h"

#include <string.h>

#include "cmd/estimate_say.h"
#include "model/money.h"
#include "text/utf8.h"
#include "walk/step.h"

/* what a model wrote is not to move the cursor */
static void print_plain(FILE *to, const char *s, size_t max)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;

	kl_utf8_clean(&b, s, kl_utf8_cut(s, strlen(s), max));
	for (size_t i = 0; i < b.len; i++)
		fputc(b.ptr[i] == '\n' || b.ptr[i] == '\t' ? ' ' : b.ptr[i], to);
}

static void add_ratio(struct kl_buf *b, const struct kl_mat_try *t)
{
	kl_buf_addf(b, "%.3fx [%.3f, %.3f] %s", (double)t->ratio.ppm / 1e6,
		    (double)t->ratio.lo / 1e6, (double)t->ratio.hi / 1e6, kl_speed_name(t->speed));
}

static void print_try(FILE *to, const struct kl_materialization *m, const struct kl_mat_try *t)
{
	KL_AUTO(kl_buf_release) struct kl_buf ratio = KL_BUF_INIT;
	bool tool = !strcmp(t->by, "card");
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, &m->node[t->on].commit);
	if (tool || *t->card)
		fprintf(to, "%s (%s) on %.10s", *t->card ? t->card : "-",
			*t->blob ? kl_card_status_name(t->status) : "not offered", hex);
	else
		fprintf(to, "%s on %.10s", t->by, hex);
	fprintf(to, ": %s", kl_mat_outcome_name(t->outcome));
	if (!tool)
		fprintf(to, ", by %s, %s", t->by, t->source);
	if (*t->how && t->outcome != KL_MAT_LEFT)
		fprintf(to, ", %s", t->how);
	if (*t->why) {
		fputs(": ", to);
		print_plain(to, t->why, 300);
	}
	if (t->ratio.ppm) {
		add_ratio(&ratio, t);
		fprintf(to, ", %s", ratio.ptr);
	}
	fputc('\n', to);
}

static const char *short_ref(const char *ref)
{
	return !strncmp(ref, "refs/heads/", 11) ? ref + 11 : ref;
}

static void print_model(FILE *to, const struct kl_materialization *m)
{
	char money[KL_MONEY_TEXT] = "not metered";

	for (size_t i = 0; i < m->left_out.n; i++)
		fprintf(to, "%s: not told to the model, whose prefix has no room for more\n",
			m->left_out.v[i]);
	if (!m->ended)
		return;
	if (m->nano >= 0)
		kl_money_text(money, m->nano);
	fprintf(to, "the conversation ended (%s): ", money);
	print_plain(to, m->ended, 400);
	fputc('\n', to);
}

void kl_materialize_say(FILE *to, const struct kl_materialization *m, bool dry)
{
	char hex[KL_OID_HEX];

	for (size_t i = 0; i < m->n; i++)
		print_try(to, m, &m->v[i]);
	print_model(to, m);
	if (dry) {
		fprintf(to, "%zu card%s fit; what applies would be judged on %s\n", m->offered,
			m->offered == 1 ? "" : "s", short_ref(m->branch));
		return;
	}
	kl_oid_hex(hex, &m->node[m->best].commit);
	if (m->best)
		fprintf(to, "%s is at %.10s, %d step%s from the root\n", short_ref(m->branch), hex,
			m->node[m->best].depth, m->node[m->best].depth == 1 ? "" : "s");
	else
		fprintf(to, "nothing is faster than the root, %.10s\n", hex);
	if (m->stopped)
		fputs("stopped after one; --continue goes on\n", to);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static json_t *try_json(const struct kl_materialization *m, const struct kl_mat_try *t)
{
	json_t *j = json_object();
	char hex[KL_OID_HEX];

	kl_json_set_str(j, "card", *t->card ? t->card : NULL);
	kl_json_set_str(j, "blob", *t->blob ? t->blob : NULL);
	kl_json_set_str(j, "status", *t->blob ? kl_card_status_name(t->status) : NULL);
	kl_json_set_str(j, "by", t->by);
	kl_json_set_str(j, "source", *t->source ? t->source : NULL);
	kl_oid_hex(hex, &m->node[t->on].commit);
	kl_json_set_str(j, "on", hex);
	kl_oid_hex(hex, &m->node[t->node].commit);
	kl_json_set_str(j, "commit", t->node ? hex : NULL);
	kl_json_set_str(j, "outcome", kl_mat_outcome_name(t->outcome));
	kl_json_set_str(j, "how", *t->how ? t->how : NULL);
	kl_json_set_str(j, "why", *t->why ? t->why : NULL);
	kl_json_set_str(j, "speed", t->speed ? kl_speed_name(t->speed) : NULL);
	kl_json_set_int(j, "ratio_ppm", t->ratio.ppm);
	kl_json_set_str(j, "event", *t->event ? t->event : NULL);
	return j;
}

static json_t *tries_json(const struct kl_materialization *m)
{
	json_t *list = json_array();

	for (size_t i = 0; i < m->n; i++)
		json_array_append_new(list, try_json(m, &m->v[i]));
	return list;
}

void kl_materialize_say_listing(const struct kl_listing *out, const struct kl_materialization *m,
				const char *workload, const char *name, bool has_branch, bool dry)
{
	static const char *const fields[] = { "card",  "blob",      "status",  "by",  "source",
					      "on",    "commit",    "outcome", "how", "why",
					      "speed", "ratio_ppm", "event",   NULL };
	KL_AUTO(json_decrefp) json_t *j = json_object();
	json_t *left = json_array();
	char hex[KL_OID_HEX];

	for (size_t i = 0; i < m->left_out.n; i++)
		json_array_append_new(left, json_string(m->left_out.v[i]));
	kl_json_set_str(j, "schema", "klineage.materialize/1");
	kl_json_set_str(j, "workload", workload);
	kl_json_set_str(j, "name", name);
	kl_json_set_bool(j, "dry_run", dry);
	kl_oid_hex(hex, &m->node[0].commit);
	kl_json_set_str(j, "root", hex);
	kl_oid_hex(hex, &m->node[m->best].commit);
	kl_json_set_str(j, "best", hex);
	kl_json_set_str(j, "branch", has_branch ? m->branch : NULL);
	kl_json_set_int(j, "offered", (int64_t)m->offered);
	kl_json_set_bool(j, "stopped", m->stopped);
	kl_json_set_str(j, "ended", m->ended);
	kl_json_set_int(j, "nano", m->nano);
	kl_json_set(j, "left_out", left);
	kl_json_set(j, "tries", tries_json(m));
	kl_listing_print(out, j, "tries", fields);
}

int kl_materialize_say_patch(struct kl_repo *r, const struct kl_materialization *m)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	struct kl_commit root = { 0 };
	git_oid from, to;
	int err = kl_repo_commit_read(&root, r, &m->node[0].commit);

	/* nobody has that root: the patch brings it along */
	if (!err && kl_step_is_oracle_root(root.message) && root.nparent)
		err = kl_repo_tree_of(&from, r, &root.parent[0]);
	else if (!err)
		from = root.tree;
	kl_commit_release(&root);
	if (!err)
		err = kl_repo_tree_of(&to, r, &m->node[m->best].commit);
	if (!err)
		err = kl_repo_diff(&b, r, &from, &to, NULL);
	if (!err && b.len)
		fwrite(b.ptr, 1, b.len, stdout);
	return err;
}

/* --- roundtrips ------------------------------------------------------------------------------- */

void kl_materialize_say_trial(const struct kl_roundtrip *rt)
{
	const struct kl_roundtrip_trial *t = &rt->v[rt->n - 1];
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, &t->m.node[t->m.best].commit);
	printf("trial %zu: %.1f %% of K* [%.1f, %.1f]%s%s, %d step%s to %.10s", rt->n,
	       (double)t->recovered.ppm / 1e4, (double)t->recovered.lo / 1e4,
	       (double)t->recovered.hi / 1e4, t->success ? ", recovered" : "",
	       t->noisy ? ", in noise" : "", t->m.node[t->m.best].depth,
	       t->m.node[t->m.best].depth == 1 ? "" : "s", hex);
	if (t->m.ended) {
		fputs(" (", stdout);
		print_plain(stdout, t->m.ended, 200);
		putchar(')');
	}
	putchar('\n');
}

static json_t *trial_json(const struct kl_roundtrip_trial *t)
{
	json_t *j = json_object();
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, &t->m.node[t->m.best].commit);
	kl_json_set_str(j, "name", t->name);
	kl_json_set_str(j, "best", hex);
	kl_json_set_int(j, "steps", t->m.node[t->m.best].depth);
	kl_json_set_int(j, "recovered_ppm", t->recovered.ppm);
	kl_json_set_int(j, "lo_ppm", t->recovered.lo);
	kl_json_set_int(j, "hi_ppm", t->recovered.hi);
	kl_json_set_str(j, "event", *t->event ? t->event : NULL);
	kl_json_set_bool(j, "success", t->success);
	kl_json_set_bool(j, "noisy", t->noisy);
	kl_json_set_int(j, "nano", t->m.nano);
	kl_json_set_str(j, "ended", t->m.ended);
	kl_json_set(j, "tries", tries_json(&t->m));
	return j;
}

static void print_roundtrip(const struct kl_listing *out, const struct kl_roundtrip *rt)
{
	static const char *const fields[] = { "name",   "best",   "steps",   "recovered_ppm",
					      "lo_ppm", "hi_ppm", "success", "event",
					      "nano",   "ended",  "noisy",   NULL };
	KL_AUTO(json_decrefp) json_t *j = json_object();
	json_t *list = json_array();
	char hex[KL_OID_HEX];

	for (size_t i = 0; i < rt->n; i++)
		json_array_append_new(list, trial_json(&rt->v[i]));
	kl_json_set_str(j, "schema", "klineage.roundtrip/1");
	kl_json_set_str(j, "lineage", rt->lineage);
	kl_oid_hex(hex, &rt->first);
	kl_json_set_str(j, "root", hex);
	kl_oid_hex(hex, &rt->expert);
	kl_json_set_str(j, "expert", hex);
	kl_json_set_str(j, "cards", kl_cards_arm_name(rt->arm));
	kl_json_set_bool(j, "held_out", rt->held_out);
	kl_json_set_int(j, "successes", (int64_t)rt->successes);
	kl_json_set(j, "trials", list);
	kl_listing_print(out, j, "trials", fields);
}

void kl_materialize_say_roundtrip(const struct kl_roundtrip *rt, const struct kl_listing *out)
{
	if (kl_listing_asked(out)) {
		print_roundtrip(out, rt);
		return;
	}
	printf("%s: %zu of %zu trials recovered 90 %% of K*\n", rt->lineage, rt->successes, rt->n);
	if (rt->noisy)
		printf("%zu in noise; --continue measures anew what it hid\n", rt->noisy);
}

/* --- estimates -------------------------------------------------------------------------------- */

int kl_materialize_say_estimate(const struct kl_mat_estimate *e, struct kl_session *session,
				const char *workload, bool json)
{
	/* clang-format off */
	const struct kl_estimate_row rows[] = {
		{ "cards", "cards", "that fit, told whole", NULL, e->cards },
		{ "prefix_bytes", "prefix", "bytes of rules, cards and contract in each request", NULL,
		  e->prefix_bytes },
		{ "state_bytes", "state", "bytes of source", NULL, e->state_bytes },
		{ "reply_tokens", "reply", "tokens", e->reply_tokens, 0 },
		{ "requests", "requests", "in all, each with what was said before it", e->requests, 0 },
	};
	/* clang-format on */

	return kl_estimate_say(
		&(struct kl_estimate_say){
			.workload = workload,
			.one = "a run",
			.all = "runs on this workload",
			.nano = e->nano,
			.row = rows,
			.n = KL_ARRAY_SIZE(rows),
		},
		session, json);
}
