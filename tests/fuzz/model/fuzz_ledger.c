/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "model/ledger.h"

static void check_sums(const struct kl_ledger_entry *entry)
{
	MUST(entry->nano >= 0 && entry->released >= 0 && entry->turn >= 0);
	for (int second = 0; second < KL_BUDGETS; second++)
		MUST(entry->after.of[second].settled >= 0 && entry->after.of[second].reserved >= 0);
	for (const char *ch = entry->name; *ch; ch++)
		MUST(*ch != '\n' && *ch != '\033');
}

/* An entry that can be read is written as one that says the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	KL_AUTO(kl_buf_release) struct kl_buf first = KL_BUF_INIT, second = KL_BUF_INIT;
	struct kl_ledger_entry entry, again;

	if (kl_ledger_entry_parse(&entry, (const char *)data, size, "w") == 0) {
		check_sums(&entry);
		kl_ledger_entry_format(&first, &entry, "w");
		MUST(kl_ledger_entry_parse(&again, first.ptr, first.len, "w") == 0);
		kl_ledger_entry_format(&second, &again, "w");
		MUST(!strcmp(first.ptr, second.ptr));
		kl_ledger_entry_release(&again);
		kl_ledger_entry_release(&entry);
	}
	kl_error_clear();
	return 0;
}
