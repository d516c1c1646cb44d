/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From an object to an image, and into memory: whatever the object contains, the
 * audit and the link end with an answer, and an image that is made is valid, the
 * same in a second attempt, and can be mapped. The input is one object, or two
 * with a line "--\n" between them.
 */
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "backend/c/audit.h"
#include "backend/c/link/link.h"
#include "image/code_check.h"
#include "image/image_map.h"

#define MARK "--\n"

static const struct kl_libraries *libraries(void)
{
	static struct kl_libraries *opened;

	if (!opened)
		MUST(kl_libraries_open(&opened) == 0);
	return opened;
}

static const struct kl_object *runtime(void)
{
	static struct kl_object *read;

	if (!read)
		MUST(kl_object_read(&read, KL_FUZZ_RUNTIME) == 0);
	return read;
}

/* What an image of host code imports; nothing calls it here. */
static void *find_any(const char *name, void *payload)
{
	return payload;
}

static bool import_any(const char *name)
{
	return true;
}

static void map_image(const struct kl_buf *bytes)
{
	struct kl_image_mapped mapped;
	int fd = memfd_create("image", MFD_CLOEXEC);

	MUST(fd >= 0);
	MUST(write(fd, bytes->ptr, bytes->len) == (ssize_t)bytes->len);
	MUST(kl_image_map(&mapped, fd, bytes->len, find_any, &mapped) == 0);
	MUST(mapped.entry >= mapped.base && mapped.entry < mapped.base + mapped.size);
	kl_image_unmap(&mapped);
	close(fd);
}

static void check_image(const struct kl_buf *bytes, const struct kl_link *link)
{
	KL_AUTO(kl_buf_release) struct kl_buf again = KL_BUF_INIT;
	struct kl_image image;

	MUST(kl_image_read(&image, bytes->ptr, bytes->len) == 0);
	kl_code_check(&image);
	kl_image_write(&again, &image);
	MUST(again.len == bytes->len && !memcmp(again.ptr, bytes->ptr, again.len));
	MUST(kl_link(&again, link) == 0);
	MUST(again.len == bytes->len && !memcmp(again.ptr, bytes->ptr, again.len));
	if (bytes->len < 1 << 20)
		map_image(bytes);
}

static void link_objects(struct kl_object *const *object, size_t n)
{
	const struct kl_object *const *objects = (const struct kl_object *const *)object;
	KL_AUTO(kl_symbol_index_release) struct kl_symbol_index defined = { .entry = NULL };
	KL_AUTO(kl_reached_release) struct kl_reached reached = { .sec = NULL };
	KL_AUTO(kl_buf_release) struct kl_buf bytes = KL_BUF_INIT;
	const struct kl_audit audit = {
		.object = objects, .n = n, .defined = &defined, .reached = &reached
	};
	static const char *const entries[] = { "k", NULL };
	struct kl_link link = {
		.object = objects,
		.nobject = n,
		.runtime = runtime(),
		.libraries = libraries(),
		.level = 3,
		.entry = "k",
		.arena = "kl_rt_arena",
	};

	kl_symbol_index_build(&defined, objects, n);
	kl_reached_find(&reached, objects, n, &defined, entries);
	for (size_t i = 0; i < n; i++)
		kl_audit_object(&audit, i);
	/* the link holds alone, whatever the audit thinks of the objects: as C, moved, as host code */
	for (int way = 0; way < 3; way++) {
		link.whole = way > 0;
		link.shift = way == 1 ? 3 : 0;
		link.frames = way == 2;
		link.may_import = way == 2 ? import_any : NULL;
		if (kl_link(&bytes, &link) == 0)
			check_image(&bytes, &link);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *mark = size ? memmem(data, size, MARK, 3) : NULL;
	size_t first = mark ? (size_t)(mark - data) : size;
	struct kl_object *object[2] = { NULL };
	size_t n = 0;

	if (kl_object_parse(&object[n], "first", data, first) == 0)
		n++;
	if (mark && kl_object_parse(&object[n], "second", mark + 3, size - first - 3) == 0)
		n++;
	if (n)
		link_objects(object, n);
	for (size_t i = 0; i < n; i++)
		kl_object_free(object[i]);
	return 0;
}
