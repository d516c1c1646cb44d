/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <string.h>

/*
 * The gate's own part of an image with host code of surface cuda: the dims of the call, and
 * which functions of the driver may be had by name. The gate links the candidate's calls of
 * cudaGetDriverEntryPoint* to here; all others are imports of the image, which are checked.
 */
#define KL_OPEN __attribute__((visibility("default")))

KL_OPEN int64_t klineage_dims[16];
__attribute__((visibility("hidden"))) void *__dso_handle = &__dso_handle;

/* The kernels stay registered: the process serves nothing else, and ends without exit handlers. */
int atexit(void (*function)(void));
int atexit(void (*function)(void))
{
	return 0;
}

enum { FOUND = 0, NOT_FOUND = 1, ERROR_SYMBOL = 500 };

int __real_cudaGetDriverEntryPoint(const char *, void **, unsigned long long, int *);
int __real_cudaGetDriverEntryPointByVersion(const char *, void **, unsigned, unsigned long long, int *);
int __wrap_cudaGetDriverEntryPoint(const char *, void **, unsigned long long, int *);
int __wrap_cudaGetDriverEntryPointByVersion(const char *, void **, unsigned, unsigned long long, int *);

static int refused(const char *name, void **out, int *status)
{
	static const char *const may[] = {
		"cuTensorMapEncodeTiled", "cuTensorMapEncodeIm2col", "cuTensorMapEncodeIm2colWide",
		"cuTensorMapReplaceAddress", "cuGetErrorString", "cuGetErrorName",
	};

	for (unsigned i = 0; name && i < sizeof(may) / sizeof(*may); i++)
		if (!strcmp(may[i], name))
			return 0;
	if (out)
		*out = 0;
	if (status)
		*status = NOT_FOUND;
	return ERROR_SYMBOL;
}

int __wrap_cudaGetDriverEntryPoint(const char *name, void **out, unsigned long long flags, int *status)
{
	int err = refused(name, out, status);

	return err ? err : __real_cudaGetDriverEntryPoint(name, out, flags, status);
}

int __wrap_cudaGetDriverEntryPointByVersion(const char *name, void **out, unsigned version,
					    unsigned long long flags, int *status)
{
	int err = refused(name, out, status);

	return err ? err : __real_cudaGetDriverEntryPointByVersion(name, out, version, flags, status);
}
