/* SPDX-License-Identifier: Apache-2.0 */
/* schema_file - reads a structure from YAML text or from a YAML file */
#include "base/fs.h"
#include "text/schema.h"

int kl_schema_parse(void *obj, const struct kl_schema *schema, const char *file, const char *text,
		    size_t len)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *node = NULL;
	int err = kl_yaml_parse(&node, file, text, len);

	return err < 0 ? err : kl_schema_read(obj, schema, file, node);
}

int kl_schema_load(void *obj, const struct kl_schema *schema, const char *path, size_t max_bytes)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = kl_fs_read(&text, path, max_bytes);

	return err < 0 ? err : kl_schema_parse(obj, schema, path, text.ptr, text.len);
}
