/* SPDX-License-Identifier: Apache-2.0 */
#include "retrieve/constants.h"

#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "contract/launch.h"
#include "plan/plan.h"
#include "rewrite/ctoken.h"

#define MAX_NAME 63
#define MAX_QUALIFIERS 8 /* words between `const` and the name */

struct reading {
	struct kl_card_dims *out;
	struct kl_map seen;
};

static void take_constant(struct reading *r, const char *name, size_t len, int64_t value)
{
	KL_AUTO(kl_freep) char *key = kl_strndup(name, len);

	if (len > MAX_NAME || r->out->n >= KL_CONSTANTS_MAX || kl_map_get(&r->seen, key))
		return;
	kl_map_put(&r->seen, key, r);
	kl_card_dims_add(r->out, key, value);
}

/* 128, 128u, 128UL; not 0x80, 010, 1.5, nor what does not fit */
static bool read_number(int64_t *out, const struct kl_ctokens *c, size_t i)
{
	const char *s = c->text + c->t[i].off;
	size_t n = c->t[i].len, k = 0;
	int64_t v = 0;

	if (c->t[i].kind != KL_CT_NUMBER || (*s == '0' && n > 1 && !strchr("uUlL", s[1])))
		return false;
	for (; k < n && isdigit((unsigned char)s[k]); k++)
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, s[k] - '0', &v))
			return false;
	for (; k < n; k++)
		if (!strchr("uUlL", s[k]))
			return false;
	*out = v;
	return true;
}

/* a number, or one with a sign: how many tokens that is; 0: neither */
static size_t read_literal(int64_t *out, const struct kl_ctokens *c, size_t i)
{
	bool minus = kl_ctoken_is(c, i, "-");

	if (i + minus >= c->n || !read_number(out, c, i + minus))
		return 0;
	if (minus)
		*out = -*out;
	return 1 + minus;
}

static void take_token(struct reading *r, const struct kl_ctokens *c, size_t i, int64_t value)
{
	take_constant(r, c->text + c->t[i].off, c->t[i].len, value);
}

/* "#define BM 128", and nothing behind it but a comment */
static void scan_define(struct reading *r, const struct kl_ctokens *c, size_t i)
{
	KL_AUTO(kl_ctokens_release) struct kl_ctokens d = { 0 };
	int64_t value;

	kl_ctoken_lex(&d, c->text + c->t[i].off + 1, c->t[i].len - 1);
	if (d.n > 2 && kl_ctoken_is(&d, 0, "define") && d.t[1].kind == KL_CT_IDENT &&
	    read_literal(&value, &d, 2) == d.n - 2)
		take_token(r, &d, 1, value);
}

/* "const int MR = 6;" outside of functions, the first of its declaration */
static void scan_const(struct reading *r, const struct kl_ctokens *c, size_t i)
{
	size_t k = i + 1, used;
	int64_t value;

	while (k < c->n && k < i + MAX_QUALIFIERS && c->t[k].kind == KL_CT_IDENT &&
	       !kl_ctoken_is(c, k + 1, "="))
		k++;
	if (k + 2 >= c->n || c->t[k].kind != KL_CT_IDENT || !kl_ctoken_is(c, k + 1, "="))
		return;
	used = read_literal(&value, c, k + 2);
	if (used && (kl_ctoken_is(c, k + 2 + used, ";") || kl_ctoken_is(c, k + 2 + used, ",")))
		take_token(r, c, k, value);
}

/* "enum tile { MR = 6, NR = 16 }" */
static void scan_enum(struct reading *r, const struct kl_ctokens *c, size_t i)
{
	size_t open = i + 1, end;
	int64_t value;

	while (open < c->n && open < i + MAX_QUALIFIERS && c->t[open].kind != KL_CT_PUNCT)
		open++;
	if (!kl_ctoken_is(c, open, "{") || c->t[open].match < 0)
		return;
	end = (size_t)c->t[open].match;
	for (size_t k = open + 1; k + 2 < end; k++) {
		size_t used = c->t[k].kind == KL_CT_IDENT && kl_ctoken_is(c, k + 1, "=") ?
				      read_literal(&value, c, k + 2) :
				      0;

		if (used && (k + 2 + used == end || kl_ctoken_is(c, k + 2 + used, ",")))
			take_token(r, c, k, value);
	}
}

static void scan_file(struct reading *r, const struct kl_file *f)
{
	KL_AUTO(kl_ctokens_release) struct kl_ctokens c = { 0 };

	kl_ctoken_lex(&c, f->data, f->len);
	for (size_t i = 0; i < c.n; i++) {
		if (c.t[i].kind == KL_CT_DIRECTIVE)
			scan_define(r, &c, i);
		else if (c.t[i].kind != KL_CT_IDENT)
			continue;
		else if (kl_ctoken_is(&c, i, "enum"))
			scan_enum(r, &c, i);
		else if (c.t[i].fn < 0 &&
			 (kl_ctoken_is(&c, i, "const") || kl_ctoken_is(&c, i, "constexpr")))
			scan_const(r, &c, i);
	}
}

/* a plan that is wrong is the gate's business */
static void read_plan(struct reading *r, const struct kl_surface *s)
{
	KL_AUTO(kl_launch_freep) struct kl_launch *l = NULL;
	const struct kl_plan_compile *c;

	if (kl_launch_read(&l, s, false) < 0) {
		kl_error_clear();
		return;
	}
	c = kl_plan_compile(l->plan);
	for (size_t i = 0; c && i < c->ndefine; i++)
		take_constant(r, c->define[i].name, strlen(c->define[i].name), c->define[i].value);
}

void kl_constants_read(struct kl_card_dims *out, const struct kl_surface *s)
{
	struct reading r = { .out = out, .seen = KL_MAP_INIT };

	for (size_t i = 0; i < s->nfile; i++)
		if (kl_suffix_in(s->file[i].path, s->contract->language->texts))
			scan_file(&r, &s->file[i]);
	if (s->contract->launch)
		read_plan(&r, s);
	kl_map_release(&r.seen);
}

void kl_constants_release(struct kl_card_dims *d)
{
	for (size_t i = 0; i < d->n; i++)
		free(d->v[i].name);
	free(d->v);
	*d = (struct kl_card_dims){ 0 };
}
