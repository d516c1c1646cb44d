/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_MEM_H
#define KL_BASE_MEM_H

#include <stddef.h>
#include <stdlib.h>

/*
 * mem - allocation that cannot fail, and scoped cleanup.
 *
 * kl_malloc() and the other functions end the program with status 125 when memory runs out, so
 * callers need no error path. Callers must bound a size that comes from untrusted input.
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
/** Allocate zeroed memory. If `n` * `size` overflows, the program ends as if memory ran out. */
void *kl_calloc(size_t n, size_t size);
/**
 * Resize `data` to `n` elements of `size` bytes. If `n` * `size` overflows, the program ends as if
 * memory ran out.
 */
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

/** Free the memory that `*pp` points to, and set `*pp` to NULL; for KL_AUTO. */
static inline void kl_freep(void *pp)
{
	void **data = pp;

	free(*data);
	*data = NULL;
}

/** Close `*fd`, unless it is -1, and set it to -1; for KL_AUTO. */
void kl_closep(int *fd);

#endif
