/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "model/ledger.h"

static void check_sums(const struct kl_ledger_entry *e)
{
	MUST(e->nano >= 0 && e->released >= 0 && e->turn >= 0);
	for (int b = 0; b < KL_BUDGETS; b++)
		MUST(e->after.of[b].settled >= 0 && e->after.of[b].reserved >= 0);
	for (const char *c = e->name; *c; c++)
		MUST(*c != '\n' && *c != '\033');
}

/* An entry that can be read is written as one that says the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	KL_AUTO(kl_buf_release) struct kl_buf first = KL_BUF_INIT, second = KL_BUF_INIT;
	struct kl_ledger_entry e, again;

	if (kl_ledger_entry_parse(&e, (const char *)data, size, "w") == 0) {
		check_sums(&e);
		kl_ledger_entry_format(&first, &e, "w");
		MUST(kl_ledger_entry_parse(&again, first.ptr, first.len, "w") == 0);
		kl_ledger_entry_format(&second, &again, "w");
		MUST(!strcmp(first.ptr, second.ptr));
		kl_ledger_entry_release(&again);
		kl_ledger_entry_release(&e);
	}
	kl_error_clear();
	return 0;
}
