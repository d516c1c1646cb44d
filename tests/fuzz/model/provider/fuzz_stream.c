/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "base/mem.h"
#include "model/provider/protocol.h"

static int read_stream(struct kl_reply *out, const struct kl_service *service, const char *at,
		       size_t n, size_t step)
{
	static const struct kl_provider_request request = { .model = "m",
							    .max_tokens = 1,
							    .cache = KL_CACHE_1H };
	KL_AUTO(kl_stream_release) struct kl_stream stream = { 0 };
	int err = 0;

	*out = (struct kl_reply){ 0 };
	kl_stream_begin(&stream, kl_protocol_of(service)->event, &service->dialect, &request, out,
			NULL);
	for (size_t i = 0; !err && i < n; i += step)
		err = kl_stream_feed(&stream, at + i, n - i < step ? n - i : step);
	MUST(err == 0 || err == KL_EINVALID || err == KL_EIO);
	if (!err)
		err = kl_stream_check(&stream);
	out->text = kl_buf_detach(&stream.text);
	return err;
}

/*
 * What a server streams: whole or byte by byte it says the same. A count is never
 * negative, what is known of usage is known in all its parts, and no error has a control in it.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct kl_service service[3];
	static const char *const name[] = { "anthropic", "openrouter", "openai-responses" };

	for (size_t i = 0; i < 3; i++) {
		struct kl_reply left, right;
		KL_AUTO(kl_freep) char *why = NULL;
		int err;

		if (!service[i].name)
			MUST(!kl_service_open(&service[i], NULL, name[i], NULL));
		kl_error_clear();
		err = read_stream(&left, &service[i], (const char *)data, size, size + 1);
		why = kl_strdup(kl_error_last());
		for (const char *at = why; err && *at; at++)
			MUST((unsigned char)*at >= ' ');
		MUST(read_stream(&right, &service[i], (const char *)data, size, 1) == err);
		MUST(!err || !strcmp(why, kl_error_last()));
		MUST(!strcmp(left.text, right.text) && left.stop == right.stop);
		MUST(!memcmp(&left.usage, &right.usage, sizeof(left.usage)));
		MUST(left.usage.input >= 0 && left.usage.output >= 0 &&
		     left.usage.cache_read >= 0 && left.usage.cache_write_5m >= 0 &&
		     left.usage.cache_write_1h >= 0);
		kl_reply_release(&left);
		kl_reply_release(&right);
	}
	kl_error_clear();
	return 0;
}
