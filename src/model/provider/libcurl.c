/* SPDX-License-Identifier: Apache-2.0 */
#include "model/provider/libcurl.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

static void wiping_free(void *data)
{
	if (data)
		explicit_bzero(data, malloc_usable_size(data));
	free(data);
}

static void *wiping_realloc(void *data, size_t n)
{
	size_t had = data ? malloc_usable_size(data) : 0;
	void *fresh;

	if (data && had >= n)
		return data;
	fresh = malloc(n);
	if (!fresh)
		return NULL;
	if (data)
		memcpy(fresh, data, had);
	wiping_free(data);
	return fresh;
}

static void *open_library(void)
{
	/* two builds of libcurl with the same ABI */
	static const char *const name[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };
	void *lib = NULL;

	for (size_t i = 0; !lib && i < KL_ARRAY_SIZE(name); i++)
		lib = dlopen(name[i], RTLD_NOW | RTLD_LOCAL);
	return lib;
}

int kl_libcurl_open(struct kl_libcurl *out)
{
	void *lib = open_library();
	CURLcode code;

	if (!lib)
		return kl_error(
			KL_ECANNOT,
			"libcurl is not installed: install libcurl4 or use another provider");
#define RESOLVE(name)                                                 \
	out->name = (__typeof__(out->name))dlsym(lib, "curl_" #name); \
	if (!out->name)                                               \
		return kl_error(KL_ECANNOT, "libcurl is too old: it has no curl_" #name);
	KL_LIBCURL_FUNCTIONS(RESOLVE)
#undef RESOLVE
	code = out->global_init_mem(CURL_GLOBAL_ALL, malloc, wiping_free, wiping_realloc, strdup,
				    calloc);
	if (code)
		return kl_error(KL_ECANNOT, "cannot initialize libcurl: %s",
				out->easy_strerror(code));
	return 0;
}
