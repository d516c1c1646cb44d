/* SPDX-License-Identifier: Apache-2.0 */
#include "base/vec.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

void kl_strvec_take(struct kl_strvec *list, char *text)
{
	KL_GROW(list->v, list->n + 2, list->alloc);
	list->v[list->n++] = text;
	list->v[list->n] = NULL;
}

void kl_strvec_push(struct kl_strvec *list, const char *text)
{
	kl_strvec_take(list, kl_strdup(text));
}

void kl_strvec_pushf(struct kl_strvec *list, const char *fmt, ...)
{
	struct kl_buf buf = KL_BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	kl_buf_vaddf(&buf, fmt, ap);
	va_end(ap);
	kl_strvec_take(list, kl_buf_detach(&buf));
}

void kl_strvec_pushv(struct kl_strvec *list, const char *const *strings)
{
	for (; strings && *strings; strings++)
		kl_strvec_push(list, *strings);
}

bool kl_strvec_has(const struct kl_strvec *list, const char *text)
{
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->v[i], text))
			return true;
	return false;
}

void kl_strvec_add_once(struct kl_strvec *list, const char *text)
{
	if (!kl_strvec_has(list, text))
		kl_strvec_push(list, text);
}

static int compare_strings(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

void kl_strvec_sort(struct kl_strvec *list)
{
	if (list->n)
		qsort(list->v, list->n, sizeof(*list->v), compare_strings);
}

void kl_strvec_uniq(struct kl_strvec *list)
{
	size_t n = 0;

	kl_strvec_sort(list);
	for (size_t i = 0; i < list->n; i++) {
		if (n && !strcmp(list->v[n - 1], list->v[i]))
			free(list->v[i]);
		else
			list->v[n++] = list->v[i];
	}
	list->n = n;
	if (list->v)
		list->v[n] = NULL;
}

void kl_strvec_split(struct kl_strvec *list, const char *text, const char *seps)
{
	while (*text) {
		size_t n = strcspn(text, seps);

		if (n)
			kl_strvec_take(list, kl_strndup(text, n));
		text += n;
		if (*text)
			text++;
	}
}

void kl_strvec_minus(struct kl_strvec *list, const struct kl_strvec *all,
		     const struct kl_strvec *some)
{
	for (size_t i = 0; i < all->n; i++)
		if (!kl_strvec_has(some, all->v[i]))
			kl_strvec_push(list, all->v[i]);
}

void kl_strvec_copy(struct kl_strvec *to, const struct kl_strvec *from)
{
	for (size_t i = 0; i < from->n; i++)
		kl_strvec_push(to, from->v[i]);
}

void kl_strvec_release(struct kl_strvec *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->v[i]);
	free(list->v);
	*list = (struct kl_strvec)KL_STRVEC_INIT;
}
