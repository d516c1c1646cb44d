/* SPDX-License-Identifier: Apache-2.0 */
#include "event/signature_cache.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"

#define NAME "klineage/cache/signatures"
#define MAX_FILE ((size_t)32 << 20) /* a file that is longer is deleted, and a new one is started */
#define HEX (KL_DIGEST_HEX - 1)

static char *path_of(const struct kl_signature_cache *cache)
{
	return kl_fs_join(kl_repo_common_dir(kl_signers_repo(cache->signers)), NAME);
}

/* Read a line "<64 digits> <g or u> <who>". */
static void take_line(struct kl_signature_cache *cache, const char *line, size_t n)
{
	KL_AUTO(kl_freep) char *key = NULL;

	if (n < HEX + 4 || strspn(line, "0123456789abcdef") != HEX || line[HEX] != ' ' ||
	    !strchr("gu", line[HEX + 1]) || line[HEX + 2] != ' ')
		return;
	key = kl_strndup(line, HEX);
	kl_map_put(&cache->known, key, kl_strndup(line + HEX + 1, n - HEX - 1));
}

void kl_signature_cache_open(struct kl_signature_cache *out, struct kl_signers *signers)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *path = NULL;

	*out = (struct kl_signature_cache){
		.signers = signers,
		.known = { .free_value = free },
		.added = KL_BUF_INIT,
	};
	path = path_of(out);
	if (kl_fs_read(&text, path, MAX_FILE) < 0) {
		if (kl_fs_exists(path))
			kl_fs_remove(path);
		kl_error_clear();
		return;
	}
	for (const char *line = text.ptr; *line;) {
		size_t n = strcspn(line, "\n");

		if (line[n])
			take_line(out, line, n);
		line += n + (line[n] == '\n');
	}
}

static void key_of(char hex[KL_DIGEST_HEX], const struct kl_signature_cache *cache,
		   const struct kl_sign_claim *claim)
{
	struct kl_digest *digest = kl_digest_new();

	kl_digest_adds(digest, kl_signers_digest(cache->signers));
	kl_digest_adds(digest, claim->time);
	kl_digest_adds(digest, claim->sig);
	kl_digest_add(digest, claim->text, claim->len);
	kl_digest_end(digest, hex);
}

bool kl_signature_cache_get(struct kl_signed *out, const struct kl_signature_cache *cache,
			    const struct kl_sign_claim *claim)
{
	const char *value;
	char hex[KL_DIGEST_HEX];

	key_of(hex, cache, claim);
	value = kl_map_get(&cache->known, hex);
	if (!value)
		return false;
	*out = (struct kl_signed){
		.state = *value == 'g' ? KL_SIGN_GOOD : KL_SIGN_UNKNOWN,
		.who = kl_strdup(value + 2),
	};
	return true;
}

void kl_signature_cache_put(struct kl_signature_cache *cache, const struct kl_sign_claim *claim,
			    const struct kl_signed *result)
{
	char hex[KL_DIGEST_HEX];

	if ((result->state != KL_SIGN_GOOD && result->state != KL_SIGN_UNKNOWN) || !result->who ||
	    !*result->who || result->who[strcspn(result->who, "\n")])
		return;
	key_of(hex, cache, claim);
	kl_buf_addf(&cache->added, "%s %c %s\n", hex, result->state == KL_SIGN_GOOD ? 'g' : 'u',
		    result->who);
}

void kl_signature_cache_save(struct kl_signature_cache *cache)
{
	KL_AUTO(kl_freep) char *path = path_of(cache);
	KL_AUTO(kl_closep) int fd = -1;

	if (!cache->added.len)
		return;
	if (!kl_fs_mkdir_of(path))
		fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
	/*
	 * after a partial write, readers skip the incomplete line and the text that is appended to
	 * it
	 */
	if (fd >= 0 && write(fd, cache->added.ptr, cache->added.len) < 0)
		kl_error_clear();
	kl_error_clear();
	kl_buf_clear(&cache->added);
}

void kl_signature_cache_release(struct kl_signature_cache *cache)
{
	kl_map_release(&cache->known);
	kl_buf_release(&cache->added);
}
