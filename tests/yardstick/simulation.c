/* SPDX-License-Identifier: Apache-2.0 */
#include "simulation.h"

#include <math.h>
#include <stdio.h>

#include "base/rng.h"
#include "worker/compare/element.h"
#include "worker/compare/yardstick.h"

#define SPARES 15
#define ELEMENTS 1024
#define PROMISED 1e-5 /* of all inputs: how often a sound kernel may be refused (docs/formats.md) */

/* Draw the rms of an error made of `freedom` independent roundings of equal weight. */
static double draw_rms(struct kl_rng *rng, int freedom)
{
	double sum = 0, product = 1, normal = freedom % 2 ? kl_rng_normal(rng) : 0;

	/* the sum of the squares of two normal numbers is exponential */
	for (int i = 0; i < freedom / 2; i++)
		product *= 1 - kl_rng_uniform(rng);
	sum = normal * normal - 2 * log(product);
	return sqrt(sum / freedom);
}

/* Draw an input, the spare draws and the error of another kernel. Returns true if it is refused. */
static bool is_refused(struct kl_rng *rng, const struct kl_job *job, int freedom)
{
	double size = 1, rms, room = kl_element_room(ELEMENTS), allowed;
	struct kl_tolerance own = { .size = &size, .max = &rms, .rms = &rms };
	struct kl_yardstick yardstick;

	kl_yardstick_init(&yardstick, job, 0, job->point);
	for (int i = 0; i < SPARES + 1; i++) {
		rms = draw_rms(rng, freedom);
		kl_yardstick_add(&yardstick, &own);
	}
	kl_yardstick_finish(&yardstick);
	allowed = job->rule->rms *
		  fmax(room * rms, kl_yardstick_error(&yardstick, &own, 0).rms);
	kl_yardstick_release(&yardstick);
	return draw_rms(rng, freedom) > allowed;
}

bool kl_simulation_print(long draws)
{
	static const int freedom[] = { 1, 2, 4, 8 };
	double most = PROMISED * (double)draws;
	struct kl_point point = { .arg[0] = { .naxes = 1, .extent = { ELEMENTS } } };
	struct kl_rule rule = { .kind = KL_RULE_NOISE, .out = 0, .max = 4, .rms = 2 };
	static struct kl_job job = { .nargs = 1, .nrule = 1, .npoint = 1 };
	bool kept = true;

	job.arg[0].kind = KL_ARG_OUT;
	job.arg[0].dtype = KL_F32;
	job.point = &point;
	job.rule = &rule;
	printf("\n%-23s %8s %8s\n", "simulated roundings", "draws", "rejected");
	for (size_t i = 0; i < KL_ARRAY_SIZE(freedom); i++) {
		struct kl_rng rng;
		long refused = 0;

		kl_rng_seed(&rng, (uint64_t)freedom[i]);
		for (long draw = 0; draw < draws; draw++)
			refused += is_refused(&rng, &job, freedom[i]);
		printf("%-23d %8ld %8ld\n", freedom[i], draws, refused);
		fflush(stdout);
		/* four standard deviations more could be chance */
		kept = kept && (double)refused <= most + 4 * sqrt(most) + 1;
	}
	return kept;
}
