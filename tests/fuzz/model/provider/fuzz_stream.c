/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "base/mem.h"
#include "model/provider/http_shared.h"

static int read_stream(struct kl_reply *out, kl_stream_event_fn *event, const char *p, size_t n,
		       size_t step)
{
	static const struct kl_provider_request q = { .model = "m",
						      .max_tokens = 1,
						      .cache = KL_CACHE_1H };
	KL_AUTO(kl_stream_release) struct kl_stream s = { 0 };
	int err = 0;

	*out = (struct kl_reply){ 0 };
	kl_stream_begin(&s, event, &q, out, NULL);
	for (size_t i = 0; !err && i < n; i += step)
		err = kl_stream_feed(&s, p + i, n - i < step ? n - i : step);
	MUST(err == 0 || err == KL_EINVALID || err == KL_EIO);
	if (!err)
		err = kl_stream_check(&s);
	out->text = kl_buf_detach(&s.text);
	return err;
}

/*
 * What a server streams: whole or byte by byte it says the same. A count is never
 * negative, what is known of usage is known in all its parts, and no error has a control in it.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static kl_stream_event_fn *const protocol[] = { kl_anthropic_event, kl_openai_event };

	for (size_t i = 0; i < 2; i++) {
		struct kl_reply a, b;
		KL_AUTO(kl_freep) char *why = NULL;
		int err;

		kl_error_clear();
		err = read_stream(&a, protocol[i], (const char *)data, size, size + 1);
		why = kl_strdup(kl_error_last());
		for (const char *p = why; err && *p; p++)
			MUST((unsigned char)*p >= ' ');
		MUST(read_stream(&b, protocol[i], (const char *)data, size, 1) == err);
		MUST(!err || !strcmp(why, kl_error_last()));
		MUST(!strcmp(a.text, b.text) && a.stop == b.stop);
		MUST(!memcmp(&a.usage, &b.usage, sizeof(a.usage)));
		MUST(a.usage.input >= 0 && a.usage.output >= 0 && a.usage.cache_read >= 0 &&
		     a.usage.cache_write_5m >= 0 && a.usage.cache_write_1h >= 0);
		kl_reply_release(&a);
		kl_reply_release(&b);
	}
	kl_error_clear();
	return 0;
}
