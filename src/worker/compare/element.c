/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/compare/element.h"

#include <math.h>
#include <string.h>

#include "job/tensor.h"

static double allowed_error(const struct kl_output *v, const struct kl_allowed *j, double y,
			    size_t i)
{
	const struct kl_rule *r = v->rule;
	double ulp = kl_tensor_ulp(v->dtype, y);

	if (r->kind == KL_RULE_NOISE)
		return fmax(j->max, ulp / 2);
	if (r->kind == KL_RULE_ELEMENTWISE)
		return r->ulps * ulp + r->acc * 0x1p-24 * fabs(j->absum ? j->absum[i] : y);
	return INFINITY;
}

struct kl_element_result kl_element_judge(const struct kl_output *v, const struct kl_allowed *j,
					  double g, double y, double h, size_t i)
{
	double stored = kl_tensor_round(v->dtype, y);
	struct kl_element_result out = { .allowed = -1 };

	if (isnan(y)) {
		out.why = isnan(g) ? NULL : "a number where the truth is nan";
		return out;
	}
	if (isnan(g)) {
		out.why = "nan where the truth is a number";
		return out;
	}
	if (isinf(stored)) {
		if (g == stored)
			return out;
		if (isinf(y) || isinf(g) || !isfinite(h)) {
			out.why = "not the infinity that the truth is in this dtype";
			return out;
		}
	} else if (isinf(g)) {
		out.why = "infinite where the truth is finite";
		return out;
	}
	if (v->rule->zeros && y == 0 && fabs(g) > j->zero) {
		out.why = "not zero where the truth is";
		return out;
	}
	out.d = fabs(g - y);
	out.allowed = allowed_error(v, j, y, i);
	if (!(out.d <= out.allowed))
		out.why = "beyond the allowed error";
	return out;
}

bool kl_element_exact(const struct kl_output *v, size_t i, bool zeros_tie, char *wanted)
{
	size_t size = kl_dtype_bytes(v->dtype);
	const char *got = (const char *)v->got + i * size;
	double g, w;

	if (!kl_dtype_is_float(v->dtype)) {
		memcpy(wanted, (const char *)v->w->truth[v->arg] + i * size, size);
		return !memcmp(got, wanted, size);
	}
	kl_tensor_store(wanted, v->dtype, 0, (const double *)v->w->truth[v->arg] + i, 1);
	if (!memcmp(got, wanted, size))
		return true;
	kl_tensor_load(&g, v->dtype, got, 0, 1);
	kl_tensor_load(&w, v->dtype, wanted, 0, 1);
	return (isnan(g) && isnan(w)) || (zeros_tie && g == 0 && w == 0);
}

/*
 * The honest error of few elements is itself a matter of luck: two honest
 * rms values over n elements differ by about 1/sqrt(n), so that a small group
 * needs room for three times that. 1.03 at ten thousand elements, 2 at nine.
 */
static double rounding_room(const struct kl_output *v)
{
	return 1 + 3 / sqrt(v->groups.size ? (double)v->groups.size : 1);
}

struct kl_allowed kl_element_allowed(const struct kl_output *v, const struct kl_yard *yard,
				     size_t g)
{
	struct kl_allowed j = { .rms = -1, .absum = v->w->absum[v->arg] };

	if (v->rule->kind == KL_RULE_NOISE) {
		j.max = v->rule->max * rounding_room(v) * yard->max[g];
		j.rms = v->rule->rms * rounding_room(v) * yard->rms[g];
	} else if (v->rule->kind == KL_RULE_REL_L2) {
		j.rms = v->rule->tol * yard->rms[g];
		/* a sum may cancel to zero in truth by chance, and nearly so in a kernel */
		j.zero = 0x1p-16 * yard->rms[g];
	}
	return j;
}
