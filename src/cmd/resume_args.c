/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/resume_args.h"

#include "base/error.h"
#include "base/fs.h"

#define MAX_BYTES ((size_t)64 << 10)

int kl_said_load(json_t **out, const char *path)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *value = NULL;
	int err = kl_fs_read(&text, path, MAX_BYTES);

	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		*out = json_object();
		return 0;
	}
	if (!err)
		err = kl_json_parse(&value, text.ptr, text.len);
	if (!err && !json_is_object(value))
		err = kl_error(KL_EINVALID, "not a JSON object");
	if (err < 0)
		return kl_error_in(err, "'%s'", path);
	*out = kl_steal(&value);
	return 0;
}

int kl_said_keep(const json_t *said, const char *path)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err;

	if (!json_object_size(said))
		return kl_fs_remove(path);
	kl_json_pretty(&text, said);
	if ((err = kl_fs_mkdir_of(path)) < 0)
		return err;
	return kl_fs_write(path, text.ptr, text.len);
}

const char *kl_said_word(json_t *said, const char *key, const char *now)
{
	if (now)
		kl_json_set_str(said, key, now);
	return kl_json_str_or(said, key, NULL);
}
