/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/object_cache.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/mem.h"
#include "event/event.h"

#define MAGIC "klineage object "
#define HEAD \
	(sizeof(MAGIC) - 1 + 2 * (KL_DIGEST_HEX - 1) + 2) /* both digests, a space, a newline */
#define MAX_BYTES ((size_t)64 << 20)

static char *path_of(struct kl_repo *repo, const char *hex)
{
	return kl_asprintf("%s/klineage/cache/objects/%.2s/%s", kl_repo_common_dir(repo), hex,
			   hex + 2);
}

static void head_of(char out[HEAD + 1], const char *hex, const char *object, size_t n)
{
	char own[KL_DIGEST_HEX];

	kl_digest_hex(own, object, n);
	snprintf(out, HEAD + 1, MAGIC "%s %s\n", hex, own);
}

/*
 * Return true if only our own user can write to the file; anyone else could have forged an oracle.
 */
static bool is_ours(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

struct kl_digest *kl_objects_key(const char *what)
{
	struct kl_digest *key = kl_digest_new();
	char policy[16];

	snprintf(policy, sizeof(policy), "%d", KL_GATE_POLICY);
	kl_digest_adds(key, what);
	kl_digest_adds(key, policy);
	kl_digest_adds(key, KL_VERSION);
	return key;
}

int kl_objects_get(struct kl_repo *repo, const char hex[KL_DIGEST_HEX], const char *path)
{
	KL_AUTO(kl_freep) char *from = path_of(repo, hex);
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	KL_AUTO(kl_closep) int fd = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char head[HEAD + 1];
	int err;

	if (fd < 0 || !is_ours(fd))
		return KL_ENOTFOUND;
	if (kl_buf_read_fd(&buf, fd, MAX_BYTES) < 0) {
		kl_error_clear();
		return KL_ENOTFOUND;
	}
	if (buf.len <= HEAD)
		return KL_ENOTFOUND;
	head_of(head, hex, buf.ptr + HEAD, buf.len - HEAD);
	if (memcmp(head, buf.ptr, HEAD))
		return KL_ENOTFOUND;
	err = kl_fs_mkdir_of(path);
	return err < 0 ? err : kl_fs_put(path, buf.ptr + HEAD, buf.len - HEAD, 0755);
}

void kl_objects_put(struct kl_repo *repo, const char hex[KL_DIGEST_HEX], const char *path)
{
	KL_AUTO(kl_freep) char *to = path_of(repo, hex);
	KL_AUTO(kl_buf_release) struct kl_buf object = KL_BUF_INIT, all = KL_BUF_INIT;
	char head[HEAD + 1];

	if (kl_fs_read(&object, path, MAX_BYTES - HEAD) == 0 && kl_fs_mkdir_of(to) == 0) {
		head_of(head, hex, object.ptr, object.len);
		kl_buf_add(&all, head, HEAD);
		kl_buf_add(&all, object.ptr, object.len);
		if (kl_fs_write(to, all.ptr, all.len) == 0)
			chmod(to, 0644);
	}
	kl_error_clear();
}
