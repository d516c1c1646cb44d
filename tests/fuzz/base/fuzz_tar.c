/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "base/mem.h"
#include "base/tar.h"

/* What is read, written again, is the very same archive: no byte of one is free. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	KL_AUTO(kl_buf_release) struct kl_buf again = KL_BUF_INIT;
	struct kl_tar t;
	struct kl_tar_entry e;
	int more;

	kl_tar_open(&t, data, size);
	while ((more = kl_tar_next(&t, &e)) > 0) {
		MUST(kl_tar_name_ok(e.name) && !strstr(e.name, "..") && e.name[0] != '/');
		MUST(e.data >= (const char *)data && e.data + e.len <= (const char *)data + size);
		kl_tar_add(&again, e.name, e.data, e.len);
	}
	if (!more) {
		kl_tar_end(&again);
		MUST(again.len == size && !memcmp(again.ptr, data, size));
	}
	kl_error_clear();
	return 0;
}
