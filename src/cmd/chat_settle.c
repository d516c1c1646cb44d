/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/chat_settle.h"

#include <stdio.h>

#include "base/error.h"
#include "cmd/listing.h"
#include "model/money.h"
#include "model/open_reservation.h"
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
	[KL_SETTLED_REPLY] = "its reply is stored",
	[KL_SETTLED_STATED] = "as you say",
	[KL_SETTLED_WORST] = "its worst case",
	[KL_SETTLED_NOT] = "under way, left alone",
};

static json_t *entry_json(const struct kl_ledger_entry *e, int64_t nano, enum kl_settled_by by)
{
	json_t *j = json_object();

	kl_json_set_str(j, "id", e->id);
	kl_json_set_str(j, "budget", kl_budget_name(e->budget));
	kl_json_set_str(j, "name", e->name);
	kl_json_set_str(j, "phase", e->phase);
	kl_json_set_int(j, "turn", e->turn);
	kl_json_set_str(j, "time", e->time);
	kl_json_set_int(j, "reserved", e->nano);
	kl_json_set_int(j, "nano", nano);
	kl_json_set_str(j, "by", by_name[by]);
	return j;
}

static void report_settled(const struct kl_ledger_entry *e, int64_t nano, enum kl_settled_by by,
			   void *payload)
{
	struct saying *s = payload;
	char was[KL_MONEY_TEXT], is[KL_MONEY_TEXT];

	if (by == KL_SETTLED_NOT) {
		s->under_way++;
	} else {
		s->n++;
		s->nano += nano;
		s->reserved += e->nano;
		if (s->json)
			json_array_append_new(s->list, entry_json(e, nano, by));
	}
	if (s->json)
		return;
	kl_money_text(was, e->nano);
	kl_money_text(is, nano);
	printf("%s/%s, turn %lld, %s: %s reserved, ", e->name, e->phase, (long long)e->turn,
	       e->time, was);
	if (by == KL_SETTLED_NOT)
		printf("%s\n", by_text[by]);
	else
		printf("settled at %s (%s)\n", is, by_text[by]);
}

static void print_json(const struct saying *s, const char *workload)
{
	KL_AUTO(json_decrefp) json_t *j = json_object();

	kl_json_set_str(j, "schema", "klineage.settle/1");
	kl_json_set_str(j, "workload", workload);
	kl_json_set(j, "settled", json_incref(s->list));
	kl_json_set_int(j, "under_way", (int64_t)s->under_way);
	kl_listing_put(j);
}

static void print_sum(const struct saying *s, const char *workload)
{
	char was[KL_MONEY_TEXT], is[KL_MONEY_TEXT];

	kl_money_text(was, s->reserved);
	kl_money_text(is, s->nano);
	if (s->n)
		printf("%s: %zu reservation%s of %s settled at %s\n", workload, s->n,
		       s->n == 1 ? "" : "s", was, is);
	else
		printf("%s: no reservation broke off\n", workload);
}

int kl_chat_settle_say(struct kl_repo *repo, const char *workload, const char *name,
		       const char *phase, const char *cost, bool json)
{
	KL_AUTO(json_decrefp) json_t *list = json_array();
	struct saying s = { .json = json, .list = list };
	struct kl_unsettled u = {
		.repo = repo,
		.workload = workload,
		.name = name,
		.phase = phase,
		.tell = report_settled,
		.payload = &s,
	};
	int64_t nano;
	int err;

	if (cost && !kl_money_parse(&nano, cost))
		return kl_error(KL_EUSAGE, "--cost takes US dollars, like 0.25, not '%s'", cost);
	u.cost = cost ? &nano : NULL;
	if ((err = kl_unsettled_settle(&u)) < 0)
		return err;
	if (json)
		print_json(&s, workload);
	else
		print_sum(&s, workload);
	return 0;
}
