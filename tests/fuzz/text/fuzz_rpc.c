/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "text/rpc.h"

/* a request is answered to its id, by one line */
static void check_message(const char *line, size_t len)
{
	KL_AUTO(json_decrefp) json_t *value = NULL;
	KL_AUTO(json_decrefp) json_t *answer = NULL;
	KL_AUTO(json_decrefp) json_t *again = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	struct kl_rpc_message message;
	int code;

	if (kl_rpc_parse(&value, line, len))
		return;
	code = kl_rpc_check(&message, value);
	MUST(code || message.kind == KL_RPC_RESPONSE || message.method);
	MUST(code || (message.kind == KL_RPC_REQUEST) <= (message.id != NULL));
	answer = code ? kl_rpc_error(message.id, code, kl_error_last()) :
			kl_rpc_result(message.id, json_object());
	kl_rpc_write(&buf, answer);
	MUST(memchr(buf.ptr, '\n', buf.len) == buf.ptr + buf.len - 1);
	MUST(kl_rpc_parse(&again, buf.ptr, buf.len) == 0);
	MUST(!message.id || kl_rpc_same_id(message.id, json_object_get(again, "id")));
}

/*
 * The same lines, however the bytes come; never more kept than a line may have and what just came.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t piece = size ? 1 + data[0] % 97 : 1, max = 1 + (size > 1 ? data[1] : 0),
	       total[2] = { 0, 0 };

	for (int turn = 0; turn < 2; turn++) {
		KL_AUTO(kl_rpc_lines_release) struct kl_rpc_lines in = KL_RPC_LINES_INIT;
		size_t step = turn ? size + 1 : piece, len;
		const char *line;
		int got;

		in.max = max;
		for (size_t at = 0; at < size; at += step) {
			size_t n = size - at < step ? size - at : step;

			kl_rpc_lines_add(&in, data + at, n);
			if (at + n == size)
				kl_rpc_lines_end(&in);
			while ((got = kl_rpc_lines_next(&line, &len, &in))) {
				MUST(got < 0 || (len && len <= max && !memchr(line, '\n', len)));
				total[turn] += got > 0 ? len + 1 : 1000000;
				if (got > 0)
					check_message(line, len);
			}
			MUST(in.buf.len <= max + 1 + 2 * n);
		}
	}
	MUST(total[0] == total[1]);
	check_message((const char *)data, size);
	kl_error_clear();
	return 0;
}
