/* SPDX-License-Identifier: Apache-2.0 */
#include "base/tar.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

#define BLOCK 512

/* A header takes one block. All fields are text; numbers are octal. */
struct header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8];
	char type, link[100], magic[6], version[2], user[32], group[32], major[8], minor[8];
	char prefix[155], rest[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "a header must be one block");

static bool char_ok(char ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
	       (ch && strchr("_.+-", ch));
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

static unsigned sum_of(const struct header *header)
{
	const unsigned char *bytes = (const unsigned char *)header;
	size_t from = offsetof(struct header, sum);
	unsigned sum = 0;

	for (size_t i = 0; i < BLOCK; i++)
		sum += i >= from && i < from + sizeof(header->sum) ? ' ' : bytes[i];
	return sum;
}

static void fill_header(struct header *header, const char *name, size_t len)
{
	char number[16];

	memset(header, 0, sizeof(*header));
	memcpy(header->name, name, strlen(name));
	memcpy(header->mode, "0000644", 8);
	memcpy(header->uid, "0000000", 8);
	memcpy(header->gid, "0000000", 8);
	snprintf(number, sizeof(number), "%011llo", (unsigned long long)len);
	memcpy(header->size, number, sizeof(header->size));
	memcpy(header->mtime, "00000000000", 12);
	header->type = '0';
	memcpy(header->magic, "ustar", 6);
	memcpy(header->version, "00", 2);
	snprintf(number, sizeof(number), "%06o", sum_of(header));
	memcpy(header->sum, number, 7);
	header->sum[7] = ' ';
}

void kl_tar_add(struct kl_buf *out, const char *name, const void *data, size_t len)
{
	static const char zero[BLOCK];
	struct header header;

	if (!kl_tar_name_ok(name) || len > KL_TAR_MAX_FILE)
		KL_BUG("'%s' cannot be stored in an archive", name);
	fill_header(&header, name, len);
	kl_buf_add(out, &header, sizeof(header));
	kl_buf_add(out, data, len);
	kl_buf_add(out, zero, (BLOCK - len % BLOCK) % BLOCK);
}

void kl_tar_end(struct kl_buf *out)
{
	static const char zero[2 * BLOCK];

	kl_buf_add(out, zero, sizeof(zero));
}

void kl_tar_open(struct kl_tar *tar, const void *data, size_t len)
{
	*tar = (struct kl_tar){ .p = data, .len = len };
}

static bool is_zero(const unsigned char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i])
			return false;
	return true;
}

static int read_octal(size_t *out, const char *at, size_t n)
{
	size_t value = 0;

	for (size_t i = 0; i + 1 < n; i++) {
		if (at[i] < '0' || at[i] > '7')
			return -1;
		value = value * 8 + (size_t)(at[i] - '0');
	}
	*out = value;
	return at[n - 1] ? -1 : 0;
}

/*
 * Set the name and length of `entry`. All other fields of a header are fixed, so compare the header
 * with the header that we would write.
 */
static int check_header(const struct kl_tar *tar, const struct header *header,
			struct kl_tar_entry *entry)
{
	struct header ours;

	if (memcmp(header->magic, "ustar", 6))
		return kl_error(KL_EINVALID, "at byte %zu: not a ustar header", tar->at);
	if (header->name[sizeof(header->name) - 1] || !kl_tar_name_ok(header->name))
		return kl_error(KL_EINVALID, "at byte %zu: invalid file name", tar->at);
	memcpy(entry->name, header->name, sizeof(entry->name));
	if (header->type != '0')
		return kl_error(KL_EINVALID, "'%s' is not a regular file", entry->name);
	if (read_octal(&entry->len, header->size, sizeof(header->size)) < 0 ||
	    entry->len > KL_TAR_MAX_FILE)
		return kl_error(KL_EINVALID, "'%s' has an invalid size", entry->name);
	fill_header(&ours, entry->name, entry->len);
	if (memcmp(&ours, header, sizeof(ours)))
		return kl_error(KL_EINVALID,
				"the header of '%s' is damaged or not of the expected form",
				entry->name);
	return 0;
}

static int check_end(const struct kl_tar *tar)
{
	if (tar->len - tar->at != 2 * BLOCK || !is_zero(tar->p + tar->at, 2 * BLOCK))
		return kl_error(
			KL_EINVALID,
			"at byte %zu: the end-of-archive marker is truncated or followed by more "
			"data",
			tar->at);
	return 0;
}

int kl_tar_next(struct kl_tar *tar, struct kl_tar_entry *entry)
{
	struct header header;
	size_t room;
	int err;

	if (tar->len - tar->at < BLOCK)
		return kl_error(KL_EINVALID, "the archive is truncated at byte %zu", tar->len);
	if (is_zero(tar->p + tar->at, BLOCK))
		return check_end(tar);
	memcpy(&header, tar->p + tar->at, BLOCK);
	if ((err = check_header(tar, &header, entry)) < 0)
		return err;
	if (strcmp(entry->name, tar->last) <= 0)
		return kl_error(KL_EINVALID, "'%s' is out of order: it follows '%s'", entry->name,
				tar->last);
	memcpy(tar->last, entry->name, sizeof(tar->last));
	room = tar->len - tar->at - BLOCK;
	if (room < entry->len || room - entry->len < (BLOCK - entry->len % BLOCK) % BLOCK)
		return kl_error(KL_EINVALID, "the archive is truncated within '%s'", entry->name);
	entry->data = (const char *)tar->p + tar->at + BLOCK;
	tar->at += BLOCK + entry->len;
	if (!is_zero(tar->p + tar->at, (BLOCK - entry->len % BLOCK) % BLOCK))
		return kl_error(KL_EINVALID, "'%s' is followed by non-zero padding", entry->name);
	tar->at += (BLOCK - entry->len % BLOCK) % BLOCK;
	return 1;
}
