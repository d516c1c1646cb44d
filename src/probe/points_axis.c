/* SPDX-License-Identifier: Apache-2.0 */
/* points_axis - reads the axes of a user's grid, and finds their dims and tensors in a contract */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "gate/gate.h"
#include "job/job.h"
#include "probe/points_parts.h"

/* --- an axis as text -------------------------------------------------------------------------- */

void kl_probe_axis_release(struct kl_probe_axis *axis)
{
	free(axis->dim);
	free(axis->v);
	*axis = (struct kl_probe_axis){ .n = 0 };
}

static int push_value(struct kl_probe_axis *axis, int64_t value)
{
	if (axis->n == (size_t)KL_PROBE_MOST * 256)
		return kl_error(KL_EUSAGE, "--grid: axis '%s' has more than %d values", axis->dim,
				KL_PROBE_MOST * 256);
	KL_GROW(axis->v, axis->n + 1, axis->alloc);
	axis->v[axis->n++] = value;
	return 0;
}

/* Read "8", "1..64" or "8..512:8". */
static int read_range(struct kl_probe_axis *axis, const char *text)
{
	char *end;
	long long from = strtoll(text, &end, 10), to = from, step = 1;
	bool good = end != text && from >= 1;
	int err = 0;

	if (good && !strncmp(end, "..", 2)) {
		const char *rest = end + 2;

		to = strtoll(rest, &end, 10);
		good = end != rest && to >= from;
		if (good && *end == ':') {
			rest = end + 1;
			step = strtoll(rest, &end, 10);
			good = end != rest && step >= 1;
		}
	}
	if (!good || *end || to > INT32_MAX)
		return kl_error(KL_EUSAGE,
				"--grid: '%s' is not a value of '%s': a number from 1 on, a range "
				"such as 1..64, or one with a step such as 8..512:8",
				text, axis->dim);
	for (long long value = from; value <= to && !err; value += step)
		err = push_value(axis, value);
	return err;
}

static int read_class(struct kl_probe_axis *axis, const char *text)
{
	for (int i = 0; kl_probe_value_names[i]; i++)
		if (!strcmp(kl_probe_value_names[i], text))
			return push_value(axis, i);
	return kl_error(KL_EUSAGE, "--grid: values are plain, denormal, inf or nan, not '%s'",
			text);
}

int kl_probe_axis_parse(struct kl_probe_axis *out, const char *text)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec items = KL_STRVEC_INIT;
	size_t name = strcspn(text, "=");
	int err = 0;

	*out = (struct kl_probe_axis){ .n = 0 };
	if (!name || !text[name] || !text[name + 1])
		return kl_error(KL_EUSAGE,
				"--grid needs <axis>=<values>, such as m=1..64, not '%s'", text);
	out->dim = kl_strndup(text, name);
	kl_strvec_split(&items, text + name + 1, ",");
	for (size_t i = 0; !err && i < items.n; i++)
		err = !strcmp(out->dim, "values") ? read_class(out, items.v[i]) :
						    read_range(out, items.v[i]);
	if (!err && !out->n)
		err = kl_error(KL_EUSAGE, "--grid: axis '%s' has no values", out->dim);
	return err;
}

/* --- what an axis names ----------------------------------------------------------------------- */

/* Return the index of the tensor whose address the axis "align(x)" varies; -1 for another axis. */
static int tensor_of(const struct kl_contract *contract, const char *name)
{
	size_t len = strlen(name);

	if (strncmp(name, "align(", 6) != 0 || name[len - 1] != ')')
		return -1;
	for (size_t i = 0; i < contract->nargs; i++)
		if (kl_probe_has_address(contract, i) && strlen(contract->arg[i].name) == len - 7 &&
		    !strncmp(contract->arg[i].name, name + 6, len - 7))
			return (int)i;
	return -1;
}

struct kl_probe_axis_of kl_probe_axis_find(const struct kl_contract *contract, const char *name)
{
	int tensor = tensor_of(contract, name);

	if (!strcmp(name, "values"))
		return (struct kl_probe_axis_of){ .kind = KL_PROBE_AXIS_VALUES };
	if (tensor >= 0)
		return (struct kl_probe_axis_of){ KL_PROBE_AXIS_ALIGN, (size_t)tensor };
	for (size_t i = 0; i < contract->dims.n; i++)
		if (!strcmp(contract->dim_name[i], name))
			return (struct kl_probe_axis_of){ KL_PROBE_AXIS_DIM, i };
	return (struct kl_probe_axis_of){ .kind = KL_PROBE_AXIS_NONE };
}

/* Check the addresses that an axis asks for. */
static int check_addresses(const struct kl_contract *contract, const struct kl_probe_axis *axis,
			   size_t tensor)
{
	int64_t least = (int64_t)kl_dtype_bytes(contract->arg[tensor].dtype);

	for (size_t i = 0; i < axis->n; i++)
		if (axis->v[i] < least || axis->v[i] > KL_JOB_MAX_BASE ||
		    axis->v[i] & (axis->v[i] - 1))
			return kl_error(KL_EUSAGE,
					"--grid: %s needs powers of two from %lld, the bytes of an "
					"element, to %d, not %lld",
					axis->dim, (long long)least, KL_JOB_MAX_BASE,
					(long long)axis->v[i]);
	return 0;
}

int kl_probe_axes_check(const struct kl_probe_points_of *of)
{
	size_t addresses = 0;
	int err = 0;

	for (size_t i = 0; i < of->naxis && !err; i++) {
		const struct kl_probe_axis *axis = &of->axis[i];
		struct kl_probe_axis_of what = kl_probe_axis_find(of->contract, axis->dim);

		if (what.kind == KL_PROBE_AXIS_NONE)
			return kl_error(KL_EUSAGE, "%s has no dim '%s', which --grid names",
					of->contract->name, axis->dim);
		for (size_t k = 0; k < i; k++)
			if (!strcmp(of->axis[k].dim, axis->dim))
				return kl_error(KL_EUSAGE, "--grid names '%s' twice", axis->dim);
		if (what.kind != KL_PROBE_AXIS_ALIGN)
			continue;
		if (addresses++)
			return kl_error(KL_EUSAGE, "--grid can change the address of only one "
						   "tensor; name a single align(<tensor>)");
		err = check_addresses(of->contract, axis, what.at);
	}
	return err;
}
