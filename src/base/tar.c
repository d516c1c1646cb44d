/* SPDX-License-Identifier: Apache-2.0 */
#include "base/tar.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

#define BLOCK 512

/* One block; all text fields, octal digits in the numbers. */
struct header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8];
	char type, link[100], magic[6], version[2], user[32], group[32], major[8], minor[8];
	char prefix[155], rest[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "a header is a block");

static bool char_ok(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("_.+-", c));
}

bool kl_tar_name_ok(const char *name)
{
	size_t n = strlen(name);

	if (!n || n >= KL_TAR_NAME || name[n - 1] == '/')
		return false;
	for (size_t i = 0; i < n; i++) {
		bool begins = !i || name[i - 1] == '/';

		if (begins && (name[i] == '.' || name[i] == '/' || name[i] == '-'))
			return false;
		if (name[i] != '/' && !char_ok(name[i]))
			return false;
	}
	return true;
}

static unsigned sum_of(const struct header *h)
{
	const unsigned char *p = (const unsigned char *)h;
	size_t from = offsetof(struct header, sum);
	unsigned sum = 0;

	for (size_t i = 0; i < BLOCK; i++)
		sum += i >= from && i < from + sizeof(h->sum) ? ' ' : p[i];
	return sum;
}

static void fill_header(struct header *h, const char *name, size_t len)
{
	char number[16];

	memset(h, 0, sizeof(*h));
	memcpy(h->name, name, strlen(name));
	memcpy(h->mode, "0000644", 8);
	memcpy(h->uid, "0000000", 8);
	memcpy(h->gid, "0000000", 8);
	snprintf(number, sizeof(number), "%011llo", (unsigned long long)len);
	memcpy(h->size, number, sizeof(h->size));
	memcpy(h->mtime, "00000000000", 12);
	h->type = '0';
	memcpy(h->magic, "ustar", 6);
	memcpy(h->version, "00", 2);
	snprintf(number, sizeof(number), "%06o", sum_of(h));
	memcpy(h->sum, number, 7);
	h->sum[7] = ' ';
}

void kl_tar_add(struct kl_buf *out, const char *name, const void *data, size_t len)
{
	static const char zero[BLOCK];
	struct header h;

	if (!kl_tar_name_ok(name) || len > KL_TAR_MAX_FILE)
		KL_BUG("'%s' cannot stand in an archive", name);
	fill_header(&h, name, len);
	kl_buf_add(out, &h, sizeof(h));
	kl_buf_add(out, data, len);
	kl_buf_add(out, zero, (BLOCK - len % BLOCK) % BLOCK);
}

void kl_tar_end(struct kl_buf *out)
{
	static const char zero[2 * BLOCK];

	kl_buf_add(out, zero, sizeof(zero));
}

void kl_tar_open(struct kl_tar *t, const void *p, size_t len)
{
	*t = (struct kl_tar){ .p = p, .len = len };
}

static bool is_zero(const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

static int read_octal(size_t *out, const char *p, size_t n)
{
	size_t v = 0;

	for (size_t i = 0; i + 1 < n; i++) {
		if (p[i] < '0' || p[i] > '7')
			return -1;
		v = v * 8 + (size_t)(p[i] - '0');
	}
	*out = v;
	return p[n - 1] ? -1 : 0;
}

/* All but name and size is as we write it: then the header we would write is this one. */
static int check_header(const struct kl_tar *t, const struct header *h, struct kl_tar_entry *e)
{
	struct header ours;

	if (memcmp(h->magic, "ustar", 6))
		return kl_error(KL_EINVALID, "at byte %zu: this is no ustar header", t->at);
	if (h->name[sizeof(h->name) - 1] || !kl_tar_name_ok(h->name))
		return kl_error(KL_EINVALID, "at byte %zu: a name that is not allowed here", t->at);
	memcpy(e->name, h->name, sizeof(e->name));
	if (h->type != '0')
		return kl_error(KL_EINVALID, "'%s' is no regular file", e->name);
	if (read_octal(&e->len, h->size, sizeof(h->size)) < 0 || e->len > KL_TAR_MAX_FILE)
		return kl_error(KL_EINVALID, "'%s' has a size that is not allowed here", e->name);
	fill_header(&ours, e->name, e->len);
	if (memcmp(&ours, h, sizeof(ours)))
		return kl_error(KL_EINVALID, "the header of '%s' is damaged or of another kind",
				e->name);
	return 0;
}

static int check_end(const struct kl_tar *t)
{
	if (t->len - t->at != 2 * BLOCK || !is_zero(t->p + t->at, 2 * BLOCK))
		return kl_error(KL_EINVALID,
				"at byte %zu: the archive's end is cut off, "
				"or something follows it",
				t->at);
	return 0;
}

int kl_tar_next(struct kl_tar *t, struct kl_tar_entry *e)
{
	struct header h;
	size_t room;
	int err;

	if (t->len - t->at < BLOCK)
		return kl_error(KL_EINVALID, "the archive is cut off at byte %zu", t->len);
	if (is_zero(t->p + t->at, BLOCK))
		return check_end(t);
	memcpy(&h, t->p + t->at, BLOCK);
	if ((err = check_header(t, &h, e)) < 0)
		return err;
	if (strcmp(e->name, t->last) <= 0)
		return kl_error(KL_EINVALID, "'%s' comes after '%s'", e->name, t->last);
	memcpy(t->last, e->name, sizeof(t->last));
	room = t->len - t->at - BLOCK;
	if (room < e->len || room - e->len < (BLOCK - e->len % BLOCK) % BLOCK)
		return kl_error(KL_EINVALID, "the archive is cut off within '%s'", e->name);
	e->data = (const char *)t->p + t->at + BLOCK;
	t->at += BLOCK + e->len;
	if (!is_zero(t->p + t->at, (BLOCK - e->len % BLOCK) % BLOCK))
		return kl_error(KL_EINVALID, "'%s' is followed by something", e->name);
	t->at += (BLOCK - e->len % BLOCK) % BLOCK;
	return 1;
}
