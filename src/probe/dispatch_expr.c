/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch_expr - writes expressions over dims, and conditions of a probe, as C */
#include <inttypes.h>
#include <stdlib.h>

#include "plan/expr_tree.h"
#include "probe/dispatch_parts.h"

/* --- expressions ------------------------------------------------------------------------------ */

/* Write `open` left `between` right `close`. */
static void write_both(struct kl_buf *out, const struct kl_expr *expr,
		       const struct kl_contract *contract, const char *between)
{
	kl_buf_addch(out, '(');
	kl_dispatch_write_expr(out, expr->left, contract);
	kl_buf_adds(out, between);
	kl_dispatch_write_expr(out, expr->right, contract);
	kl_buf_addch(out, ')');
}

/* Write min or max: left < right ? left : right. */
static void write_choice(struct kl_buf *out, const struct kl_expr *expr,
			 const struct kl_contract *contract)
{
	kl_buf_addch(out, '(');
	write_both(out, expr, contract, expr->op == KL_OP_MIN ? " < " : " > ");
	kl_buf_adds(out, " ? ");
	kl_dispatch_write_expr(out, expr->left, contract);
	kl_buf_adds(out, " : ");
	kl_dispatch_write_expr(out, expr->right, contract);
	kl_buf_addch(out, ')');
}

static void write_cdiv(struct kl_buf *out, const struct kl_expr *expr,
		       const struct kl_contract *contract)
{
	kl_buf_addch(out, '(');
	write_both(out, expr, contract, " / ");
	kl_buf_adds(out, " + ");
	kl_buf_addch(out, '(');
	write_both(out, expr, contract, " % ");
	kl_buf_adds(out, " != 0))");
}

/* Write an expression with brackets around each operator, so that compilers warn about none. */
void kl_dispatch_write_expr(struct kl_buf *out, const struct kl_expr *expr,
			    const struct kl_contract *contract)
{
	static const char *const signs[] = {
		[KL_OP_ADD] = " + ", [KL_OP_SUB] = " - ", [KL_OP_MUL] = " * ", [KL_OP_DIV] = " / ",
		[KL_OP_MOD] = " % ", [KL_OP_EQ] = " == ", [KL_OP_NE] = " != ", [KL_OP_LE] = " <= ",
		[KL_OP_GE] = " >= ", [KL_OP_LT] = " < ",  [KL_OP_GT] = " > ",  [KL_OP_AND] = " && ",
		[KL_OP_OR] = " || ",
	};

	switch (expr->op) {
	case KL_OP_INT:
		kl_buf_addf(out, "%lldLL", (long long)expr->number);
		return;
	case KL_OP_NAME:
		kl_buf_addf(out, KL_DISPATCH_PARAMETER "%s", contract->dim_name[expr->number]);
		return;
	case KL_OP_NEG:
	case KL_OP_NOT:
		kl_buf_adds(out, expr->op == KL_OP_NEG ? "(-" : "(!");
		kl_dispatch_write_expr(out, expr->left, contract);
		kl_buf_addch(out, ')');
		return;
	case KL_OP_MIN:
	case KL_OP_MAX:
		write_choice(out, expr, contract);
		return;
	case KL_OP_CDIV:
		write_cdiv(out, expr, contract);
		return;
	default:
		write_both(out, expr, contract, signs[expr->op]);
	}
}

/* --- the conditions of a probe ---------------------------------------------------------------- */

static void push_expr(struct kl_strvec *out, const struct kl_expr *expr,
		      const struct kl_contract *contract)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	kl_dispatch_write_expr(&text, expr, contract);
	kl_strvec_push(out, text.ptr);
}

/* List the factors of a quantity, whose product can be too large for an integer. */
static void list_factors(struct kl_strvec *out, const struct kl_sound *sound, size_t at)
{
	const struct kl_quantity *quantity = &sound->quantities.v[at];
	const struct kl_contract *contract = sound->quantities.contract;
	const struct kl_arg *arg = &contract->arg[quantity->at];

	switch (quantity->of) {
	case KL_QUANTITY_ROLE:
		for (size_t i = 0; i < contract->dims.n; i++)
			if (sound->quantities.roles.of[i] >> quantity->at & 1)
				kl_strvec_pushf(out, KL_DISPATCH_PARAMETER "%s",
						contract->dim_name[i]);
		return;
	case KL_QUANTITY_DIM:
		kl_strvec_pushf(out, KL_DISPATCH_PARAMETER "%s", contract->dim_name[quantity->at]);
		return;
	case KL_QUANTITY_PITCH:
		kl_strvec_pushf(out, "%zuLL", kl_dtype_bytes(arg->dtype));
		push_expr(out, arg->shape[arg->naxes - 1], contract);
		return;
	case KL_QUANTITY_ELEMENTS:
		for (size_t i = 0; i < arg->naxes; i++)
			push_expr(out, arg->shape[i], contract);
		return;
	case KL_QUANTITY_ALIGN:
		kl_strvec_pushf(out, "(long long)((uintptr_t)" KL_DISPATCH_ADDRESS "%s %% 4096)",
				arg->name);
		return;
	case KL_QUANTITY_VALUES:
		return;
	}
}

/* Write "the quantity is a multiple of `bound`", without an overflow of the product. */
static void write_multiple(struct kl_buf *out, const struct kl_strvec *factors, int64_t bound)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	kl_buf_addf(&text, "%s %% %" PRId64 "LL", factors->v[0], bound);
	for (size_t i = 1; i < factors->n; i++) {
		KL_AUTO(kl_freep) char *before = kl_strdup(text.ptr);

		kl_buf_clear(&text);
		kl_buf_addf(&text, "(%s) * (%s %% %" PRId64 "LL) %% %" PRId64 "LL", before,
			    factors->v[i], bound, bound);
	}
	kl_buf_addf(out, "%s == 0", text.ptr);
}

/* Write the product as a double, which does not overflow. */
static void write_product(struct kl_buf *out, const struct kl_sound *sound, size_t quantity)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec factors = KL_STRVEC_INIT;

	list_factors(&factors, sound, quantity);
	for (size_t i = 0; i < factors.n; i++)
		kl_buf_addf(out, "%s(double)%s", i ? " * " : "", factors.v[i]);
}

static void write_bound(struct kl_buf *out, const struct kl_sound *sound, size_t quantity,
			const char *relation, int64_t bound)
{
	write_product(out, sound, quantity);
	kl_buf_addf(out, " %s %" PRId64 ".0", relation, bound);
}

static void write_form(struct kl_buf *out, const struct kl_sound *sound, enum kl_fit_form form,
		       size_t quantity, int64_t bound)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec factors = KL_STRVEC_INIT;

	if (form != KL_FIT_MOD) {
		write_bound(out, sound, quantity, form == KL_FIT_LEAST ? ">=" : "<=", bound);
		return;
	}
	list_factors(&factors, sound, quantity);
	write_multiple(out, &factors, bound);
}

void kl_dispatch_write_clause(struct kl_buf *out, const struct kl_sound *sound, size_t i)
{
	const struct kl_fit_clause *clause = &sound->fit.v[i];

	switch (clause->form) {
	case KL_FIT_MOD:
	case KL_FIT_LEAST:
	case KL_FIT_MOST:
		write_form(out, sound, clause->form, clause->quantity, clause->bound);
		return;
	case KL_FIT_ORDER:
		write_product(out, sound, clause->quantity);
		kl_buf_adds(out, " <= ");
		write_product(out, sound, clause->other);
		return;
	case KL_FIT_TAIL:
		write_bound(out, sound, clause->quantity, "<", clause->from);
		kl_buf_adds(out, " || ");
		write_form(out, sound, KL_FIT_MOD, clause->quantity, clause->bound);
		return;
	case KL_FIT_ANY:
		for (size_t k = 0; k < clause->natom; k++) {
			kl_buf_adds(out, k ? " || " : "");
			write_form(out, sound, clause->atom[k].form, clause->atom[k].quantity,
				   clause->atom[k].bound);
		}
		return;
	case KL_FIT_ZERO: /* a caller cannot test this (kl_sound_never()) */
		kl_buf_adds(out, "1");
		return;
	}
}
