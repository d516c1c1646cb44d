/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/compare/element.h"

#include <math.h>
#include <string.h>

#include "job/tensor.h"
#include "worker/compare/yardstick.h"

double kl_element_least(const struct kl_output *output, double truth)
{
	return (output->w->further ? 2 : 0.5) * kl_tensor_ulp(output->dtype, truth);
}

static double allowed_error(const struct kl_output *output, const struct kl_allowed *allowed,
			    double truth, size_t i)
{
	const struct kl_rule *rule = output->rule;
	double ulp = kl_tensor_ulp(output->dtype, truth);
	double scale = fabs(allowed->absum ? allowed->absum[i] : truth);

	if (rule->kind == KL_RULE_NOISE)
		return fmax(allowed->max, kl_element_least(output, truth));
	if (rule->kind == KL_RULE_ELEMENTWISE)
		/*
		 * for values beyond those of the contract, the oracle's output for |inputs| can be
		 * NaN although the truth is a number, so that no limit can be computed
		 */
		return output->w->further && isnan(scale) ?
			       INFINITY :
			       rule->ulps * ulp + rule->acc * 0x1p-24 * scale;
	return INFINITY;
}

struct kl_element_result kl_element_judge(const struct kl_output *output,
					  const struct kl_allowed *allowed, double got,
					  double truth, double honest, size_t i)
{
	double stored = kl_tensor_round(output->dtype, truth);
	struct kl_element_result out = { .allowed = -1 };

	if (isnan(truth)) {
		out.why = isnan(got) ? NULL : "a number where the truth is nan";
		return out;
	}
	if (isnan(got)) {
		out.why = "nan where the truth is a number";
		return out;
	}
	if (isinf(stored)) {
		if (got == stored)
			return out;
		if (isinf(truth) || isinf(got) || !isfinite(honest)) {
			out.why = "not equal to the truth, which is infinite in this dtype";
			return out;
		}
	} else if (isinf(got)) {
		out.why = "infinite where the truth is finite";
		return out;
	}
	if (output->rule->zeros && truth == 0 && fabs(got) > allowed->zero) {
		out.why = "not zero where the truth is zero";
		return out;
	}
	out.d = fabs(got - truth);
	out.allowed = allowed_error(output, allowed, truth, i);
	if (!(out.d <= out.allowed))
		out.why = "beyond the allowed error";
	return out;
}

bool kl_element_exact(const struct kl_output *output, size_t i, bool zeros_tie, char *wanted)
{
	size_t size = kl_dtype_bytes(output->dtype);
	const char *at = (const char *)output->got + i * size;
	double got, truth;

	if (!kl_dtype_is_float(output->dtype)) {
		memcpy(wanted, (const char *)output->w->truth[output->arg] + i * size, size);
		return !memcmp(at, wanted, size);
	}
	kl_tensor_store(wanted, output->dtype, 0, (const double *)output->w->truth[output->arg] + i,
			1);
	if (!memcmp(at, wanted, size))
		return true;
	kl_tensor_load(&got, output->dtype, at, 0, 1);
	kl_tensor_load(&truth, output->dtype, wanted, 0, 1);
	return (isnan(got) && isnan(truth)) || (zeros_tie && got == 0 && truth == 0);
}

double kl_element_room(double freedom)
{
	return 1 + 3 / sqrt(fmax(freedom, 1));
}

/* Return the limits of a group under the rule `noise`. */
static struct kl_yardstick_error noise_limits(const struct kl_output *output,
					      const struct kl_tolerance *tolerance, size_t group)
{
	double room = kl_element_room((double)output->groups.size);
	struct kl_yardstick_error own = { room * tolerance->max[group],
					  room * tolerance->rms[group] };

	if (tolerance->yardstick) {
		struct kl_yardstick_error all = kl_yardstick_error(tolerance->yardstick, tolerance,
								   group);

		own.max = fmax(own.max, all.max);
		own.rms = fmax(own.rms, all.rms);
	}
	return (struct kl_yardstick_error){ output->rule->max * own.max,
					    output->rule->rms * own.rms };
}

struct kl_allowed kl_element_allowed(const struct kl_output *output,
				     const struct kl_tolerance *tolerance, size_t group)
{
	struct kl_allowed allowed = { .rms = -1, .absum = output->w->absum[output->arg] };

	if (output->rule->kind == KL_RULE_NOISE) {
		struct kl_yardstick_error limits = noise_limits(output, tolerance, group);

		allowed.max = limits.max;
		allowed.rms = limits.rms;
	} else if (output->rule->kind == KL_RULE_REL_L2) {
		allowed.rms = output->rule->tol * tolerance->rms[group];
		/*
		 * a sum whose terms cancel to exactly zero in the truth can differ slightly from
		 * zero in a correct kernel
		 */
		allowed.zero = 0x1p-16 * tolerance->rms[group];
	}
	return allowed;
}
