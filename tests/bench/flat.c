/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flat - JSON on stdin as lines "profile.vs.0.what parent", for shell scripts.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "text/json.h"

static void print_flat(const char *path, const json_t *j)
{
	const char *dot = *path ? "." : "";
	const char *key;
	json_t *v;
	size_t i;

	if (json_is_object(j)) {
		json_object_foreach((json_t *)j, key, v) {
			KL_AUTO(kl_freep) char *p = kl_asprintf("%s%s%s", path, dot, key);

			print_flat(p, v);
		}
	} else if (json_is_array(j)) {
		json_array_foreach((json_t *)j, i, v) {
			KL_AUTO(kl_freep) char *p = kl_asprintf("%s%s%zu", path, dot, i);

			print_flat(p, v);
		}
	} else if (json_is_string(j)) {
		printf("%s %s\n", path, json_string_value(j));
	} else {
		KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;

		kl_json_canonical(&b, j);
		printf("%s %s\n", path, b.ptr);
	}
}

int main(void)
{
	KL_AUTO(kl_buf_release) struct kl_buf in = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *j = NULL;
	int err = kl_buf_read_fd(&in, STDIN_FILENO, 1 << 20);

	if (!err)
		err = kl_json_parse(&j, in.ptr, in.len);
	if (err) {
		fprintf(stderr, "flat: %s\n", kl_error_last());
		return 1;
	}
	print_flat("", j);
	return 0;
}
