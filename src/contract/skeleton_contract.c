/* SPDX-License-Identifier: Apache-2.0 */
/* skeleton_contract - writes the parts of a first contract from a kernel's prototype */
#include <string.h>

#include "contract/contract.h"
#include "contract/skeleton_parts.h"

#define MANY_STARS "****************"

/*
 * Return true if a parameter of this type can be a dim. Integers of 8 bits are left out, since they
 * are more often characters or flags.
 */
static bool is_dim_type(const char *dtype)
{
	static const char *const types[] = { "i64", "u64", "i32", "u32", "i16", "u16", NULL };

	for (size_t i = 0; types[i]; i++)
		if (!strcmp(types[i], dtype))
			return true;
	return false;
}

enum kl_skeleton_use kl_skeleton_use(const struct kl_param *param)
{
	if (!param->dtype)
		return KL_USE_UNKNOWN;
	if (!param->pointer)
		return param->size && is_dim_type(param->dtype) ? KL_USE_DIM : KL_USE_SCALAR;
	if (param->is_const || param->use == KL_POINTER_READ)
		return KL_USE_IN;
	if (param->use == KL_POINTER_UNKNOWN)
		return KL_USE_TENSOR;
	return param->read_first ? KL_USE_INOUT : KL_USE_OUT;
}

bool kl_skeleton_is_float(const struct kl_param *param)
{
	enum kl_dtype dtype;

	return param->dtype && kl_dtype_parse(&dtype, param->dtype) && kl_dtype_is_float(dtype);
}

/*
 * Return true if a dim is the distance between two rows, such as lda. Its value must be at least
 * the length of a row, which the prototype does not show.
 */
static bool is_distance(const struct kl_param *param)
{
	const char *name = param->name;

	return ((name[0] == 'l' || name[0] == 'L') && (name[1] == 'd' || name[1] == 'D') &&
		strlen(name) <= 4) ||
	       strstr(name, "stride") || strstr(name, "pitch");
}

static const struct kl_param *find_dim(const struct kl_proto *proto, const char *name)
{
	for (size_t i = 0; i < proto->n; i++)
		if (kl_skeleton_use(&proto->param[i]) == KL_USE_DIM &&
		    !strcmp(proto->param[i].name, name))
			return &proto->param[i];
	return NULL;
}

/*
 * Add the shape of p[N][64] as "N, 64"; an extent that is neither a dim nor a number becomes TODO.
 */
static void add_shape(struct kl_buf *buf, const struct kl_proto *proto,
		      const struct kl_param *param)
{
	if (!param->extent.n)
		kl_buf_adds(buf, "TODO");
	for (size_t i = 0; i < param->extent.n; i++) {
		const char *extent = param->extent.v[i];
		bool number = *extent && *extent != '0' && !extent[strspn(extent, "0123456789")];

		kl_buf_addf(buf, "%s%s", i ? ", " : "",
			    number || find_dim(proto, extent) ? extent : "TODO");
	}
}

static void add_arg(struct kl_buf *buf, const struct kl_proto *proto, const struct kl_param *param,
		    bool adapter)
{
	enum kl_skeleton_use use = kl_skeleton_use(param);

	kl_buf_addf(buf, "  - {name: %s, ", param->name);
	switch (use) {
	case KL_USE_DIM:
		kl_buf_adds(buf, "kind: dim");
		if (strcmp(param->dtype, "i64"))
			kl_buf_addf(buf, ", dtype: %s", param->dtype);
		kl_buf_adds(buf, "}");
		break;
	case KL_USE_SCALAR:
		kl_buf_addf(buf, "kind: scalar, dtype: %s, value: TODO}", param->dtype);
		break;
	case KL_USE_UNKNOWN:
		kl_buf_addf(buf, "kind: TODO}    # contracts do not have the type '%s%s%.*s'%s",
			    param->type, param->stars ? " " : "", (int)param->stars, MANY_STARS,
			    adapter ? ": list what the adapter makes it of" : "");
		break;
	default:
		kl_buf_addf(buf, "kind: %s, dtype: %s, shape: [",
			    use == KL_USE_IN     ? "in" :
			    use == KL_USE_OUT    ? "out" :
			    use == KL_USE_TENSOR ? "TODO" :
						   "inout",
			    param->dtype);
		add_shape(buf, proto, param);
		kl_buf_adds(buf, "]");
		if (use != KL_USE_OUT && use != KL_USE_TENSOR)
			kl_buf_addf(buf, ", fill: %s",
				    kl_skeleton_is_float(param) ? "normal" : "TODO");
		kl_buf_adds(buf, "}");
		if (use == KL_USE_TENSOR)
			kl_buf_adds(buf, "    # in, out or inout? init cannot see whether it is "
					 "written");
		else if (!strcmp(param->dtype, "u16"))
			kl_buf_adds(buf, "    # or f16 or bf16, if the tensor stores those");
		else if (use == KL_USE_INOUT)
			kl_buf_adds(buf,
				    "    # seems to be read before it is written; if not: out");
	}
	kl_buf_adds(buf, "\n");
}

bool kl_skeleton_judges(const struct kl_param *returned)
{
	return returned->dtype && strcmp(returned->dtype, "f16") && strcmp(returned->dtype, "bf16");
}

/* Add the returned value after the arguments. */
static void add_returns(struct kl_buf *buf, const struct kl_proto *proto)
{
	const struct kl_param *returned = &proto->returned;

	if (kl_skeleton_judges(returned))
		kl_buf_addf(buf,
			    "\n# What %s returns; without this line the value is ignored.\n"
			    "returns: {dtype: %s}\n",
			    proto->name, returned->dtype);
	else if (proto->returns)
		kl_buf_addf(buf,
			    "\n# What %s returns ('%s%s') is ignored: contracts do not have the "
			    "type.\n",
			    proto->name, returned->type, returned->pointer ? " *" : "");
}

/*
 * Return a list of the dims, such as "n: TODO, m: TODO". Each dim is followed by `sep` and the next
 * of `values` or, if it is a distance between rows, by `sep` and `distance`. If no parameter is a
 * dim, use "size", since a contract needs at least one dim.
 */
static char *dims_with(const struct kl_proto *proto, const char *sep, const char *const *values,
		       size_t nvalues, const char *distance)
{
	struct kl_buf buf = KL_BUF_INIT;
	size_t k = 0, n = 0;

	for (size_t i = 0; i < proto->n; i++) {
		if (kl_skeleton_use(&proto->param[i]) != KL_USE_DIM)
			continue;
		kl_buf_addf(&buf, "%s%s%s%s", n++ ? ", " : "", proto->param[i].name, sep,
			    is_distance(&proto->param[i]) ? distance : values[k++ % nvalues]);
	}
	if (!n)
		kl_buf_addf(&buf, "size%s%s", sep, values[0]);
	return kl_buf_detach(&buf);
}

/* Return the rule for an output, without its braces and `out`. */
static const char *rule_of(const struct kl_param *output)
{
	if (!kl_skeleton_is_float(output))
		return "exact";
	/* `noise` judges by the errors of the oracle in float, which tell nothing about double */
	return strcmp(output->dtype, "f64") ? "noise, max: 4, rms: 2" : "rel-l2, tol: 1.0e-12";
}

/* Add the rule for an output to `list`, and to `rules` if `rules` does not have it. */
static void add_rule(struct kl_buf *list, struct kl_strvec *rules, const struct kl_param *output,
		     const char *name)
{
	const char *rule = rule_of(output);
	int kind = (int)strcspn(rule, ",");

	kl_buf_addf(list, "\n  - {rule: %.*s, out: %s%s}", kind, rule, name, rule + kind);
	if (!kl_strvec_has(rules, rule))
		kl_strvec_push(rules, rule);
}

/* Return a single rule if all outputs have the same one; otherwise return a list of rules. */
static char *accept_of(const struct kl_proto *proto)
{
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec rules = KL_STRVEC_INIT;
	const struct kl_param *perhaps = NULL; /* the first tensor that may be an output */

	for (size_t i = 0; i < proto->n; i++) {
		const struct kl_param *param = &proto->param[i];
		enum kl_skeleton_use use = kl_skeleton_use(param);

		if (use == KL_USE_OUT || use == KL_USE_INOUT)
			add_rule(&list, &rules, param, param->name);
		else if (use == KL_USE_TENSOR && !perhaps)
			perhaps = param;
	}
	if (kl_skeleton_judges(&proto->returned))
		add_rule(&list, &rules, &proto->returned, KL_RETURNED);
	if (rules.n > 1)
		return kl_buf_detach(&list);
	return kl_asprintf(" {rule: %s}", rules.n ? rules.v[0] :
					  perhaps ? rule_of(perhaps) :
						    "noise, max: 4, rms: 2");
}

/* Return the name of the first floating-point input, for the example of a band. */
static const char *example_input(const struct kl_proto *proto)
{
	for (size_t i = 0; i < proto->n; i++)
		if (kl_skeleton_use(&proto->param[i]) == KL_USE_IN &&
		    kl_skeleton_is_float(&proto->param[i]))
			return proto->param[i].name;
	return "x";
}

void kl_skeleton_contract_values(struct kl_map *map, const struct kl_language *language,
				 const struct kl_proto *proto, bool adapter)
{
	static const char *const todo[] = { "TODO" };
	static const char *const ones[] = { "1" };
	/*
	 * the first value is large, because the rule `noise` compares root mean squares, which
	 * differ by chance if there are only a few elements
	 */
	static const char *const odds[] = { "61", "13", "5", "31", "3", "11" };
	static const char *const example[] = { "..." };
	struct kl_buf args = KL_BUF_INIT;

	/* if there is a launch plan, it passes the dims */
	for (size_t i = 0; i < proto->n; i++)
		if (!language->init->plan || kl_skeleton_use(&proto->param[i]) != KL_USE_DIM)
			add_arg(&args, proto, &proto->param[i], adapter);
	add_returns(&args, proto);
	kl_map_put(map, "ARGS", kl_buf_detach(&args));
	kl_map_put(map, "DIMS", dims_with(proto, ": ", todo, 1, *todo));
	kl_map_put(map, "EXAMPLE", dims_with(proto, ": ", example, 1, *example));
	kl_map_put(map, "ONES", dims_with(proto, ": ", ones, 1, *ones));
	/*
	 * no row of this point is longer than the first value, which is therefore a valid distance
	 */
	kl_map_put(map, "ODDS", dims_with(proto, ": ", odds, KL_ARRAY_SIZE(odds), *odds));
	kl_map_put(map, "DOMAIN", dims_with(proto, " >= ", ones, 1, *todo));
	kl_map_put(map, "ACCEPT", accept_of(proto));
	kl_map_put(map, "INPUT", kl_strdup(example_input(proto)));
}
