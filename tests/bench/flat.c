/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flat - JSON on stdin as lines "profile.vs.0.what parent", for shell scripts.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "text/json.h"

static void print_flat(const char *path, const json_t *item)
{
	const char *dot = *path ? "." : "";
	const char *key;
	json_t *value;
	size_t i;

	if (json_is_object(item)) {
		json_object_foreach((json_t *)item, key, value) {
			KL_AUTO(kl_freep) char *at = kl_asprintf("%s%s%s", path, dot, key);

			print_flat(at, value);
		}
	} else if (json_is_array(item)) {
		json_array_foreach((json_t *)item, i, value) {
			KL_AUTO(kl_freep) char *at = kl_asprintf("%s%s%zu", path, dot, i);

			print_flat(at, value);
		}
	} else if (json_is_string(item)) {
		printf("%s %s\n", path, json_string_value(item));
	} else {
		KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

		kl_json_canonical(&buf, item);
		printf("%s %s\n", path, buf.ptr);
	}
}

int main(void)
{
	KL_AUTO(kl_buf_release) struct kl_buf in = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *value = NULL;
	int err = kl_buf_read_fd(&in, STDIN_FILENO, 1 << 20);

	if (!err)
		err = kl_json_parse(&value, in.ptr, in.len);
	if (err) {
		fprintf(stderr, "flat: %s\n", kl_error_last());
		return 1;
	}
	print_flat("", value);
	return 0;
}
