/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/chat_settle.h"

#include <stdio.h>

#include "base/error.h"
#include "cmd/cli/listing.h"
#include "model/money.h"
#include "model/open_reservation.h"
#include "repo/refs.h"
#include "text/json.h"

struct saying {
	bool json;
	json_t *list;
	size_t n, under_way;
	int64_t nano, reserved;
};

static const char *const by_name[] = {
	[KL_SETTLED_REPLY] = "reply",
	[KL_SETTLED_STATED] = "stated",
	[KL_SETTLED_WORST] = "worst",
};
static const char *const by_text[] = {
	[KL_SETTLED_REPLY] = "from its stored reply",
	[KL_SETTLED_STATED] = "as stated",
	[KL_SETTLED_WORST] = "its worst case",
	[KL_SETTLED_NOT] = "still in progress, not settled",
};

static json_t *entry_json(const struct kl_ledger_entry *entry, int64_t nano, enum kl_settled_by by)
{
	json_t *value = json_object();

	kl_json_set_str(value, "id", entry->id);
	kl_json_set_str(value, "budget", kl_budget_name(entry->budget));
	kl_json_set_str(value, "name", entry->name);
	kl_json_set_str(value, "phase", entry->phase);
	kl_json_set_int(value, "turn", entry->turn);
	kl_json_set_str(value, "time", entry->time);
	kl_json_set_int(value, "reserved", entry->nano);
	kl_json_set_int(value, "nano", nano);
	kl_json_set_str(value, "by", by_name[by]);
	return value;
}

static void report_settled(const struct kl_ledger_entry *entry, int64_t nano, enum kl_settled_by by,
			   void *payload)
{
	struct saying *saying = payload;
	char reserved[KL_MONEY_TEXT], settled[KL_MONEY_TEXT];

	if (by == KL_SETTLED_NOT) {
		saying->under_way++;
	} else {
		saying->n++;
		saying->nano += nano;
		saying->reserved += entry->nano;
		if (saying->json)
			json_array_append_new(saying->list, entry_json(entry, nano, by));
	}
	if (saying->json)
		return;
	kl_money_text(reserved, entry->nano);
	kl_money_text(settled, nano);
	printf("%s/%s, turn %lld, %s: %s reserved, ", entry->name, entry->phase,
	       (long long)entry->turn, entry->time, reserved);
	if (by == KL_SETTLED_NOT)
		printf("%s\n", by_text[by]);
	else
		printf("settled at %s (%s)\n", settled, by_text[by]);
}

static void print_json(const struct saying *saying, const char *workload)
{
	KL_AUTO(json_decrefp) json_t *value = json_object();

	kl_json_set_str(value, "schema", "klineage.settle/1");
	kl_json_set_str(value, "workload", workload);
	kl_json_set(value, "settled", json_incref(saying->list));
	kl_json_set_int(value, "under_way", (int64_t)saying->under_way);
	kl_listing_put(value);
}

static void print_sum(const struct saying *saying, const char *workload)
{
	char reserved[KL_MONEY_TEXT], settled[KL_MONEY_TEXT];

	kl_money_text(reserved, saying->reserved);
	kl_money_text(settled, saying->nano);
	if (saying->n)
		printf("%s: %zu reservation%s of %s settled at %s\n", workload, saying->n,
		       saying->n == 1 ? "" : "s", reserved, settled);
	else
		printf("%s: no interrupted reservations\n", workload);
}

static int read_cost(int64_t *nano, const char *cost)
{
	if (kl_money_parse(nano, cost))
		return 0;
	return kl_error(KL_EUSAGE, "--cost takes US dollars, like 0.25, not '%s'", cost);
}

/* Return true if `name` names a search, whose cost is booked in its own purse. */
static bool has_purse(struct kl_repo *repo, const char *workload, const char *name)
{
	KL_AUTO(kl_freep) char *account = name ? kl_ledger_account(workload, name) : NULL;
	KL_AUTO(kl_freep) char *ref = account ? kl_ledger_account_ref(account) : NULL;
	git_oid oid;
	bool has = ref && !kl_refs_get(&oid, repo, ref);

	kl_error_clear();
	return has;
}

int kl_chat_settle_say(struct kl_repo *repo, const char *workload, const char *name,
		       const char *phase, const char *cost, bool json)
{
	KL_AUTO(json_decrefp) json_t *list = json_array();
	struct saying saying = { .json = json, .list = list };
	struct kl_open_reservations reservations = {
		.repo = repo,
		.workload = workload,
		.name = name,
		.phase = phase,
		.tell = report_settled,
		.payload = &saying,
	};
	int64_t nano;
	int err;

	if (cost && (err = read_cost(&nano, cost)) < 0)
		return err;
	reservations.cost = cost ? &nano : NULL;
	if (has_purse(repo, workload, name))
		reservations.purse = name;
	if ((err = kl_open_reservations_settle(&reservations)) < 0)
		return err;
	if (json)
		print_json(&saying, workload);
	else
		print_sum(&saying, workload);
	return 0;
}

int kl_chat_settle_correct(struct kl_repo *repo, const char *workload, const char *id,
			   const char *cost, bool json)
{
	KL_AUTO(json_decrefp) json_t *value = NULL;
	char from[KL_MONEY_TEXT], to[KL_MONEY_TEXT];
	int64_t nano, before;
	int err;

	if (!cost)
		return kl_error(KL_EUSAGE, "--correct needs --cost <usd>, the amount charged");
	if ((err = read_cost(&nano, cost)) < 0 ||
	    (err = kl_ledger_correct(&before, repo, workload, id, nano)) < 0)
		return err;
	if (!json) {
		kl_money_text(from, before);
		kl_money_text(to, nano);
		printf("%s: %s corrected from %s to %s\n", workload, id, from, to);
		return 0;
	}
	value = json_object();
	kl_json_set_str(value, "schema", "klineage.correct/1");
	kl_json_set_str(value, "workload", workload);
	kl_json_set_str(value, "id", id);
	kl_json_set_int(value, "before", before);
	kl_json_set_int(value, "nano", nano);
	kl_listing_put(value);
	return 0;
}
