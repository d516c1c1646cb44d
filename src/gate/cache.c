/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/cache.h"

#include "base/error.h"
#include "base/fault.h"
#include "base/fs.h"
#include "gate/event.h"
#include "gate/gate.h"

#define MAX_EVENT ((size_t)1 << 20)

static char *path_of(struct kl_repo *r, const char *hex)
{
	return kl_asprintf("%s/klineage/cache/%.2s/%s.json", kl_repo_common_dir(r), hex, hex + 2);
}

void kl_cache_key_hex(char hex[KL_DIGEST_HEX], const struct kl_cache_key *k)
{
	struct kl_digest *d = kl_digest_new();
	char policy[16];

	snprintf(policy, sizeof(policy), "%d", KL_GATE_POLICY);
	kl_digest_adds(d, policy);
	kl_digest_adds(d, k->surface);
	kl_digest_adds(d, k->contract);
	kl_digest_adds(d, k->platform->id);
	kl_digest_adds(d, k->runner ? k->runner : k->platform->device);
	kl_digest_adds(d, k->platform->compiler);
	for (size_t i = 0; i < k->flags->n; i++)
		kl_digest_adds(d, k->flags->v[i]);
	kl_digest_adds(d, "");
	kl_digest_adds(d, k->tier);
	kl_digest_adds(d, k->parent ? k->parent : "");
	kl_digest_adds(d, k->profile ? "profile" : "");
	kl_digest_end(d, hex);
}

int kl_cache_get_at(json_t **event, struct kl_repo *r, const char *hex)
{
	KL_AUTO(kl_freep) char *path = path_of(r, hex);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = kl_fs_read(&text, path, MAX_EVENT);

	if (!err)
		err = kl_event_parse(event, text.ptr, text.len);
	return err < 0 ? kl_error(KL_ENOTFOUND, "not judged by this clone before") : 0;
}

int kl_cache_get(json_t **event, struct kl_repo *r, const struct kl_cache_key *k)
{
	KL_AUTO(json_decrefp) json_t *e = NULL;
	char hex[KL_DIGEST_HEX];
	int err;

	kl_cache_key_hex(hex, k);
	if ((err = kl_cache_get_at(&e, r, hex)) < 0)
		return err;
	if (!kl_event_is_for(e, k->surface, k->contract))
		return kl_error(KL_ENOTFOUND, "not judged by this clone before");
	*event = kl_steal(&e);
	return 0;
}

int kl_cache_put_at(struct kl_repo *r, const char *hex, const json_t *event)
{
	KL_AUTO(kl_freep) char *path = path_of(r, hex);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = KL_FAULT("cache-put");

	if (!err)
		err = kl_fs_mkdir_of(path);
	if (err < 0)
		return err;
	kl_json_canonical(&text, event);
	err = kl_fs_write(path, text.ptr, text.len);
	return err < 0 ? err : KL_FAULT("cache-put-done");
}

int kl_cache_put(struct kl_repo *r, const struct kl_cache_key *k, const json_t *event)
{
	char hex[KL_DIGEST_HEX];

	kl_cache_key_hex(hex, k);
	return kl_cache_put_at(r, hex, event);
}
