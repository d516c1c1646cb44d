/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "base/mem.h"
#include "base/printable.h"
#include "base/utf8.h"

/* UTF-8 without control characters, written anew from the standard's ranges */
static void check_safe(const char *text, size_t len, int lines)
{
	MUST(kl_utf8_span(text, len) == len);
	for (size_t i = 0; i < len; i++) {
		const unsigned char *at = (const unsigned char *)text + i;

		MUST(*at >= 0x20 || (lines && (*at == '\n' || *at == '\t')));
		MUST(*at != 0x7f);
		MUST(*at != 0xc2 || (at[1] >= 0xa0 && at[1] != 0xad));
		MUST(memcmp(at, "\xd8\x9c", 2));
		MUST(*at != 0xe2 || at[1] != 0x80 || at[2] < 0x8b || at[2] > 0xae ||
		     (at[2] > 0x8f && at[2] < 0xa8));
		MUST(*at != 0xe2 || at[1] != 0x81 || at[2] < 0xa0 || at[2] > 0xaf);
		MUST(memcmp(at, "\xef\xbb\xbf", *at == 0xef ? 3 : 1));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	KL_AUTO(kl_buf_release) struct kl_buf whole = KL_BUF_INIT, again = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf pieces = KL_BUF_INIT, line = KL_BUF_INIT;
	const char *text = (const char *)data;
	size_t step = size ? 1 + data[0] % 7 : 1, used = 0;

	kl_printable_add(&whole, text, size);
	check_safe(whole.ptr, whole.len, 1);
	MUST(whole.len >= size);
	MUST(kl_printable_span(whole.ptr, whole.len) == whole.len);
	MUST((kl_printable_span(text, size) == size) ==
	     (whole.len == size && !memcmp(whole.ptr, text, size)));
	kl_printable_add(&again, whole.ptr, whole.len);
	MUST(again.len == whole.len && !memcmp(again.ptr, whole.ptr, whole.len));
	kl_printable_line(&line, text, size);
	check_safe(line.ptr, line.len, 0);
	for (size_t at = step; used < size; at += step) {
		size_t end = at < size ? at : size;

		used += kl_printable_part(&pieces, text + used, end - used);
		MUST(end - used <= 3);
		if (end == size)
			break;
	}
	kl_printable_add(&pieces, text + used, size - used);
	MUST(pieces.len == whole.len && !memcmp(pieces.ptr, whole.ptr, whole.len));
	return 0;
}
