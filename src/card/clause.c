/* SPDX-License-Identifier: Apache-2.0 */
#include "card/clause.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "card/predicate.h"

#define BLANK " \t\n"

void kl_clauses_release(struct kl_clauses *c)
{
	free(c->guard);
	kl_strvec_release(&c->v);
	*c = (struct kl_clauses){ 0 };
}

/* texts in quotes hold no bracket and no sign */
static size_t until(const char *s, const char *sign)
{
	int depth = 0;
	size_t i;

	for (i = 0; s[i]; i++) {
		if (!depth && sign && !strncmp(s + i, sign, 2))
			return i;
		depth += (s[i] == '(') - (s[i] == ')');
		if (!sign && !depth)
			return i;
	}
	return i;
}

/* without blanks around it, and without brackets around all of it */
static char *bare(const char *s, size_t n)
{
	for (;;) {
		while (n && strchr(BLANK, *s)) {
			s++;
			n--;
		}
		while (n && strchr(BLANK, s[n - 1]))
			n--;
		if (n < 2 || *s != '(' || until(s, NULL) != n - 1)
			return kl_strndup(s, n);
		s++;
		n -= 2;
	}
}

static void parts(struct kl_strvec *out, const char *s, const char *sign)
{
	for (;;) {
		size_t n = until(s, sign);

		kl_strvec_take(out, bare(s, n));
		if (!s[n])
			return;
		s += n + 2;
	}
}

/* an alternative in brackets is one, whatever it has inside */
static void conjuncts(struct kl_strvec *out, const char *s)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec v = KL_STRVEC_INIT;

	parts(&v, s, "&&");
	for (size_t i = 0; i < v.n; i++)
		if (v.n > 1 && !v.v[i][until(v.v[i], "||")])
			conjuncts(out, v.v[i]);
		else
			kl_strvec_push(out, v.v[i]);
}

static void add_guard(struct kl_buf *out, const char *part)
{
	bool and = part[until(part, "&&")] != '\0';

	kl_buf_addf(out, "%s%s%s%s", out->len ? " || " : "", and ? "(" : "", part, and ? ")" : "");
}

static bool all_parse(const struct kl_strvec *v)
{
	for (size_t i = 0; i < v->n; i++) {
		KL_AUTO(kl_predicate_freep) struct kl_predicate *p = NULL;

		if (kl_predicate_parse(&p, v->v[i], NULL) < 0)
			return false;
	}
	return true;
}

int kl_clauses_split(struct kl_clauses *out, const char *test)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec any = KL_STRVEC_INIT;
	KL_AUTO(kl_predicate_freep) struct kl_predicate *p = NULL;
	KL_AUTO(kl_freep) char *whole = bare(test, strlen(test));
	struct kl_buf guard = KL_BUF_INIT;
	size_t at = SIZE_MAX, several = 0;
	int err = kl_predicate_parse(&p, test, NULL);

	if (err < 0)
		return err;
	*out = (struct kl_clauses){ 0 };
	parts(&any, whole, "||");
	for (size_t i = 0; i < any.n; i++)
		if (any.v[i][until(any.v[i], "&&")]) {
			several++;
			at = i;
		}
	/* "a || b": the last is the clause, as a lifter writes it */
	if (!several)
		at = any.n - 1;
	for (size_t i = 0; i < any.n; i++)
		if (i != at)
			add_guard(&guard, any.v[i]);
	if (several <= 1)
		conjuncts(&out->v, any.v[at]);
	if (several > 1 || !all_parse(&out->v)) {
		kl_strvec_release(&out->v);
		out->v = (struct kl_strvec)KL_STRVEC_INIT;
		kl_buf_clear(&guard);
		kl_strvec_push(&out->v, whole);
	}
	out->guard = kl_buf_detach(&guard);
	return 0;
}

char *kl_clauses_one(const struct kl_clauses *c, size_t i)
{
	KL_AUTO(kl_freep) bool *keep = kl_calloc(c->v.n + 1, sizeof(*keep));

	keep[i] = true;
	return kl_clauses_join(c, keep);
}

char *kl_clauses_join(const struct kl_clauses *c, const bool *keep)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	size_t n = 0;

	for (size_t i = 0; i < c->v.n; i++) {
		const char *s = c->v.v[i];
		bool whole = !*c->guard && c->v.n == 1;

		if (!keep[i])
			continue;
		if (!n++ && *c->guard)
			kl_buf_addf(&b, "%s || ", c->guard);
		kl_buf_addf(&b, whole ? "%s%s" : "%s(%s)", n > 1 ? " && " : "", s);
	}
	return n ? kl_buf_detach(&b) : NULL;
}
