/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_VEC_H
#define KL_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>

/*
 * vec - a list that owns its strings. It is NULL-terminated, so that it can be used as argv. For
 * elements of other types use KL_GROW of mem.h.
 */
struct kl_strvec {
	char **v; /* v[n] is NULL after the first push */
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
/** Push copies of all strings of a NULL-terminated array; `strings` can be NULL. */
void kl_strvec_pushv(struct kl_strvec *list, const char *const *strings);
/** Push `text` without copying it; the list then owns it. */
void kl_strvec_take(struct kl_strvec *list, char *text);
/** Push a copy of `text` unless the list has it. */
void kl_strvec_add_once(struct kl_strvec *list, const char *text);
bool kl_strvec_has(const struct kl_strvec *list, const char *text);
void kl_strvec_sort(struct kl_strvec *list);
/** Sort the list and remove duplicates. */
void kl_strvec_uniq(struct kl_strvec *list);
/** Split `text` at every character of `seps` and push copies of the pieces that are not empty. */
void kl_strvec_split(struct kl_strvec *list, const char *text, const char *seps);
/** Push copies of the strings that are in `all` but not in `some`. */
void kl_strvec_minus(struct kl_strvec *list, const struct kl_strvec *all,
		     const struct kl_strvec *some);
/** Push copies of all strings of `from`. */
void kl_strvec_copy(struct kl_strvec *to, const struct kl_strvec *from);
void kl_strvec_release(struct kl_strvec *list);

#endif
