/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link_image - link_image <out> <entry> <runtime.o> <level> <object>...
 *		link_image --host <out> <object>
 * Links objects to an image without any audit, for tests of the worker: it has to
 * confine kernels that no audit would let pass. With --host the image is host code
 * of surface cuda, which imports whatever the object does not define.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/c/link/link.h"
#include "base/error.h"
#include "base/fs.h"

#define MOST 8

/* Name the functions of an adapter that the objects define. */
static void find_adapter(struct kl_link *link)
{
	static const char *const names[KL_IMAGE_ADAPTER] = { "adapter_prepare", "adapter_pack",
							     "adapter_finish" };

	for (size_t k = 0; k < link->nobject; k++)
		for (size_t sym = 0; sym < link->object[k]->nsym; sym++)
			for (size_t i = 0; i < KL_IMAGE_ADAPTER; i++)
				if (link->object[k]->sym[sym].sec >= 0 &&
				    !strcmp(link->object[k]->sym[sym].name, names[i]))
					link->adapter[i] = names[i];
}

static int link_all(const char *out, struct kl_link *link, char *const *path)
{
	KL_AUTO(kl_libraries_freep) struct kl_libraries *libraries = NULL;
	KL_AUTO(kl_object_freep) struct kl_object *runtime = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf bytes = KL_BUF_INIT;
	struct kl_object *object[MOST] = { NULL };
	int err = kl_libraries_open(&libraries);

	if (!err)
		err = kl_object_read(&runtime, path[0]);
	for (size_t i = 0; !err && i < link->nobject; i++)
		err = kl_object_read(&object[i], path[2 + i]);
	link->object = (const struct kl_object *const *)object;
	link->runtime = runtime;
	link->libraries = libraries;
	if (!err)
		find_adapter(link);
	if (!err)
		err = kl_link(&bytes, link);
	if (!err)
		err = kl_fs_put(out, bytes.ptr, bytes.len, 0644);
	for (size_t i = 0; i < link->nobject && object[i]; i++)
		kl_object_free(object[i]);
	return err;
}

static bool import_all(const char *name)
{
	return true;
}

static int link_host(const char *out, const char *path)
{
	KL_AUTO(kl_object_freep) struct kl_object *object = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf bytes = KL_BUF_INIT;
	struct kl_link link = {
		.object = (const struct kl_object *const *)&object,
		.nobject = 1,
		.entry = "klineage_launch",
		.dims = "klineage_dims",
		.whole = true,
		.frames = true,
		.may_import = import_all,
	};
	int err = kl_object_read(&object, path);

	if (!err)
		err = kl_link(&bytes, &link);
	return err ? err : kl_fs_put(out, bytes.ptr, bytes.len, 0644);
}

static int report_error(void)
{
	fprintf(stderr, "link_image: %s\n", kl_error_last());
	return 1;
}

int main(int argc, char **argv)
{
	struct kl_link link = { .arena = "kl_rt_arena" };

	if (argc == 4 && !strcmp(argv[1], "--host"))
		return link_host(argv[2], argv[3]) < 0 ? report_error() : 0;

	if (argc < 6 || argc > 5 + MOST) {
		fputs("usage: link_image <out> <entry> <runtime.o> <level> <object>...\n", stderr);
		return 129;
	}
	link.entry = argv[2];
	link.level = atoi(argv[4]);
	link.nobject = (size_t)argc - 5;
	return link_all(argv[1], &link, argv + 3) < 0 ? report_error() : 0;
}
