/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/compare/element.h"

#include <math.h>
#include <string.h>

#include "job/tensor.h"

static double allowed_error(const struct kl_output *output, const struct kl_allowed *allowed,
			    double other, size_t i)
{
	const struct kl_rule *rule = output->rule;
	double ulp = kl_tensor_ulp(output->dtype, other);

	if (rule->kind == KL_RULE_NOISE)
		return fmax(allowed->max, ulp / 2);
	if (rule->kind == KL_RULE_ELEMENTWISE)
		return rule->ulps * ulp +
		       rule->acc * 0x1p-24 * fabs(allowed->absum ? allowed->absum[i] : other);
	return INFINITY;
}

struct kl_element_result kl_element_judge(const struct kl_output *output,
					  const struct kl_allowed *allowed, double gain,
					  double other, double high, size_t i)
{
	double stored = kl_tensor_round(output->dtype, other);
	struct kl_element_result out = { .allowed = -1 };

	if (isnan(other)) {
		out.why = isnan(gain) ? NULL : "a number where the truth is nan";
		return out;
	}
	if (isnan(gain)) {
		out.why = "nan where the truth is a number";
		return out;
	}
	if (isinf(stored)) {
		if (gain == stored)
			return out;
		if (isinf(other) || isinf(gain) || !isfinite(high)) {
			out.why = "not the infinity that the truth is in this dtype";
			return out;
		}
	} else if (isinf(gain)) {
		out.why = "infinite where the truth is finite";
		return out;
	}
	if (output->rule->zeros && other == 0 && fabs(gain) > allowed->zero) {
		out.why = "not zero where the truth is";
		return out;
	}
	out.d = fabs(gain - other);
	out.allowed = allowed_error(output, allowed, other, i);
	if (!(out.d <= out.allowed))
		out.why = "beyond the allowed error";
	return out;
}

bool kl_element_exact(const struct kl_output *output, size_t i, bool zeros_tie, char *wanted)
{
	size_t size = kl_dtype_bytes(output->dtype);
	const char *got = (const char *)output->got + i * size;
	double gain, weight;

	if (!kl_dtype_is_float(output->dtype)) {
		memcpy(wanted, (const char *)output->w->truth[output->arg] + i * size, size);
		return !memcmp(got, wanted, size);
	}
	kl_tensor_store(wanted, output->dtype, 0, (const double *)output->w->truth[output->arg] + i,
			1);
	if (!memcmp(got, wanted, size))
		return true;
	kl_tensor_load(&gain, output->dtype, got, 0, 1);
	kl_tensor_load(&weight, output->dtype, wanted, 0, 1);
	return (isnan(gain) && isnan(weight)) || (zeros_tie && gain == 0 && weight == 0);
}

/*
 * The honest error of few elements is itself a matter of luck: two honest
 * rms values over n elements differ by about 1/sqrt(n), so that a small group
 * needs room for three times that. 1.03 at ten thousand elements, 2 at nine.
 */
static double rounding_room(const struct kl_output *output)
{
	return 1 + 3 / sqrt(output->groups.size ? (double)output->groups.size : 1);
}

struct kl_allowed kl_element_allowed(const struct kl_output *output, const struct kl_yard *yard,
				     size_t group)
{
	struct kl_allowed allowed = { .rms = -1, .absum = output->w->absum[output->arg] };

	if (output->rule->kind == KL_RULE_NOISE) {
		allowed.max = output->rule->max * rounding_room(output) * yard->max[group];
		allowed.rms = output->rule->rms * rounding_room(output) * yard->rms[group];
	} else if (output->rule->kind == KL_RULE_REL_L2) {
		allowed.rms = output->rule->tol * yard->rms[group];
		/* a sum may cancel to zero in truth by chance, and nearly so in a kernel */
		allowed.zero = 0x1p-16 * yard->rms[group];
	}
	return allowed;
}
