/* SPDX-License-Identifier: Apache-2.0 */
#include "fsck/check_chat.h"

#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "model/conversation.h"
#include "model/ledger.h"
#include "model/money.h"
#include "text/yaml_node.h"

/* what the ledger of a workload has for one reservation */
struct claim {
	int64_t reserved, settled;
	enum kl_budget budget;
	bool is_settled;
};

struct checker {
	struct kl_chat_check *c;
	struct kl_map claims; /* "<workload> <id>" */
};

static void report_finding(struct checker *k, bool error, const char *where, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static void report_finding(struct checker *k, bool error, const char *where, const char *fmt, ...)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	kl_buf_vaddf(&b, fmt, ap);
	va_end(ap);
	k->c->report(error, where, b.ptr, k->c->payload);
}

static void found_error(struct checker *k, const char *where)
{
	report_finding(k, true, where, "%s", kl_error_last());
	kl_error_clear();
}

/* --- ledgers -------------------------------------------------------------------- */

static void check_reservation(struct checker *k, const char *ref, const char *key,
			      const struct kl_ledger_entry *e, struct kl_ledger_totals *sum)
{
	struct claim *c;

	if (kl_map_get(&k->claims, key)) {
		report_finding(k, true, ref, "reservation %.12s is made twice", e->id);
		return;
	}
	c = kl_calloc(1, sizeof(*c));
	*c = (struct claim){ .reserved = e->nano, .budget = e->budget };
	kl_map_put(&k->claims, key, c);
	sum->of[e->budget].reserved += e->nano;
}

static void check_settlement(struct checker *k, const char *ref, const char *key,
			     const struct kl_ledger_entry *e, struct kl_ledger_totals *sum)
{
	struct claim *c = kl_map_get(&k->claims, key);

	if (!c)
		report_finding(k, true, ref, "a settlement names %.12s, which nobody reserved",
			       e->id);
	else if (c->is_settled)
		report_finding(k, true, ref, "reservation %.12s is settled twice", e->id);
	else if (c->reserved != e->released || c->budget != e->budget)
		report_finding(k, true, ref, "the settlement of %.12s is not of what was reserved",
			       e->id);
	if (c) {
		c->is_settled = true;
		c->settled = e->nano;
	}
	sum->of[e->budget].reserved -= e->released;
	sum->of[e->budget].settled += e->nano;
}

static void check_entries(struct checker *k, const char *ref, const char *workload,
			  const struct kl_ledger *l)
{
	struct kl_ledger_totals sum = { 0 };
	int64_t open = 0;
	char money[KL_MONEY_TEXT];

	for (size_t i = 0; i < l->n; i++) {
		const struct kl_ledger_entry *e = &l->e[i];
		KL_AUTO(kl_freep) char *key = kl_asprintf("%s %s", workload, e->id);

		(e->settles ? check_settlement : check_reservation)(k, ref, key, e, &sum);
		if (memcmp(&sum, &e->after, sizeof(sum))) {
			char hex[KL_OID_HEX];

			kl_oid_hex(hex, &e->commit);
			report_finding(k, true, ref, "the totals of entry %.12s do not add up",
				       hex);
			sum = e->after;
		}
	}
	for (int b = 0; b < KL_BUDGETS; b++)
		open += sum.of[b].reserved;
	kl_money_text(money, open);
	if (open)
		report_finding(
			k, false, ref,
			"%s are reserved and not settled: requests under way, or that broke "
			"off; they count as spent ('git klineage chat settle' ends the latter)",
			money);
}

static int check_ledgers(struct checker *k)
{
	KL_AUTO(kl_ref_list_release) struct kl_ref_list refs = { 0 };
	int err = kl_refs_list(&refs, k->c->repo, KL_LEDGER_REFS);

	for (size_t i = 0; !err && i < refs.n; i++) {
		const char *workload = refs.ref[i].name + strlen(KL_LEDGER_REFS);
		KL_AUTO(kl_ledger_release) struct kl_ledger l = { 0 };

		k->c->ledgers++;
		if (!kl_node_is_slug(workload))
			report_finding(k, true, refs.ref[i].name,
				       "it is not named after a workload");
		else if (kl_ledger_load(&l, k->c->repo, workload) < 0)
			found_error(k, refs.ref[i].name);
		else
			check_entries(k, refs.ref[i].name, workload, &l);
	}
	return err;
}

/* --- conversations ---------------------------------------------------------------- */

static void check_cost(struct checker *k, const struct kl_conversation *c, size_t i)
{
	const struct kl_turn *t = &c->turn[i];
	KL_AUTO(kl_freep) char *key = kl_asprintf("%s %s", c->workload,
						  t->reservation ? t->reservation : "");
	const struct claim *claim = kl_map_get(&k->claims, key);

	if (t->price && t->usage.known && kl_rates_cost(&t->rates, &t->usage) != t->nano)
		report_finding(k, true, c->ref, "turn %zu did not cost what its tokens cost", i);
	if (!t->reservation) {
		if (t->nano)
			report_finding(k, true, c->ref, "turn %zu was paid for and not reserved",
				       i);
		return;
	}
	if (!claim)
		report_finding(k, true, c->ref,
			       "turn %zu names reservation %.12s, which the ledger has not", i,
			       t->reservation);
	else if (claim->is_settled && claim->settled != t->nano)
		report_finding(k, true, c->ref, "turn %zu cost something else in the ledger", i);
}

static void check_turns(struct checker *k, const struct kl_conversation *c)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct kl_turn *t = &c->turn[i];
		char prompt[KL_DIGEST_HEX], chain[KL_DIGEST_HEX];

		kl_conversation_digests(prompt, chain, c, i, t->user, t->key);
		if (strcmp(prompt, t->prompt) || strcmp(chain, t->chain))
			report_finding(k, true, c->ref,
				       "turn %zu is not the answer to what is stored before it", i);
		check_cost(k, c, i);
	}
}

static int check_conversations(struct checker *k)
{
	KL_AUTO(kl_ref_list_release) struct kl_ref_list refs = { 0 };
	int err = kl_refs_list(&refs, k->c->repo, KL_CHAT_REFS);

	for (size_t i = 0; !err && i < refs.n; i++) {
		KL_AUTO(kl_conversation_release) struct kl_conversation c = { 0 };

		k->c->conversations++;
		if (kl_conversation_load_ref(&c, k->c->repo, refs.ref[i].name) < 0)
			found_error(k, refs.ref[i].name);
		else
			check_turns(k, &c);
	}
	return err;
}

int kl_chat_check(struct kl_chat_check *c)
{
	struct checker k = { .c = c, .claims = { .free_value = free } };
	int err = check_ledgers(&k);

	if (!err)
		err = check_conversations(&k);
	kl_map_release(&k.claims);
	return err;
}
