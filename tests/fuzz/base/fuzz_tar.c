/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "base/mem.h"
#include "base/tar.h"

/* What is read, written again, is the very same archive: no byte of one is free. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	KL_AUTO(kl_buf_release) struct kl_buf again = KL_BUF_INIT;
	struct kl_tar tar;
	struct kl_tar_entry entry;
	int more;

	kl_tar_open(&tar, data, size);
	while ((more = kl_tar_next(&tar, &entry)) > 0) {
		MUST(kl_tar_name_ok(entry.name) && !strstr(entry.name, "..") &&
		     entry.name[0] != '/');
		MUST(entry.data >= (const char *)data &&
		     entry.data + entry.len <= (const char *)data + size);
		kl_tar_add(&again, entry.name, entry.data, entry.len);
	}
	if (!more) {
		kl_tar_end(&again);
		MUST(again.len == size && !memcmp(again.ptr, data, size));
	}
	kl_error_clear();
	return 0;
}
