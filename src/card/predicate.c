/* SPDX-License-Identifier: Apache-2.0 */
#include "card/predicate_parts.h"

#include <string.h>

/* --- what is known --------------------------------------------------------------------- */

enum value_kind { VALUE_UNKNOWN, VALUE_INT, VALUE_RATIO, VALUE_TRUTH, VALUE_TEXT };

struct value {
	enum value_kind kind;
	int64_t n;		/* VALUE_TRUTH: enum kl_truth */
	const char *text;	/* VALUE_TEXT: borrowed */
};

/* as it is kept: one allocation, the text behind it */
struct fact {
	struct value value;
	char text[];
};

static void put(struct kl_known *k, const char *key, struct value v)
{
	size_t n = v.text ? strlen(v.text) + 1 : 0;
	struct fact *f = kl_malloc(sizeof(*f) + n);

	f->value = v;
	if (n) {
		memcpy(f->text, v.text, n);
		f->value.text = f->text;
	}
	kl_map_put(&k->facts, key, f);
}

void kl_known_release(struct kl_known *k)
{
	kl_map_release(&k->facts);
	kl_strvec_release(&k->closed);
}

void kl_known_int(struct kl_known *k, const char *key, int64_t value)
{
	put(k, key, (struct value){ VALUE_INT, value, NULL });
}

void kl_known_ratio(struct kl_known *k, const char *key, int64_t ppm)
{
	put(k, key, (struct value){ VALUE_RATIO, ppm, NULL });
}

void kl_known_text(struct kl_known *k, const char *key, const char *value)
{
	put(k, key, (struct value){ VALUE_TEXT, 0, value });
}

void kl_known_truth(struct kl_known *k, const char *key, enum kl_truth value)
{
	put(k, key, (struct value){ value == KL_UNKNOWN ? VALUE_UNKNOWN : VALUE_TRUTH, value, NULL });
}

void kl_known_member(struct kl_known *k, const char *function, const char *member)
{
	KL_AUTO(kl_freep) char *key = kl_asprintf("%s(%s)", function, member);

	kl_known_truth(k, key, KL_TRUE);
}

void kl_known_close(struct kl_known *k, const char *function)
{
	if (!kl_strvec_has(&k->closed, function))
		kl_strvec_push(&k->closed, function);
}

static struct value look_up(const struct kl_known *k, const char *key)
{
	const struct fact *f = kl_map_get(&k->facts, key);
	const char *open = strchr(key, '(');

	if (f)
		return f->value;
	for (size_t i = 0; open && i < k->closed.n; i++)
		if (!strncmp(k->closed.v[i], key, open - key) && !k->closed.v[i][open - key])
			return (struct value){ VALUE_TRUTH, KL_FALSE, NULL };
	return (struct value){ 0 };
}

bool kl_known_has(const struct kl_known *k, const char *key)
{
	return look_up(k, key).kind != VALUE_UNKNOWN;
}

bool kl_known_number(int64_t *millionths, const struct kl_known *k, const char *key)
{
	struct value v = look_up(k, key);

	if (v.kind == VALUE_RATIO)
		*millionths = v.n;
	return v.kind == VALUE_RATIO ||
	       (v.kind == VALUE_INT && !__builtin_mul_overflow(v.n, 1000000, millionths));
}

static void write_value(struct kl_buf *out, const char *key, const struct value *v)
{
	kl_buf_addf(out, "%s ", key);
	if (v->kind == VALUE_INT)
		kl_buf_addf(out, "= %lld", (long long)v->n);
	else if (v->kind == VALUE_RATIO)
		kl_buf_addf(out, "= %.6g", (double)v->n / 1e6);
	else if (v->kind == VALUE_TEXT)
		kl_buf_addf(out, "= '%s'", v->text);
	else
		kl_buf_addf(out, "is %s", v->kind == VALUE_TRUTH ? kl_truth_name(v->n) : "not known");
}

void kl_known_write(struct kl_buf *out, const struct kl_known *k)
{
	for (size_t i = 0; i < k->facts.n; i++) {
		struct value v = look_up(k, k->facts.e[i].key);

		write_value(out, k->facts.e[i].key, &v);
		kl_buf_addch(out, '\n');
	}
}

/* --- evaluating -------------------------------------------------------------------------- */

static const struct value unknown = { 0 };

static struct value truth(bool b)
{
	return (struct value){ VALUE_TRUTH, b ? KL_TRUE : KL_FALSE, NULL };
}

static struct value divide(enum kl_pred_op op, int64_t a, int64_t b)
{
	int64_t q;

	if (!b || (a == INT64_MIN && b == -1))
		return unknown;
	q = op == OP_MOD ? a % b : a / b;
	if (op == OP_CDIV && a % b && (a < 0) == (b < 0))
		q++;
	return (struct value){ VALUE_INT, q, NULL };
}

static struct value calculate(enum kl_pred_op op, struct value a, struct value b)
{
	int64_t v;
	bool over;

	if (a.kind != VALUE_INT || b.kind != VALUE_INT)
		return unknown;
	switch (op) {
	case OP_ADD:
		over = __builtin_add_overflow(a.n, b.n, &v);
		break;
	case OP_SUB:
		over = __builtin_sub_overflow(a.n, b.n, &v);
		break;
	case OP_MUL:
		over = __builtin_mul_overflow(a.n, b.n, &v);
		break;
	case OP_MIN:
		return a.n < b.n ? a : b;
	case OP_MAX:
		return a.n > b.n ? a : b;
	default:
		return divide(op, a.n, b.n);
	}
	return over ? unknown : (struct value){ VALUE_INT, v, NULL };
}

/* -1, 0, 1; false: they do not compare */
static bool compare(int *out, struct value a, struct value b)
{
	__int128 x = a.n, y = b.n;

	if (a.kind == VALUE_TEXT && b.kind == VALUE_TEXT) {
		*out = strcmp(a.text, b.text);
		return true;
	}
	if (a.kind == VALUE_TRUTH && b.kind == VALUE_TRUTH) {
		*out = a.n != b.n;
		return true;
	}
	if ((a.kind != VALUE_INT && a.kind != VALUE_RATIO) || (b.kind != VALUE_INT && b.kind != VALUE_RATIO))
		return false;
	if (a.kind == VALUE_INT)
		x *= 1000000;
	if (b.kind == VALUE_INT)
		y *= 1000000;
	*out = (x > y) - (x < y);
	return true;
}

static struct value judge(enum kl_pred_op op, struct value a, struct value b)
{
	bool order = op != OP_EQ && op != OP_NE;
	int c;

	if (!compare(&c, a, b) || (order && (a.kind == VALUE_TEXT || a.kind == VALUE_TRUTH)))
		return unknown;
	switch (op) {
	case OP_EQ: return truth(c == 0);
	case OP_NE: return truth(c != 0);
	case OP_LT: return truth(c < 0);
	case OP_LE: return truth(c <= 0);
	case OP_GT: return truth(c > 0);
	default: return truth(c >= 0);
	}
}

static enum kl_truth as_truth(struct value v)
{
	return v.kind == VALUE_TRUTH ? (enum kl_truth)v.n : KL_UNKNOWN;
}

/* Kleene: `decisive` on either side decides, whatever the other is */
static struct value connect(enum kl_truth a, enum kl_truth b, enum kl_truth decisive)
{
	if (a == decisive || b == decisive)
		return truth(decisive == KL_TRUE);
	if (a == KL_UNKNOWN || b == KL_UNKNOWN)
		return unknown;
	return truth(decisive != KL_TRUE);
}

static struct value eval(const struct kl_pred_expr *e, const struct kl_known *k)
{
	struct value a, b;

	switch (e->op) {
	case OP_INT:
		return (struct value){ VALUE_INT, e->n, NULL };
	case OP_RATIO:
		return (struct value){ VALUE_RATIO, e->n, NULL };
	case OP_TEXT:
		return (struct value){ VALUE_TEXT, 0, e->text };
	case OP_FACT:
		return look_up(k, e->text);
	case OP_NEG:
		a = eval(e->a, k);
		if ((a.kind != VALUE_INT && a.kind != VALUE_RATIO) || a.n == INT64_MIN)
			return unknown;
		a.n = -a.n;
		return a;
	case OP_NOT:
		a = eval(e->a, k);
		return as_truth(a) == KL_UNKNOWN ? unknown : truth(as_truth(a) == KL_FALSE);
	default:
		break;
	}
	a = eval(e->a, k);
	b = eval(e->b, k);
	if (e->op == OP_AND || e->op == OP_OR)
		return connect(as_truth(a), as_truth(b), e->op == OP_AND ? KL_FALSE : KL_TRUE);
	return e->op < OP_EQ ? calculate(e->op, a, b) : judge(e->op, a, b);
}

enum kl_truth kl_predicate_eval(const struct kl_predicate *p, const struct kl_known *k)
{
	return as_truth(eval(p->top, k));
}

/* --- telling ------------------------------------------------------------------------------- */

static void keys(struct kl_strvec *out, const struct kl_pred_expr *e)
{
	if (!e)
		return;
	if (e->op == OP_FACT)
		kl_strvec_push(out, e->text);
	keys(out, e->a);
	keys(out, e->b);
}

void kl_predicate_keys(struct kl_strvec *out, const struct kl_predicate *p)
{
	keys(out, p->top);
	kl_strvec_uniq(out);
}

void kl_predicate_explain(struct kl_buf *out, const struct kl_predicate *p, const struct kl_known *k)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;

	kl_predicate_keys(&names, p);
	for (size_t i = 0; i < names.n; i++) {
		struct value v = look_up(k, names.v[i]);

		kl_buf_adds(out, i ? ", " : "");
		write_value(out, names.v[i], &v);
	}
}

const char *kl_truth_name(enum kl_truth t)
{
	static const char *const names[] = { "false", "true", "unknown" };

	return names[t];
}
