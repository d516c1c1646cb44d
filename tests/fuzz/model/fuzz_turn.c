/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "model/turn.h"

/* What is known of a turn, read and written, is the same; its money can be counted. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT, first = KL_BUF_INIT,
					      second = KL_BUF_INIT;
	struct kl_turn turn = { 0 }, again = { 0 };

	kl_buf_add(&text, (const char *)data, size);
	if (!memchr(text.ptr, '\0', text.len) && kl_turn_parse(&turn, text.ptr, 0) == 0) {
		MUST(turn.nano >= 0 && turn.max_tokens >= 0);
		MUST(kl_rates_cost(&turn.rates, &turn.usage, 1000) >= 0);
		kl_turn_format(&first, &turn, 0);
		MUST(kl_turn_parse(&again, first.ptr, 0) == 0);
		kl_turn_format(&second, &again, 0);
		MUST(!strcmp(first.ptr, second.ptr));
	}
	kl_turn_release(&again);
	kl_turn_release(&turn);
	kl_error_clear();
	return 0;
}
