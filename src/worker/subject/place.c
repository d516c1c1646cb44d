/* SPDX-License-Identifier: Apache-2.0 */
/* place - chooses the addresses at which a call finds its tensors */
#include "base/rng.h"
#include "worker/subject/subject_state.h"

/*
 * Views of large tensors are expensive: all pages of each view are entered in the child's page
 * table before the first call. So if the tensors have more than SMALL bytes in all, each gets only
 * FEW_VIEWS views.
 */
#define FEW_VIEWS 2
#define SMALL ((uint64_t)2 << 20) /* total bytes of all tensors */

uint32_t kl_place_views(const struct kl_wire *wire, enum kl_wire_point point)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < wire->nargs; i++)
		all += wire->arg[point][i].map_bytes;
	return wire->baseline || all > SMALL ? FEW_VIEWS : KL_WIRE_VIEWS;
}

static uint64_t draw_view(const struct kl_cpu_subject *subject, uint64_t draw, uint32_t arg)
{
	/* a baseline was opened once for each view, so all its tensors use the same view */
	uint64_t which = subject->wire->baseline ? draw : kl_rng_mix(draw + arg);

	return (which >> 32) % subject->wire->nview[subject->point];
}

/*
 * Return the offset of a tensor's data in its view. Without a `base`, this is 0 or, if `right`, the
 * slack. With a `base`, it is the base or, if `right`, the greatest odd multiple of it that fits.
 */
static uint64_t offset_of(const struct kl_wire_arg *arg, bool right)
{
	uint64_t slack = kl_place_slack(arg);

	if (!right)
		return arg->base;
	if (!arg->base)
		return slack;
	return (slack - arg->base) / (2 * arg->base) * (2 * arg->base) + arg->base;
}

void kl_cpu_subject_place(struct kl_cpu_subject *subject, const struct kl_place *place)
{
	subject->point = place->other ? KL_WIRE_OTHER : KL_WIRE_MAIN;
	subject->arg = subject->wire->arg[subject->point];
	subject->args->work = subject->hello.work[subject->point];
	for (uint32_t i = 0; i < subject->wire->nargs; i++) {
		const struct kl_wire_arg *arg = &subject->arg[i];
		uint64_t view = draw_view(subject, place->draw, i);

		subject->args->view = view;
		subject->offset[i] = arg->tensor ? offset_of(arg, place->right) : 0;
		subject->args->store[i] = arg->tensor ?
						  subject->hello.map[subject->point][view][i] +
							  subject->offset[i] :
						  arg->bits;
	}
}
