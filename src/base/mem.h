/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_MEM_H
#define KL_BASE_MEM_H

#include <stddef.h>
#include <stdlib.h>

/*
 * mem - allocation that cannot fail, and scoped cleanup.
 *
 * kl_malloc and friends end the program with status 125 when out of memory, so callers need no error
 * path. Sizes from outside are bounded by the caller.
 *
 * KL_AUTO(fn) marks a variable on which fn(&variable) is called at the end of its scope, in reverse
 * order of declaration; kl_steal(&p) passes ownership on:
 *
 *	KL_AUTO(kl_freep) char *path = kl_asprintf("%s/x", dir);
 *	...
 *	*out = kl_steal(&path);
 *	return 0;
 */
#define KL_AUTO(fn) __attribute__((cleanup(fn)))

/** Define `func##p(type *p)`, a cleanup function that calls func(*p) unless *p is NULL. */
#define KL_DEFINE_CLEANUP(type, func)                               \
	static inline __attribute__((unused)) void func##p(type *p) \
	{                                                           \
		if (*p)                                             \
			func(*p);                                   \
	}

#define kl_steal(pp)                                 \
	__extension__({                              \
		__typeof__(*(pp)) kl_stolen = *(pp); \
		*(pp) = NULL;                        \
		kl_stolen;                           \
	})

#define KL_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

void *kl_malloc(size_t size);
/** Allocate zeroed memory; it is out of memory if `n` * `size` overflows. */
void *kl_calloc(size_t n, size_t size);
/** Resize `data` to `n` elements of `size` bytes; out of memory if the product overflows. */
void *kl_realloc(void *data, size_t n, size_t size);
char *kl_strdup(const char *text);
char *kl_strndup(const char *text, size_t n);
char *kl_asprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** Grow the array `ptr` of capacity `alloc` to hold at least `need` elements. */
#define KL_GROW(ptr, need, alloc)                                           \
	do {                                                                \
		if ((need) > (alloc)) {                                     \
			(alloc) = (need) + (need) / 2 + 8;                  \
			(ptr) = kl_realloc((ptr), (alloc), sizeof(*(ptr))); \
		}                                                           \
	} while (0)

/** Cleanup function of a heap pointer. */
static inline void kl_freep(void *pp)
{
	void **data = pp;

	free(*data);
	*data = NULL;
}

/** Cleanup function of a file descriptor; -1 means none. */
void kl_closep(int *fd);

#endif
