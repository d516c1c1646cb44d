/* SPDX-License-Identifier: Apache-2.0 */
/* audit_inputs - checks that the answers depend on every input and on its full precision */
#include <stdio.h>
#include <string.h>

#include "job/tensor.h"
#include "worker/pool/fill.h"
#include "worker/stage/audit_parts.h"
#include "worker/subject/trial.h"

/* -- dependence on every input ------------------------------------------ */

/*
 * An output of one integer, such as a flag, is often the same for two inputs. At a point with such
 * an output, each input is drawn up to this many times.
 */
#define SINGLE_TRIES 32

/* Return true if `arg` is an output of one integer at the point. */
static bool is_single_integer(const struct kl_job *job, const struct kl_point *point, size_t arg)
{
	return kl_arg_is_output(&job->arg[arg]) && !kl_dtype_is_float(job->arg[arg].dtype) &&
	       kl_point_elements(point, arg) == 1;
}

static size_t count_tries(const struct kl_job *job, const struct kl_point *point)
{
	for (size_t i = 0; i < job->nargs; i++)
		if (is_single_integer(job, point, i))
			return SINGLE_TRIES;
	return 1;
}

/* Return the key under which inputs are drawn in try `turn`. */
static struct kl_key redraw_key(const struct kl_audit *audit, size_t turn)
{
	char label[32];

	snprintf(label, sizeof(label), "try/%zu", turn);
	return turn ? kl_key_derive(&audit->redraw, label) : audit->redraw;
}

/*
 * Draw new values of input `arg` into `out`, under `key`. *differs is false if they are the same as
 * the member's values.
 */
static int redraw_member(void *out, const struct kl_audit *audit, const struct kl_member *member,
			 size_t arg, const struct kl_key *key, bool *differs)
{
	const struct kl_job_arg *job_arg = &audit->job->arg[arg];
	size_t bytes = kl_member_elements(member, arg) * kl_dtype_bytes(job_arg->dtype);
	int err = kl_fill_band(out, audit->job, member->point, member->band, key, arg);

	*differs = err == 0 && memcmp(out, member->input[arg], bytes);
	if (err < 0 || *differs || !kl_dtype_is_float(job_arg->dtype) || !bytes)
		return err;
	/*
	 * the fill is constant: draw normal values instead, since any change shows whether the
	 * input is used
	 */
	{
		KL_AUTO(json_decrefp) json_t *normal = json_pack("{s:[f,f]}", "normal", 0.0, 1.0);
		struct kl_fill_spec spec = {
			.fill = normal,
			.dtype = job_arg->dtype,
			.extent = member->point->arg[arg].extent,
			.naxes = member->point->arg[arg].naxes,
			.point = member->point->id,
			.key = *key,
			.factor = 1.0,
		};

		*differs = true;
		return kl_fill_make(out, &spec);
	}
}

/*
 * Return 1 if the rules accept the oracle's answer to `input` as an answer to `member`, 0 if not,
 * negative on error.
 */
static int truth_passes(struct kl_audit *audit, struct kl_subject *oracle,
			const struct kl_member *member, const void *const *input)
{
	KL_AUTO(kl_answer_release) struct kl_answer answer = { 0 };
	int err = kl_trial_oracle(oracle, audit->job, member->point, input, true, NULL);

	if (err < 0)
		return err;
	kl_answer_room(&answer, audit->job, member);
	for (size_t i = 0; i < audit->job->nargs; i++)
		if (kl_arg_is_output(&audit->job->arg[i]))
			kl_answer_put(&answer, audit->job, member, i, kl_subject_buffer(oracle, i),
				      true);
	return kl_audit_passes(audit, member, &answer, NULL);
}

/*
 * The effect of new values of an input. It is MOVED if the rules refuse the oracle's new answer as
 * an answer to the old values, and STILL if they accept it. It is NO_OTHER if only the old values
 * can be drawn.
 */
enum moved { MOVED, STILL, NO_OTHER };

static int try_input(enum moved *out, struct kl_audit *audit, struct kl_subject *oracle,
		     const struct kl_member *member, size_t arg)
{
	const void *input[KL_MAX_ARGS];
	KL_AUTO(kl_freep) char *own = kl_calloc(kl_member_elements(member, arg) + 1,
						kl_dtype_bytes(audit->job->arg[arg].dtype));
	size_t tries = count_tries(audit->job, member->point);

	memcpy(input, member->input, sizeof(input));
	input[arg] = own;
	*out = NO_OTHER;
	for (size_t turn = 0; turn < tries && *out != MOVED; turn++) {
		const struct kl_key key = redraw_key(audit, turn);
		bool differs;
		int ok = redraw_member(own, audit, member, arg, &key, &differs);

		if (ok < 0)
			return ok;
		if (!differs)
			continue;
		if ((ok = truth_passes(audit, oracle, member, input)) < 0)
			return ok;
		*out = ok ? STILL : MOVED;
	}
	return 0;
}

/*
 * Start with small points, where the oracle is fast. An input needs to affect the answer at one
 * point only.
 */
int kl_audit_inputs(struct kl_audit *audit)
{
	KL_AUTO(kl_freep) size_t *order = kl_calloc(audit->job->npoint + 1, sizeof(*order));
	enum moved seen[KL_MAX_ARGS];
	size_t left = 0;
	int err = 0;

	kl_job_order_points(order, audit->job);
	for (size_t i = 0; i < audit->job->nargs; i++) {
		seen[i] = kl_arg_is_input(&audit->job->arg[i]) ? NO_OTHER : MOVED;
		left += seen[i] != MOVED;
	}
	for (size_t at = 0; at < audit->job->npoint && left && err == 0; at++) {
		const struct kl_point *pt = &audit->job->point[order[at]];
		KL_AUTO(kl_subject_freep) struct kl_subject *oracle = NULL;
		const struct kl_member *member;

		if (!kl_pool_noise(audit->pool, pt, &member, 1))
			continue;
		err = kl_trial_oracle_start(&oracle, audit->job, pt, true);
		for (size_t i = 0; i < audit->job->nargs && err == 0; i++) {
			enum moved now = NO_OTHER;

			if (seen[i] == MOVED)
				continue;
			err = try_input(&now, audit, oracle, member, i);
			left -= now == MOVED;
			seen[i] = now == NO_OTHER ? seen[i] : now;
		}
	}
	for (size_t i = 0; i < audit->job->nargs && err == 0; i++) {
		if (seen[i] == STILL)
			kl_audit_add(audit->problems,
				     "input '%s' does not affect any output, because other values "
				     "leave every answer right",
				     audit->job->arg[i].name);
		if (seen[i] == NO_OTHER)
			kl_audit_add(audit->notes,
				     "input '%s' has a constant integer fill, so it was not "
				     "checked whether the input affects an output",
				     audit->job->arg[i].name);
	}
	return err;
}

/* -- inputs in a lower format ------------------------------------------- */

/*
 * Return true if every output is one integer, whose rule has no tolerance that could be too loose.
 */
static bool are_single_integers(const struct kl_job *job, const struct kl_point *point)
{
	for (size_t i = 0; i < job->nargs; i++)
		if (kl_arg_is_output(&job->arg[i]) && !is_single_integer(job, point, i))
			return false;
	return true;
}

static void report_lower(struct kl_audit *audit, const struct kl_member *member, const char *name)
{
	if (are_single_integers(audit->job, member->point))
		kl_audit_add(audit->notes,
			     "at '%s' the answer is the same for inputs rounded to %s, so "
			     "precision was not audited",
			     member->point->id, name);
	else
		kl_audit_add(audit->problems,
			     "the rules accept the answer to inputs rounded to %s at '%s', so they "
			     "are too loose",
			     name, member->point->id);
}

/*
 * The effect of rounding the inputs to a lower format: the rules refuse (LOWER_REFUSED) or accept
 * (LOWER_ACCEPTED) the answer to the rounded inputs. It is LOWER_SAME if the inputs are exact in
 * that format, or none of them is a float.
 */
enum lower { LOWER_REFUSED, LOWER_ACCEPTED, LOWER_SAME };

static int try_lower(enum lower *out, const char **name, struct kl_audit *audit,
		     struct kl_subject *oracle, const struct kl_member *member)
{
	const void *input[KL_MAX_ARGS];
	char *own[KL_MAX_ARGS] = { NULL };
	size_t changed = 0;
	int ok = 0;

	memcpy(input, member->input, sizeof(input));
	for (size_t i = 0; i < audit->job->nargs; i++) {
		enum kl_dtype dtype = audit->job->arg[i].dtype;
		size_t n = kl_arg_is_input(&audit->job->arg[i]) ? kl_member_elements(member, i) : 0;

		if (!n || !kl_dtype_is_float(dtype))
			continue;
		own[i] = kl_malloc(n * kl_dtype_bytes(dtype));
		memcpy(own[i], member->input[i], n * kl_dtype_bytes(dtype));
		changed += kl_tensor_lower(own[i], dtype, n);
		input[i] = own[i];
		*name = kl_tensor_lower_name(dtype);
	}
	if (changed)
		ok = truth_passes(audit, oracle, member, input);
	*out = !changed ? LOWER_SAME : ok ? LOWER_ACCEPTED : LOWER_REFUSED;
	for (size_t i = 0; i < KL_MAX_ARGS; i++)
		free(own[i]);
	return ok < 0 ? ok : 0;
}

/*
 * The error of an answer with few elements, such as one sum, is small in some draws by chance. So
 * it is enough that the rules refuse one of the point's draws, since a kernel must pass with all
 * draws.
 */
static int lower_at(struct kl_audit *audit, const struct kl_point *point)
{
	const struct kl_member *member[KL_POOL_DRAWS];
	size_t n = kl_pool_noise(audit->pool, point, member, KL_POOL_DRAWS);
	KL_AUTO(kl_subject_freep) struct kl_subject *oracle = NULL;
	enum lower lower = LOWER_ACCEPTED;
	const char *name = NULL;
	int err = n ? kl_trial_oracle_start(&oracle, audit->job, point, true) : 0;

	for (size_t i = 0; i < n && lower == LOWER_ACCEPTED && err == 0; i++)
		err = try_lower(&lower, &name, audit, oracle, member[i]);
	if (err < 0 || !n)
		return err;
	if (lower == LOWER_ACCEPTED)
		report_lower(audit, member[0], name);
	else if (lower == LOWER_SAME)
		kl_audit_add(audit->notes, "%s at '%s', so precision was not audited",
			     name ? "every float input is exact in the next lower format" :
				    "no float input",
			     point->id);
	return 0;
}

int kl_audit_lower(struct kl_audit *audit)
{
	int err = 0;

	for (size_t at = 0; at < audit->job->npoint && err == 0; at++)
		if (audit->job->point[at].perf)
			err = lower_at(audit, &audit->job->point[at]);
	return err;
}
