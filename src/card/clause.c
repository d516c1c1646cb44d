/* SPDX-License-Identifier: Apache-2.0 */
#include "card/clause.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "card/predicate.h"
#include "plan/expr_tree.h"

#define BLANK " \t\n"

void kl_clauses_release(struct kl_clauses *clauses)
{
	free(clauses->guard);
	kl_strvec_release(&clauses->v);
	*clauses = (struct kl_clauses){ 0 };
}

/* Copy the text of an expression without surrounding brackets and blanks. */
static char *bare_text(const char *text, const struct kl_expr *part)
{
	const char *from = text + part->at, *to = from + part->len;

	for (size_t i = 0;; i++) {
		while (strchr(BLANK, to[-1]))
			to--;
		if (i == part->brackets)
			return kl_strndup(from, (size_t)(to - from));
		to--;
		from += 1 + strspn(from + 1, BLANK);
	}
}

static bool has_conjunction(const struct kl_expr *part)
{
	if (part->op != KL_OP_OR)
		return part->op == KL_OP_AND;
	return (!part->left->brackets && has_conjunction(part->left)) ||
	       (!part->right->brackets && has_conjunction(part->right));
}

struct parts {
	const struct kl_expr **v; /* borrowed */
	size_t n, alloc;
};

static void parts_release(struct parts *parts)
{
	free(parts->v);
}

/*
 * List the alternatives of `part`. An alternative in brackets is not split, unless it is the
 * `whole` predicate.
 */
static void list_alternatives(struct parts *out, const struct kl_expr *part, bool whole)
{
	if (part->op == KL_OP_OR && (whole || !part->brackets)) {
		list_alternatives(out, part->left, false);
		list_alternatives(out, part->right, false);
		return;
	}
	KL_GROW(out->v, out->n + 1, out->alloc);
	out->v[out->n++] = part;
}

static void list_conjuncts(struct kl_strvec *out, const char *text, const struct kl_expr *part)
{
	if (part->op == KL_OP_AND) {
		list_conjuncts(out, text, part->left);
		list_conjuncts(out, text, part->right);
	} else {
		kl_strvec_take(out, bare_text(text, part));
	}
}

static void add_guard(struct kl_buf *out, const char *text, const struct kl_expr *part)
{
	KL_AUTO(kl_freep) char *bare = bare_text(text, part);
	bool and = has_conjunction(part);

	kl_buf_addf(out, "%s%s%s%s", out->len ? " || " : "", and? "(" : "", bare, and? ")" : "");
}

int kl_clauses_split(struct kl_clauses *out, const char *test)
{
	KL_AUTO(kl_predicate_freep) struct kl_predicate *predicate = NULL;
	KL_AUTO(parts_release) struct parts any = { 0 };
	struct kl_buf guard = KL_BUF_INIT;
	size_t at, several = 0;
	int err = kl_predicate_parse(&predicate, test, NULL);

	if (err < 0)
		return err;
	*out = (struct kl_clauses){ 0 };
	list_alternatives(&any, predicate->top, true);
	/*
	 * if no alternative has a conjunction, the last one is the clause, because lifted cards
	 * write the guard first
	 */
	at = any.n - 1;
	for (size_t i = 0; i < any.n; i++)
		if (has_conjunction(any.v[i]) && !several++)
			at = i;
	if (several > 1) {
		kl_strvec_take(&out->v, bare_text(test, predicate->top));
	} else {
		for (size_t i = 0; i < any.n; i++)
			if (i != at)
				add_guard(&guard, test, any.v[i]);
		list_conjuncts(&out->v, test, any.v[at]);
	}
	out->guard = kl_buf_detach(&guard);
	return 0;
}

char *kl_clauses_one(const struct kl_clauses *clauses, size_t index)
{
	KL_AUTO(kl_freep) bool *keep = kl_calloc(clauses->v.n + 1, sizeof(*keep));

	keep[index] = true;
	return kl_clauses_join(clauses, keep);
}

char *kl_clauses_join(const struct kl_clauses *clauses, const bool *keep)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	bool whole = !*clauses->guard && clauses->v.n == 1;
	size_t n = 0;

	for (size_t i = 0; i < clauses->v.n; i++) {
		if (!keep[i])
			continue;
		if (!n++ && *clauses->guard)
			kl_buf_addf(&buf, "%s || ", clauses->guard);
		kl_buf_addf(&buf, whole ? "%s%s" : "%s(%s)", n > 1 ? " && " : "", clauses->v.v[i]);
	}
	return n ? kl_buf_detach(&buf) : NULL;
}
