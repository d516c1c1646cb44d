/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch_header - writes the rule of a dispatch as C */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "contract/contract.h"
#include "probe/dispatch_parts.h"
#include "probe/when_svg.h"

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
			kl_dispatch_write_expr(out, arg->shape[axis], contract);
			kl_buf_addch(out, ')');
		}
		some = true;
	}
}

static void write_figure(struct kl_buf *out, const struct kl_when *when)
{
	const struct kl_contract *contract = when->contract;

	if (when->useful.figure < contract->dims.n) {
		kl_buf_addf(out, KL_DISPATCH_PARAMETER "%s",
			    contract->dim_name[when->useful.figure]);
		return;
	}
	if (when->useful.figure > contract->dims.n) {
		write_bytes(out, contract);
		return;
	}
	for (size_t i = 0; i < contract->dims.n; i++)
		kl_buf_addf(out, "%s(double)" KL_DISPATCH_PARAMETER "%s", i ? " * " : "",
			    contract->dim_name[i]);
}

/* --- the comment ------------------------------------------------------------------------------ */

/* Add a text to a comment: on one line, and without the signs that begin and end comments. */
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

/* Write the findings of probes about b, with the events of the pair of each clause. */
static void write_sound(struct kl_buf *out, const struct kl_sound *sound)
{
	KL_AUTO(kl_buf_release) struct kl_buf line = KL_BUF_INIT;

	if (!sound->points) {
		add_line(out,
			 "B was not probed. It is assumed to be right between the points below.");
		return;
	}
	kl_buf_addf(&line, "A probe judged %zu points where A is right; B fails at %zu.%s",
		    sound->points, sound->fails,
		    sound->fit.n ? " B is right only where these hold:" : "");
	add_line(out, line.ptr);
	for (size_t i = 0; i < sound->fit.n; i++) {
		const struct kl_sound_pair *pair = &sound->pair[i];

		kl_buf_clear(&line);
		kl_buf_addf(&line, "  %s", sound->fit.v[i].text);
		add_line(out, line.ptr);
		kl_buf_clear(&line);
		kl_buf_addf(&line, "    fails at %s: events %.16s %.16s", pair->fail_words,
			    pair->fail[0], pair->fail[1]);
		add_line(out, line.ptr);
		kl_buf_clear(&line);
		kl_buf_addf(&line, "    passes at %s: events %.16s %.16s", pair->pass_words,
			    pair->pass[0], pair->pass[1]);
		add_line(out, line.ptr);
	}
	if (!sound->values)
		return;
	kl_buf_clear(&line);
	kl_buf_addf(&line, "B must not be called with values that are %s: no size tells.",
		    sound->values);
	add_line(out, line.ptr);
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
	write_sound(out, dispatch->sound);
	kl_buf_adds(out, " *\n");
	write_points(out, dispatch, when);
	kl_buf_adds(out, " */\n");
}

/* --- the function ----------------------------------------------------------------------------- */

static void write_clauses(struct kl_buf *out, const struct kl_sound *sound)
{
	for (size_t i = 0; i < sound->fit.n; i++) {
		if (sound->fit.v[i].form == KL_FIT_ZERO)
			continue;
		kl_buf_adds(out, "\t/* where a probe found B right: ");
		add_safely(out, sound->fit.v[i].text);
		kl_buf_adds(out, " */\n\tif (!(");
		kl_dispatch_write_clause(out, sound, i);
		kl_buf_adds(out, "))\n\t\treturn %A%;\n");
	}
}

/* Return true if the rule asks for the address of the tensor. */
static bool asks_address(const struct kl_dispatch *dispatch, size_t arg)
{
	for (size_t i = 0; i < dispatch->sound->fit.n; i++)
		if (kl_sound_address(dispatch->sound, i) == (int)arg)
			return true;
	return false;
}

static void write_parameters(struct kl_buf *out, const struct kl_dispatch *dispatch,
			     const struct kl_contract *contract)
{
	for (size_t i = 0; i < contract->dims.n; i++)
		kl_buf_addf(out, "%slong long " KL_DISPATCH_PARAMETER "%s", i ? ", " : "",
			    contract->dim_name[i]);
	for (size_t i = 0; i < contract->nargs; i++)
		if (asks_address(dispatch, i))
			kl_buf_addf(out, ", const void *" KL_DISPATCH_ADDRESS "%s",
				    contract->arg[i].name);
}

static void write_condition(struct kl_buf *out, const struct kl_dispatch *dispatch,
			    const struct kl_when *when)
{
	const struct kl_contract *contract = when->contract;
	const struct kl_dispatch_guard *guard = &dispatch->guard;

	kl_buf_adds(out, "\t/* the domain in which both kernels promise to be correct */\n");
	for (size_t i = 0; i < contract->dims.n; i++)
		kl_buf_addf(out, "\tif (" KL_DISPATCH_PARAMETER "%s < 1)\n\t\treturn %%A%%;\n",
			    contract->dim_name[i]);
	for (size_t i = 0; i < contract->ndomain; i++) {
		kl_buf_adds(out, "\tif (!");
		kl_dispatch_write_expr(out, contract->domain[i], contract);
		kl_buf_adds(out, ")\n\t\treturn %A%;\n");
	}
	write_clauses(out, dispatch->sound);
	if (guard->there && guard->divisor)
		kl_buf_addf(out,
			    "\t/* where B was correct */\n\tif (" KL_DISPATCH_PARAMETER
			    "%s %% %lldLL != 0)\n\t\treturn %%A%%;\n",
			    contract->dim_name[guard->dim], (long long)guard->divisor);
	else if (guard->there)
		kl_buf_addf(out,
			    "\t/* where B was correct */\n\tif (" KL_DISPATCH_PARAMETER
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
	kl_buf_addf(out, "#ifndef %s_H\n#define %s_H\n\n", upper, upper);
	for (size_t i = 0; i < contract->nargs; i++)
		if (asks_address(dispatch, i)) {
			kl_buf_adds(out, "#include <stdint.h>\n\n");
			break;
		}
	kl_buf_addf(out, "#define %s_A 0\n#define %s_B 1\n\n", upper, upper);
	kl_buf_addf(out, "static inline int %s(", name);
	write_parameters(out, dispatch, contract);
	kl_buf_adds(out, ")\n{\n");
	if (dispatch->some) {
		write_condition(&body, dispatch, when);
	} else {
		for (size_t i = 0; i < contract->dims.n; i++)
			kl_buf_addf(&body, "\t(void)" KL_DISPATCH_PARAMETER "%s;\n",
				    contract->dim_name[i]);
		for (size_t i = 0; i < contract->nargs; i++)
			if (asks_address(dispatch, i))
				kl_buf_addf(&body, "\t(void)" KL_DISPATCH_ADDRESS "%s;\n",
					    contract->arg[i].name);
		kl_buf_adds(&body, "\treturn %A%;\n");
	}
	add_body(out, body.ptr, upper);
	kl_buf_adds(out, "}\n\n#endif\n");
}
