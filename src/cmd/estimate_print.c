/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/estimate_print.h"

#include <stdio.h>

#include "cmd/cli/listing.h"
#include "model/money.h"

json_t *kl_estimate_say_ends(const int64_t ends[2])
{
	json_t *value = json_array();

	json_array_append_new(value, json_integer(ends[0]));
	json_array_append_new(value, json_integer(ends[1]));
	return value;
}

static void print_json(const struct kl_estimate_print *print, int64_t spent, int64_t cap)
{
	KL_AUTO(json_decrefp) json_t *value = json_object();

	kl_json_set_str(value, "schema", "klineage.estimate/1");
	kl_json_set_str(value, "workload", print->workload);
	kl_json_set(value, "nano", kl_estimate_say_ends(print->nano));
	for (size_t i = 0; i < print->n; i++)
		if (print->row[i].key)
			kl_json_set(value, print->row[i].key,
				    print->row[i].ends ? kl_estimate_say_ends(print->row[i].ends) :
							 json_integer(print->row[i].number));
	kl_json_set_int(value, "spent", spent);
	kl_json_set_int(value, "cap", cap);
	kl_listing_put(value);
}

static void print_row(const struct kl_estimate_row *row)
{
	int64_t least = row->ends ? row->ends[0] : row->number,
		most = row->ends ? row->ends[1] : row->number;

	if (least == most)
		printf("  %-10s %lld %s\n", row->label, (long long)least, row->what);
	else
		printf("  %-10s %lld to %lld %s\n", row->label, (long long)least, (long long)most,
		       row->what);
}

static void print_text(const struct kl_estimate_print *print, int64_t spent, int64_t cap)
{
	char low[KL_MONEY_TEXT], high[KL_MONEY_TEXT];

	kl_money_text(low, print->nano[0]);
	kl_money_text(high, print->nano[1]);
	if (print->nano[1])
		printf("%s: %s is likely to cost %s to %s; nothing was sent.\n", print->workload,
		       print->one, low, high);
	else
		printf("%s: the model is not metered, so the ledger books nothing; "
		       "nothing was sent.\n",
		       print->workload);
	puts("assumed:");
	for (size_t i = 0; i < print->n; i++)
		if (print->row[i].label)
			print_row(&print->row[i]);
	if (print->note)
		puts(print->note);
	kl_money_text(low, spent);
	kl_money_text(high, cap);
	printf("spent so far: %s of the %s limit for %s\n", low, high, print->all);
}

int kl_estimate_print(const struct kl_estimate_print *print, struct kl_session *session, bool json)
{
	int64_t spent, cap;
	int err = kl_session_money(&spent, &cap, session);

	if (err < 0)
		return err;
	if (json)
		print_json(print, spent, cap);
	else
		print_text(print, spent, cap);
	return 0;
}
