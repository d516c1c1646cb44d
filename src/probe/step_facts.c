/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/step_facts.h"

#include <inttypes.h>
#include <string.h>

/* --- answers ---------------------------------------------------------------------------------- */

static const char *bits_of(const struct kl_probe_side *side)
{
	return side->end == KL_PROBE_PASSES && side->event ?
		       kl_json_str_or(side->event->correct, "outputs", "") :
		       "";
}

/* Compare the answers of both states at a point. */
static void compare_point(struct kl_step_facts *out, const struct kl_probe_side *before,
			  const struct kl_probe_side *after, enum kl_probe_values values)
{
	const char *had = bits_of(before), *has = bits_of(after);

	if (before->end == KL_PROBE_PASSES && after->end == KL_PROBE_FAILS)
		out->values[values].fails++;
	if (!*had || !*has)
		return;
	out->values[values].compared++;
	out->values[values].same += !strcmp(had, has);
	out->compared++;
	out->same_bits += !strcmp(had, has);
}

/* --- resources -------------------------------------------------------------------------------- */

static void take_greatest(int64_t *to, const json_t *kernel, const char *member)
{
	int64_t value = kl_json_int_or(kernel, member, 0);

	if (value > *to)
		*to = value;
}

/* Take the facts of a compiled state from an event. */
static void take_resources(struct kl_step_resources *out, const struct kl_event *event)
{
	const json_t *kernel;
	size_t i;

	if (!event || out->there || !event->compiled)
		return;
	out->there = true;
	out->device = json_array_size(event->statics) > 0;
	out->spills = kl_strvec_has(&event->facts.features, "spill");
	json_array_foreach(event->statics, i, kernel) {
		take_greatest(&out->registers, kernel, "registers");
		take_greatest(&out->smem, kernel, "smem");
		take_greatest(&out->local_bytes, kernel, "local_bytes");
		out->spill_bytes += kl_json_int_or(kernel, "spill_bytes", 0);
	}
}

void kl_step_facts_make(struct kl_step_facts *out, const struct kl_probing *probe, size_t i,
			const struct kl_event *const known[2])
{
	*out = (struct kl_step_facts){ .compared = 0 };
	for (size_t k = 0; k < probe->points.n; k++) {
		const struct kl_probe_side *before = &probe->state[i - 1].side[k],
					   *after = &probe->state[i].side[k];

		compare_point(out, before, after, probe->points.v[k].values);
		take_resources(&out->resources[0], before->event);
		take_resources(&out->resources[1], after->event);
	}
	for (size_t side = 0; side < 2; side++) {
		const struct kl_probe_state *state = &probe->state[i - 1 + side];

		out->repeated[side].points = state->repeated;
		out->repeated[side].same = state->repeat_same;
		take_resources(&out->resources[side], known ? known[side] : NULL);
	}
}

/* --- as lines --------------------------------------------------------------------------------- */

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

static void add_values(struct kl_strvec *out, const struct kl_step_facts *facts, int values)
{
	size_t compared = facts->values[values].compared, fails = facts->values[values].fails,
	       same = facts->values[values].same;

	if (fails)
		kl_strvec_pushf(out,
				"%s: wrong at %zu of %zu point%s where the state before is right",
				kl_probe_value_names[values], fails, fails + compared,
				plural(fails + compared));
	else if (compared && same == compared)
		kl_strvec_pushf(out, "%s: the same bits as before at all %zu point%s",
				kl_probe_value_names[values], compared, plural(compared));
	else if (compared)
		kl_strvec_pushf(out, "%s: right, with other bits than before at %zu of %zu point%s",
				kl_probe_value_names[values], compared - same, compared,
				plural(compared));
}

static void add_repeats(struct kl_strvec *out, const struct kl_step_facts *facts, int side,
			const char *state)
{
	size_t points = facts->repeated[side].points, same = facts->repeated[side].same;

	if (points && same == points)
		kl_strvec_pushf(out, "repeated: %s gives the same bits again at all %zu point%s",
				state, points, plural(points));
	else if (points)
		kl_strvec_pushf(out, "repeated: %s gives other bits at %zu of %zu point%s", state,
				points - same, points, plural(points));
}

static void add_figure(struct kl_strvec *out, const char *name, int64_t before, int64_t after,
		       const char *unit)
{
	if (before == after)
		kl_strvec_pushf(out, "%s: %" PRId64 " %s, as before", name, after, unit);
	else
		kl_strvec_pushf(out, "%s: %" PRId64 " %s, before %" PRId64, name, after, unit,
				before);
}

static void add_resources(struct kl_strvec *out, const struct kl_step_resources *before,
			  const struct kl_step_resources *after)
{
	if (!before->there || !after->there)
		return;
	if (before->device && after->device) {
		add_figure(out, "registers", before->registers, after->registers, "a thread");
		add_figure(out, "shared memory", before->smem, after->smem, "bytes a block");
		add_figure(out, "spills", before->spill_bytes, after->spill_bytes, "bytes");
		add_figure(out, "local memory", before->local_bytes, after->local_bytes,
			   "bytes a thread");
	} else if (after->spills != before->spills) {
		kl_strvec_push(out, after->spills ?
					    "vector registers: spilled, before not" :
					    "vector registers: not spilled, before spilled");
	} else {
		kl_strvec_push(out, after->spills ? "vector registers: spilled, as before" :
						    "vector registers: not spilled, as before");
	}
}

static void add_platform(struct kl_strvec *out, const struct kl_step_platform *platform)
{
	if (platform->fails)
		kl_strvec_pushf(out,
				"platform: on %s it fails at %zu of %zu point%s where the state "
				"before passes (%s; events %.16s %.16s)",
				platform->id, platform->fails, platform->points,
				plural(platform->points), platform->class_, platform->event[0],
				platform->event[1]);
	else
		kl_strvec_pushf(out,
				"platform: on %s it passes at all %zu point%s where the state "
				"before does (events %.16s %.16s)",
				platform->id, platform->points, plural(platform->points),
				platform->event[0], platform->event[1]);
}

void kl_step_facts_lines(struct kl_strvec *out, const struct kl_step_facts *facts)
{
	if (facts->compared && facts->same_bits == facts->compared)
		kl_strvec_pushf(
			out, "bits: the same answers as before at all %zu points where both pass",
			facts->compared);
	else if (facts->compared)
		kl_strvec_pushf(out,
				"bits: other answers than before at %zu of %zu points where both "
				"pass",
				facts->compared - facts->same_bits, facts->compared);
	for (int i = KL_PROBE_PLAIN + 1; i < KL_PROBE_VALUES; i++)
		add_values(out, facts, i);
	add_repeats(out, facts, 0, "the state before");
	add_repeats(out, facts, 1, "the kernel");
	add_resources(out, &facts->resources[0], &facts->resources[1]);
	for (size_t i = 0; i < facts->nplatform; i++)
		add_platform(out, &facts->platform[i]);
}

/* --- as JSON ---------------------------------------------------------------------------------- */

static json_t *resources_json(const struct kl_step_resources *resources)
{
	json_t *out;

	if (!resources->there)
		return json_null();
	out = json_object();
	kl_json_set_bool(out, "spills", resources->spills || resources->spill_bytes);
	if (!resources->device)
		return out;
	kl_json_set_int(out, "registers", resources->registers);
	kl_json_set_int(out, "smem", resources->smem);
	kl_json_set_int(out, "spill_bytes", resources->spill_bytes);
	kl_json_set_int(out, "local_bytes", resources->local_bytes);
	return out;
}

static json_t *platform_json(const struct kl_step_platform *platform)
{
	json_t *out = json_object();

	kl_json_set_str(out, "id", platform->id);
	kl_json_set_int(out, "points", (int64_t)platform->points);
	kl_json_set_int(out, "fails", (int64_t)platform->fails);
	kl_json_set_str(out, "class", *platform->class_ ? platform->class_ : NULL);
	kl_json_set_str(out, "before", platform->event[0]);
	kl_json_set_str(out, "after", platform->event[1]);
	return out;
}

json_t *kl_step_facts_json(const struct kl_step_facts *facts)
{
	static const char *const states[] = { "before", "after" };
	json_t *out = json_object(), *values = json_object(), *repeated = json_object(),
	       *resources = json_object(), *platforms = json_array();

	for (int i = KL_PROBE_PLAIN + 1; i < KL_PROBE_VALUES; i++) {
		json_t *one = json_object();

		kl_json_set_int(one, "compared", (int64_t)facts->values[i].compared);
		kl_json_set_int(one, "same", (int64_t)facts->values[i].same);
		kl_json_set_int(one, "fails", (int64_t)facts->values[i].fails);
		kl_json_set(values, kl_probe_value_names[i], one);
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(states); i++) {
		json_t *one = json_object();

		kl_json_set_int(one, "points", (int64_t)facts->repeated[i].points);
		kl_json_set_int(one, "same", (int64_t)facts->repeated[i].same);
		kl_json_set(repeated, states[i], one);
		kl_json_set(resources, states[i], resources_json(&facts->resources[i]));
	}
	kl_json_set(out, "values", values);
	kl_json_set(out, "repeated", repeated);
	kl_json_set(out, "resources", resources);
	for (size_t i = 0; i < facts->nplatform; i++)
		json_array_append_new(platforms, platform_json(&facts->platform[i]));
	kl_json_set(out, "platforms", platforms);
	return out;
}
