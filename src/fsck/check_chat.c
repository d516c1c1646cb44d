/* SPDX-License-Identifier: Apache-2.0 */
#include "fsck/check_chat.h"

#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "model/conversation.h"
#include "model/ledger.h"
#include "model/money.h"
#include "text/name.h"

/* The state of one reservation in a workload's ledger. Amounts are in nano-dollars. */
struct claim {
	int64_t reserved, settled;
	int64_t now; /* the settled amount after all corrections */
	enum kl_budget budget;
	bool is_settled;
};

struct checker {
	struct kl_chat_check *c;
	struct kl_map claims; /* "<workload> <id>" -> struct claim; values owned */
};

static void report_finding(struct checker *checker, bool error, const char *where, const char *fmt,
			   ...) __attribute__((format(printf, 4, 5)));

static void report_finding(struct checker *checker, bool error, const char *where, const char *fmt,
			   ...)
{
	KL_AUTO(kl_buf_release) struct kl_buf message = KL_BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	kl_buf_vaddf(&message, fmt, ap);
	va_end(ap);
	checker->c->report(error, where, message.ptr, checker->c->payload);
}

static void found_error(struct checker *checker, const char *where)
{
	report_finding(checker, true, where, "%s", kl_error_last());
	kl_error_clear();
}

/* --- checking ledgers ------------------------------------------------------------ */

static void check_reservation(struct checker *checker, const char *ref, const char *key,
			      const struct kl_ledger_entry *entry, struct kl_ledger_totals *sum)
{
	struct claim *claim;

	if (kl_map_get(&checker->claims, key)) {
		report_finding(checker, true, ref, "duplicate reservation %.12s", entry->id);
		return;
	}
	claim = kl_calloc(1, sizeof(*claim));
	*claim = (struct claim){ .reserved = entry->nano, .budget = entry->budget };
	kl_map_put(&checker->claims, key, claim);
	sum->of[entry->budget].reserved += entry->nano;
}

static void check_settlement(struct checker *checker, const char *ref, const char *key,
			     const struct kl_ledger_entry *entry, struct kl_ledger_totals *sum)
{
	struct claim *claim = kl_map_get(&checker->claims, key);

	if (!claim)
		report_finding(checker, true, ref, "settlement of unknown reservation %.12s",
			       entry->id);
	else if (claim->is_settled)
		report_finding(checker, true, ref, "reservation %.12s is settled twice", entry->id);
	else if (claim->reserved != entry->released || claim->budget != entry->budget)
		report_finding(checker, true, ref,
			       "settlement of reservation %.12s differs from the reservation",
			       entry->id);
	if (claim) {
		claim->is_settled = true;
		claim->settled = claim->now = entry->nano;
	}
	sum->of[entry->budget].reserved -= entry->released;
	sum->of[entry->budget].settled += entry->nano;
}

static void check_correction(struct checker *checker, const char *ref, const char *key,
			     const struct kl_ledger_entry *entry, struct kl_ledger_totals *sum)
{
	struct claim *claim = kl_map_get(&checker->claims, key);

	if (!claim || !claim->is_settled)
		report_finding(checker, true, ref,
			       "correction of reservation %.12s, which is not settled", entry->id);
	else if (claim->now != entry->before || claim->budget != entry->budget)
		report_finding(checker, true, ref,
			       "correction of reservation %.12s does not match its settlement",
			       entry->id);
	if (claim)
		claim->now = entry->nano;
	sum->of[entry->budget].settled += kl_ledger_settled_by(entry);
}

static void check_entries(struct checker *checker, const char *ref, const char *workload,
			  const struct kl_ledger *ledger)
{
	static void (*const check[])(struct checker * checker, const char *ref, const char *key,
				     const struct kl_ledger_entry *entry,
				     struct kl_ledger_totals *sum) = {
		[KL_LEDGER_RESERVE] = check_reservation,
		[KL_LEDGER_SETTLE] = check_settlement,
		[KL_LEDGER_CORRECT] = check_correction,
	};
	struct kl_ledger_totals sum = { 0 };
	int64_t open = 0;
	char money[KL_MONEY_TEXT];

	for (size_t i = 0; i < ledger->n; i++) {
		const struct kl_ledger_entry *entry = &ledger->e[i];
		KL_AUTO(kl_freep) char *key = kl_asprintf("%s %s", workload, entry->id);

		check[entry->kind](checker, ref, key, entry, &sum);
		if (memcmp(&sum, &entry->after, sizeof(sum))) {
			char hex[KL_OID_HEX];

			kl_oid_hex(hex, &entry->commit);
			report_finding(checker, true, ref, "totals of entry %.12s do not add up",
				       hex);
			sum = entry->after;
		}
	}
	for (int budget = 0; budget < KL_BUDGETS; budget++)
		open += sum.of[budget].reserved;
	kl_money_text(money, open);
	if (open)
		report_finding(
			checker, false, ref,
			"%s are reserved but not settled and count as spent: requests are in "
			"progress or were interrupted ('git klineage chat settle' settles the "
			"interrupted ones)",
			money);
}

/* "<workload>" of a ledger, "<workload>/<cell>" of a purse */
static bool is_account(const char *account, const char *workload, bool purse)
{
	const char *cell = account + strlen(workload);

	return kl_name_is_slug(workload) && (purse ? *cell && kl_name_is_slug(cell + 1) : !*cell);
}

static int check_ledgers(struct checker *checker, const char *prefix)
{
	KL_AUTO(kl_ref_list_release) struct kl_ref_list refs = { 0 };
	bool purse = !strcmp(prefix, KL_PURSE_REFS);
	int err = kl_refs_list(&refs, checker->c->repo, prefix);

	for (size_t i = 0; !err && i < refs.n; i++) {
		const char *account = refs.ref[i].name + strlen(prefix);
		KL_AUTO(kl_freep) char *workload = kl_strndup(account, strcspn(account, "/"));
		KL_AUTO(kl_ledger_release) struct kl_ledger ledger = { 0 };

		checker->c->ledgers++;
		if (!is_account(account, workload, purse))
			report_finding(
				checker, true, refs.ref[i].name,
				purse ? "the purse is not named after a workload and a search" :
					"the ledger is not named after a workload");
		else if (kl_ledger_load(&ledger, checker->c->repo, account) < 0)
			found_error(checker, refs.ref[i].name);
		else
			check_entries(checker, refs.ref[i].name, workload, &ledger);
	}
	return err;
}

/* --- checking conversations -------------------------------------------------------- */

static void check_cost(struct checker *checker, const struct kl_conversation *conversation,
		       size_t i)
{
	const struct kl_turn *turn = &conversation->turn[i];
	KL_AUTO(kl_freep) char *key = kl_asprintf("%s %s", conversation->workload,
						  turn->reservation ? turn->reservation : "");
	const struct claim *claim = kl_map_get(&checker->claims, key);

	if (turn->price && turn->usage.known &&
	    kl_rates_cost(&turn->rates, &turn->usage, 1000) != turn->nano)
		report_finding(checker, true, conversation->ref,
			       "cost of turn %zu differs from the price of its tokens", i);
	if (!turn->reservation) {
		if (turn->nano)
			report_finding(checker, true, conversation->ref,
				       "turn %zu has a cost but no reservation", i);
		return;
	}
	if (!claim)
		report_finding(checker, true, conversation->ref,
			       "turn %zu names reservation %.12s, which is not in the ledger", i,
			       turn->reservation);
	else if (claim->is_settled && claim->settled != turn->nano)
		report_finding(checker, true, conversation->ref,
			       "cost of turn %zu differs from its cost in the ledger", i);
}

static void check_turns(struct checker *checker, const struct kl_conversation *conversation)
{
	for (size_t i = 0; i < conversation->n; i++) {
		const struct kl_turn *turn = &conversation->turn[i];
		char prompt[KL_DIGEST_HEX], chain[KL_DIGEST_HEX];

		kl_conversation_digests(prompt, chain, conversation, i, turn);
		if (strcmp(prompt, turn->prompt) || strcmp(chain, turn->chain))
			report_finding(checker, true, conversation->ref,
				       "digests of turn %zu do not match the stored conversation",
				       i);
		check_cost(checker, conversation, i);
	}
}

static int check_conversations(struct checker *checker)
{
	KL_AUTO(kl_ref_list_release) struct kl_ref_list refs = { 0 };
	int err = kl_refs_list(&refs, checker->c->repo, KL_CHAT_REFS);

	for (size_t i = 0; !err && i < refs.n; i++) {
		KL_AUTO(kl_conversation_release) struct kl_conversation conversation = { 0 };

		checker->c->conversations++;
		if (kl_conversation_load_ref(&conversation, checker->c->repo, refs.ref[i].name) < 0)
			found_error(checker, refs.ref[i].name);
		else
			check_turns(checker, &conversation);
	}
	return err;
}

int kl_chat_check(struct kl_chat_check *check)
{
	struct checker checker = { .c = check, .claims = { .free_value = free } };
	int err = check_ledgers(&checker, KL_LEDGER_REFS);

	if (!err)
		err = check_ledgers(&checker, KL_PURSE_REFS);
	if (!err)
		err = check_conversations(&checker);
	kl_map_release(&checker.claims);
	return err;
}
