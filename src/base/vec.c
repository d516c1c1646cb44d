/* SPDX-License-Identifier: Apache-2.0 */
#include "base/vec.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

void kl_strvec_take(struct kl_strvec *v, char *s)
{
	KL_GROW(v->v, v->n + 2, v->alloc);
	v->v[v->n++] = s;
	v->v[v->n] = NULL;
}

void kl_strvec_push(struct kl_strvec *v, const char *s)
{
	kl_strvec_take(v, kl_strdup(s));
}

void kl_strvec_pushf(struct kl_strvec *v, const char *fmt, ...)
{
	struct kl_buf b = KL_BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	kl_buf_vaddf(&b, fmt, ap);
	va_end(ap);
	kl_strvec_take(v, kl_buf_detach(&b));
}

void kl_strvec_pushv(struct kl_strvec *v, const char *const *list)
{
	for (; list && *list; list++)
		kl_strvec_push(v, *list);
}

bool kl_strvec_has(const struct kl_strvec *v, const char *s)
{
	for (size_t i = 0; i < v->n; i++)
		if (!strcmp(v->v[i], s))
			return true;
	return false;
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void kl_strvec_sort(struct kl_strvec *v)
{
	if (v->n)
		qsort(v->v, v->n, sizeof(*v->v), compare_strings);
}

void kl_strvec_uniq(struct kl_strvec *v)
{
	size_t n = 0;

	kl_strvec_sort(v);
	for (size_t i = 0; i < v->n; i++) {
		if (n && !strcmp(v->v[n - 1], v->v[i]))
			free(v->v[i]);
		else
			v->v[n++] = v->v[i];
	}
	v->n = n;
	if (v->v)
		v->v[n] = NULL;
}

void kl_strvec_split(struct kl_strvec *v, const char *s, const char *seps)
{
	while (*s) {
		size_t n = strcspn(s, seps);

		if (n)
			kl_strvec_take(v, kl_strndup(s, n));
		s += n;
		if (*s)
			s++;
	}
}

void kl_strvec_minus(struct kl_strvec *v, const struct kl_strvec *all, const struct kl_strvec *some)
{
	for (size_t i = 0; i < all->n; i++)
		if (!kl_strvec_has(some, all->v[i]))
			kl_strvec_push(v, all->v[i]);
}

void kl_strvec_copy(struct kl_strvec *to, const struct kl_strvec *from)
{
	for (size_t i = 0; i < from->n; i++)
		kl_strvec_push(to, from->v[i]);
}

void kl_strvec_release(struct kl_strvec *v)
{
	for (size_t i = 0; i < v->n; i++)
		free(v->v[i]);
	free(v->v);
	*v = (struct kl_strvec)KL_STRVEC_INIT;
}
