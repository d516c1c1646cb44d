/* SPDX-License-Identifier: Apache-2.0 */
#include "event/runner_device.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/fs.h"
#include "text/json.h"

#define SCHEMA "klineage.runner/1"
#define MAX_BYTES ((size_t)1 << 16)

static char *path_of(struct kl_repo *repo, const char *runner, const char *platform)
{
	struct kl_digest *digest = kl_digest_new();
	char hex[KL_DIGEST_HEX];

	kl_digest_adds(digest, runner);
	kl_digest_adds(digest, platform);
	kl_digest_end(digest, hex);
	return kl_asprintf("%s/klineage/runners/%s.json", kl_repo_common_dir(repo), hex);
}

void kl_runner_device_get(struct kl_runner_device *out, struct kl_repo *repo, const char *runner,
			  const char *platform)
{
	KL_AUTO(kl_freep) char *path = path_of(repo, runner, platform);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *doc = NULL;

	*out = (struct kl_runner_device){ .device = "" };
	if (kl_fs_read(&text, path, MAX_BYTES) == 0 &&
	    kl_json_parse(&doc, text.ptr, text.len) == 0 &&
	    !strcmp(kl_json_str_or(doc, "schema", ""), SCHEMA)) {
		snprintf(out->device, sizeof(out->device), "%s", kl_json_str_or(doc, "device", ""));
		snprintf(out->driver, sizeof(out->driver), "%s", kl_json_str_or(doc, "driver", ""));
	}
	kl_error_clear();
}

int kl_runner_device_put(struct kl_repo *repo, const char *runner, const char *platform,
			 const struct kl_runner_device *device)
{
	KL_AUTO(kl_freep) char *path = path_of(repo, runner, platform);
	KL_AUTO(json_decrefp) json_t *doc = json_object();
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_runner_device before;
	int err;

	kl_runner_device_get(&before, repo, runner, platform);
	if (!strcmp(before.device, device->device) && !strcmp(before.driver, device->driver))
		return 0;
	kl_json_set_str(doc, "schema", SCHEMA);
	kl_json_set_str(doc, "runner", runner);
	kl_json_set_str(doc, "platform", platform);
	kl_json_set_str(doc, "device", device->device);
	kl_json_set_str(doc, "driver", device->driver);
	kl_json_canonical(&text, doc);
	if ((err = KL_FAULT("runner-put")) < 0 || (err = kl_fs_mkdir_of(path)) < 0 ||
	    (err = kl_fs_write(path, text.ptr, text.len)) < 0)
		return err;
	return KL_FAULT("runner-put-done");
}

void kl_runner_device_key(char hex[KL_DIGEST_HEX], const struct kl_runner_device *device)
{
	struct kl_digest *digest;

	if (!*device->device && !*device->driver)
		return;
	digest = kl_digest_new();
	kl_digest_adds(digest, hex);
	kl_digest_adds(digest, device->device);
	kl_digest_adds(digest, device->driver);
	kl_digest_end(digest, hex);
}
