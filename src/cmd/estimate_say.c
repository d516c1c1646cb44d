/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/estimate_say.h"

#include <stdio.h>

#include "cmd/listing.h"
#include "model/money.h"

json_t *kl_estimate_say_ends(const int64_t v[2])
{
	json_t *j = json_array();

	json_array_append_new(j, json_integer(v[0]));
	json_array_append_new(j, json_integer(v[1]));
	return j;
}

static void print_json(const struct kl_estimate_say *e, int64_t spent, int64_t cap)
{
	KL_AUTO(json_decrefp) json_t *j = json_object();

	kl_json_set_str(j, "schema", "klineage.estimate/1");
	kl_json_set_str(j, "workload", e->workload);
	kl_json_set(j, "nano", kl_estimate_say_ends(e->nano));
	for (size_t i = 0; i < e->n; i++)
		if (e->row[i].key)
			kl_json_set(j, e->row[i].key,
				    e->row[i].ends ? kl_estimate_say_ends(e->row[i].ends) :
						     json_integer(e->row[i].number));
	kl_json_set_int(j, "spent", spent);
	kl_json_set_int(j, "cap", cap);
	kl_listing_put(j);
}

static void print_row(const struct kl_estimate_row *r)
{
	int64_t least = r->ends ? r->ends[0] : r->number, most = r->ends ? r->ends[1] : r->number;

	if (least == most)
		printf("  %-10s %lld %s\n", r->label, (long long)least, r->what);
	else
		printf("  %-10s %lld to %lld %s\n", r->label, (long long)least, (long long)most,
		       r->what);
}

static void print_text(const struct kl_estimate_say *e, int64_t spent, int64_t cap)
{
	char a[KL_MONEY_TEXT], b[KL_MONEY_TEXT];

	kl_money_text(a, e->nano[0]);
	kl_money_text(b, e->nano[1]);
	if (e->nano[1])
		printf("%s: %s is likely to cost %s to %s; nothing was sent.\n", e->workload,
		       e->one, a, b);
	else
		printf("%s: the model is not metered, the ledger counts nothing; nothing was sent.\n",
		       e->workload);
	puts("assumed:");
	for (size_t i = 0; i < e->n; i++)
		if (e->row[i].label)
			print_row(&e->row[i]);
	if (e->note)
		puts(e->note);
	kl_money_text(a, spent);
	kl_money_text(b, cap);
	printf("spent so far: %s of the %s at which %s end\n", a, b, e->all);
}

int kl_estimate_say(const struct kl_estimate_say *e, struct kl_session *session, bool json)
{
	int64_t spent, cap;
	int err = kl_session_money(&spent, &cap, session);

	if (err < 0)
		return err;
	if (json)
		print_json(e, spent, cap);
	else
		print_text(e, spent, cap);
	return 0;
}
