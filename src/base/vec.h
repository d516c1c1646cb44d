/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_VEC_H
#define KL_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>

/*
 * vec - an owned list of strings, NULL-terminated so that it serves as argv.
 * Other element types use KL_GROW of mem.h.
 */
struct kl_strvec {
	char **v; /* v[n] is NULL once something was pushed */
	size_t n;
	size_t alloc;
};

#define KL_STRVEC_INIT \
	{              \
		0      \
	}

void kl_strvec_push(struct kl_strvec *list, const char *text);
void kl_strvec_pushf(struct kl_strvec *list, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/** Push all of a NULL-terminated list; NULL: nothing. */
void kl_strvec_pushv(struct kl_strvec *names, const char *const *list);
/** Take ownership of `text`. */
void kl_strvec_take(struct kl_strvec *list, char *text);
bool kl_strvec_has(const struct kl_strvec *list, const char *text);
void kl_strvec_sort(struct kl_strvec *list);
/** Sort and drop doubles. */
void kl_strvec_uniq(struct kl_strvec *list);
/** Pieces of `text` between any of `seps`, empty ones dropped. */
void kl_strvec_split(struct kl_strvec *list, const char *text, const char *seps);
/** Push what `all` has and `some` has not. */
void kl_strvec_minus(struct kl_strvec *list, const struct kl_strvec *all,
		     const struct kl_strvec *some);
void kl_strvec_copy(struct kl_strvec *to, const struct kl_strvec *from);
void kl_strvec_release(struct kl_strvec *list);

#endif
