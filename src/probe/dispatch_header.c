/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch_header - writes the rule of a dispatch as C */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "contract/contract.h"
#include "plan/expr_tree.h"
#include "probe/dispatch.h"
#include "probe/when_svg.h"

/*
 * Parameters are named dim_<name>, because a dim can have the name of a keyword, or of a macro of
 * the program that includes the header.
 */
#define PARAMETER "dim_"

char *kl_dispatch_name(const struct kl_when *when)
{
	const char *entry = when->contract->entry ? when->contract->entry :
						    when->contract->workload;
	char *name = kl_asprintf("%s%s_dispatch", isdigit((unsigned char)*entry) ? "_" : "", entry);

	for (char *at = name; *at; at++)
		if (!isalnum((unsigned char)*at))
			*at = '_';
	return name;
}

static char *upper_case(const char *name)
{
	char *upper = kl_strdup(name);

	for (char *at = upper; *at; at++)
		*at = (char)toupper((unsigned char)*at);
	return upper;
}

/* --- expressions ------------------------------------------------------------------------------ */

static void write_expr(struct kl_buf *out, const struct kl_expr *expr,
		       const struct kl_contract *contract);

/* Write `open` left `between` right `close`. */
static void write_both(struct kl_buf *out, const struct kl_expr *expr,
		       const struct kl_contract *contract, const char *between)
{
	kl_buf_addch(out, '(');
	write_expr(out, expr->left, contract);
	kl_buf_adds(out, between);
	write_expr(out, expr->right, contract);
	kl_buf_addch(out, ')');
}

/* Write min or max: left < right ? left : right. */
static void write_choice(struct kl_buf *out, const struct kl_expr *expr,
			 const struct kl_contract *contract)
{
	kl_buf_addch(out, '(');
	write_both(out, expr, contract, expr->op == KL_OP_MIN ? " < " : " > ");
	kl_buf_adds(out, " ? ");
	write_expr(out, expr->left, contract);
	kl_buf_adds(out, " : ");
	write_expr(out, expr->right, contract);
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
static void write_expr(struct kl_buf *out, const struct kl_expr *expr,
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
		kl_buf_addf(out, PARAMETER "%s", contract->dim_name[expr->number]);
		return;
	case KL_OP_NEG:
	case KL_OP_NOT:
		kl_buf_adds(out, expr->op == KL_OP_NEG ? "(-" : "(!");
		write_expr(out, expr->left, contract);
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

/* --- the figure of the condition -------------------------------------------------------------- */

/* Write the bytes of all tensors, as a double, which does not overflow. */
static void write_bytes(struct kl_buf *out, const struct kl_contract *contract)
{
	bool some = false;

	for (size_t i = 0; i < contract->nargs; i++) {
		const struct kl_arg *arg = &contract->arg[i];

		if (!kl_arg_kind_is_tensor(arg->kind))
			continue;
		kl_buf_addf(out, "%s%zu.0", some ? " + " : "", kl_dtype_bytes(arg->dtype));
		for (size_t axis = 0; axis < arg->naxes; axis++) {
			kl_buf_adds(out, " * (double)(");
			write_expr(out, arg->shape[axis], contract);
			kl_buf_addch(out, ')');
		}
		some = true;
	}
}

static void write_figure(struct kl_buf *out, const struct kl_when *when)
{
	const struct kl_contract *contract = when->contract;

	if (when->useful.figure < contract->dims.n) {
		kl_buf_addf(out, PARAMETER "%s", contract->dim_name[when->useful.figure]);
		return;
	}
	if (when->useful.figure > contract->dims.n) {
		write_bytes(out, contract);
		return;
	}
	for (size_t i = 0; i < contract->dims.n; i++)
		kl_buf_addf(out, "%s(double)" PARAMETER "%s", i ? " * " : "",
			    contract->dim_name[i]);
}

/* --- the comment ------------------------------------------------------------------------------ */

/* Add a text to a comment: on one line, and without what ends or begins a comment. */
static void add_safely(struct kl_buf *out, const char *text)
{
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;
		char last = out->len ? out->ptr[out->len - 1] : ' ';

		if (byte < 0x20 || byte > 0x7e || byte == '\\')
			byte = '_';
		if ((last == '*' && byte == '/') || (last == '/' && (byte == '*' || byte == '/')) ||
		    (last == '?' && byte == '?'))
			kl_buf_addch(out, ' ');
		kl_buf_addch(out, (char)byte);
	}
}

static void add_line(struct kl_buf *out, const char *text)
{
	kl_buf_adds(out, " * ");
	add_safely(out, text);
	kl_buf_addch(out, '\n');
}

static void write_points(struct kl_buf *out, const struct kl_dispatch *dispatch,
			 const struct kl_when *when)
{
	add_line(out, "Points, what B is there, the time of A divided by that of B, and the events "
		      "of A and B:");
	for (size_t i = 0; i < when->n; i++) {
		const struct kl_when_point *point = &when->point[i];
		KL_AUTO(kl_buf_release) struct kl_buf line = KL_BUF_INIT;

		if (!*point->a.event)
			continue;
		kl_buf_addf(&line, " %c", kl_dispatch_takes_b(dispatch, when, point) ? 'B' : 'A');
		for (size_t k = 0; k < point->dims.n; k++)
			kl_buf_addf(&line, " %s=%lld", when->contract->dim_name[k],
				    (long long)point->dims.v[k]);
		kl_buf_addf(&line, ": %s", kl_when_mark_text(kl_when_mark(point)));
		if (point->ratio.ppm > 0)
			kl_buf_addf(&line, " %.3fx [%.3f, %.3f]", (double)point->ratio.ppm / 1e6,
				    (double)point->ratio.lo / 1e6, (double)point->ratio.hi / 1e6);
		kl_buf_addf(&line, " %.16s %.16s", point->a.event,
			    *point->b.event ? point->b.event : "-");
		add_line(out, line.ptr);
	}
}

static void write_result(struct kl_buf *out, const struct kl_dispatch *dispatch,
			 const struct kl_when *when)
{
	KL_AUTO(kl_buf_release) struct kl_buf words = KL_BUF_INIT, line = KL_BUF_INIT;
	const struct kl_dispatch_guard *guard = &dispatch->guard;

	kl_when_words(&words, when);
	add_line(out, words.ptr);
	if (!dispatch->some) {
		KL_AUTO(kl_freep) char *why = kl_asprintf("A is always chosen: %s.", dispatch->why);

		add_line(out, why);
		return;
	}
	kl_buf_addf(&line,
		    "Measured at the %zu points where B is chosen: %.3fx [%.3f, %.3f], faster at "
		    "%zu, not faster at %zu.",
		    dispatch->chosen, (double)dispatch->ratio.ppm / 1e6,
		    (double)dispatch->ratio.lo / 1e6, (double)dispatch->ratio.hi / 1e6,
		    dispatch->gains, dispatch->others);
	add_line(out, line.ptr);
	add_line(out, "(the geometric mean, the least lower and the greatest upper bound)");
	if (!guard->there)
		return;
	kl_buf_clear(&line);
	kl_buf_addf(&line,
		    "B fails at %zu points of the domain; the condition on %s excludes them.",
		    guard->failures, when->contract->dim_name[guard->dim]);
	add_line(out, line.ptr);
}

static void write_comment(struct kl_buf *out, const struct kl_dispatch *dispatch,
			  const struct kl_when *when)
{
	KL_AUTO(kl_freep) char *a = kl_asprintf("A: %s (sources %.16s)", when->name_a,
						when->digest_a);
	KL_AUTO(kl_freep) char *b = kl_asprintf("B: %s (sources %.16s)", when->name_b,
						when->digest_b);
	KL_AUTO(kl_freep) char *place = kl_asprintf(
		"on %s, %s", when->platform, *when->device ? when->device : "device unknown");

	kl_buf_adds(out, "/*\n");
	add_line(out,
		 "Chooses one of two kernels by the sizes of a call. Written by git klineage.");
	kl_buf_adds(out, " *\n");
	add_line(out, a);
	add_line(out, b);
	add_line(out, place);
	kl_buf_adds(out, " *\n");
	write_result(out, dispatch, when);
	kl_buf_adds(out, " *\n");
	write_points(out, dispatch, when);
	kl_buf_adds(out, " */\n");
}

/* --- the function ----------------------------------------------------------------------------- */

static void write_condition(struct kl_buf *out, const struct kl_dispatch *dispatch,
			    const struct kl_when *when)
{
	const struct kl_contract *contract = when->contract;
	const struct kl_dispatch_guard *guard = &dispatch->guard;

	kl_buf_adds(out, "\t/* the domain in which both kernels promise to be correct */\n");
	for (size_t i = 0; i < contract->dims.n; i++)
		kl_buf_addf(out, "\tif (" PARAMETER "%s < 1)\n\t\treturn %%A%%;\n",
			    contract->dim_name[i]);
	for (size_t i = 0; i < contract->ndomain; i++) {
		kl_buf_adds(out, "\tif (!");
		write_expr(out, contract->domain[i], contract);
		kl_buf_adds(out, ")\n\t\treturn %A%;\n");
	}
	if (guard->there && guard->divisor)
		kl_buf_addf(out,
			    "\t/* where B was correct */\n\tif (" PARAMETER
			    "%s %% %lldLL != 0)\n\t\treturn %%A%%;\n",
			    contract->dim_name[guard->dim], (long long)guard->divisor);
	else if (guard->there)
		kl_buf_addf(out,
			    "\t/* where B was correct */\n\tif (" PARAMETER
			    "%s < %lldLL)\n\t\treturn %%A%%;\n",
			    contract->dim_name[guard->dim], (long long)guard->least);
	kl_buf_adds(out, "\t/* where B was faster */\n\treturn ");
	if (when->useful.end == KL_USEFUL_BOUND) {
		write_figure(out, when);
		kl_buf_addf(out, " %s %lld%s ? %%B%% : %%A%%;\n",
			    when->useful.above ? ">=" : "<=", (long long)when->useful.bound,
			    when->useful.figure < contract->dims.n ? "LL" : ".0");
	} else {
		kl_buf_adds(out, "%B%;\n");
	}
}

/* Copy the body, with %A% and %B% replaced by the names of the results. */
static void add_body(struct kl_buf *out, const char *body, const char *upper)
{
	for (; *body; body++)
		if (body[0] == '%' && (body[1] == 'A' || body[1] == 'B') && body[2] == '%') {
			kl_buf_addf(out, "%s_%c", upper, body[1]);
			body += 2;
		} else {
			kl_buf_addch(out, *body);
		}
}

void kl_dispatch_header(struct kl_buf *out, const struct kl_dispatch *dispatch,
			const struct kl_when *when)
{
	const struct kl_contract *contract = when->contract;
	KL_AUTO(kl_freep) char *name = kl_dispatch_name(when);
	KL_AUTO(kl_freep) char *upper = upper_case(name);
	KL_AUTO(kl_buf_release) struct kl_buf body = KL_BUF_INIT;

	write_comment(out, dispatch, when);
	kl_buf_addf(out, "#ifndef %s_H\n#define %s_H\n\n#define %s_A 0\n#define %s_B 1\n\n", upper,
		    upper, upper, upper);
	kl_buf_addf(out, "static inline int %s(", name);
	for (size_t i = 0; i < contract->dims.n; i++)
		kl_buf_addf(out, "%slong long " PARAMETER "%s", i ? ", " : "",
			    contract->dim_name[i]);
	kl_buf_adds(out, ")\n{\n");
	if (dispatch->some) {
		write_condition(&body, dispatch, when);
	} else {
		for (size_t i = 0; i < contract->dims.n; i++)
			kl_buf_addf(&body, "\t(void)" PARAMETER "%s;\n", contract->dim_name[i]);
		kl_buf_adds(&body, "\treturn %A%;\n");
	}
	add_body(out, body.ptr, upper);
	kl_buf_adds(out, "}\n\n#endif\n");
}
