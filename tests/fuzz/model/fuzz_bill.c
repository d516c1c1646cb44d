/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "model/bill.h"
#include "model/money.h"

/* Whatever the file is, its days are in order and its sums do not exceed their bound. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	KL_AUTO(kl_bill_release) struct kl_bill bill = { 0 };
	int64_t sum = 0;

	if (kl_bill_parse(&bill, "bill", (const char *)data, size) == 0) {
		MUST(bill.form && strcmp(bill.first, bill.last) <= 0);
		for (size_t i = 0; i < bill.n; i++) {
			char day[KL_BILL_DAY];

			MUST(kl_bill_day(day, bill.line[i].day));
			MUST(strcmp(day, bill.first) >= 0 && strcmp(day, bill.last) <= 0);
			MUST(bill.line[i].rows > 0);
			MUST(bill.line[i].usage.input >= 0 && bill.line[i].usage.output >= 0);
			sum += bill.line[i].nano;
		}
		MUST(sum <= KL_MONEY_MAX && sum >= -KL_MONEY_MAX);
	}
	kl_error_clear();
	return 0;
}
