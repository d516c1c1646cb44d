/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/compare/mismatch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "job/tensor.h"

bool kl_mismatch_border(const int64_t *index, const int64_t *extent, size_t naxes)
{
	for (size_t a = 0; a < naxes; a++) {
		int64_t n = extent[a], last = n / 8;

		if (n < 4)
			continue;
		last = last < 1 ? 1 : last > 15 ? 15 : last;
		if (index[a] == 0 || index[a] >= n - last)
			return true;
	}
	return false;
}

bool kl_mismatch_note(struct kl_mismatch *m, const struct kl_output *v, size_t i)
{
	int64_t index[KL_JOB_MAX_AXES];
	bool first = m->out < 0;

	kl_tensor_index(index, v->extent, v->naxes, i);
	m->bad++;
	if (first) {
		m->out = v->arg;
		m->naxes = v->naxes;
		memcpy(m->index, index, sizeof(index[0]) * v->naxes);
		m->edge_only = true;
	}
	m->edge_only = m->edge_only && kl_mismatch_border(index, v->extent, v->naxes);
	return first;
}

void kl_mismatch_describe(struct kl_mismatch *m, const struct kl_output *v, size_t i, double y)
{
	char stored[8];

	kl_tensor_print(m->got, sizeof(m->got), v->dtype, v->got, i);
	if (kl_dtype_is_float(v->dtype) && isfinite(y) && (y != 0 || !signbit(y))) {
		snprintf(m->wanted, sizeof(m->wanted), v->dtype == KL_F64 ? "%.17g" : "%.9g", y);
		return;
	}
	if (kl_dtype_is_float(v->dtype))
		kl_tensor_store(stored, v->dtype, 0, &y, 1);
	else
		memcpy(stored, (const char *)v->w->truth[v->arg] + i * kl_dtype_bytes(v->dtype),
		       kl_dtype_bytes(v->dtype));
	kl_tensor_print(m->wanted, sizeof(m->wanted), v->dtype, stored, 0);
}

void kl_mismatch_widen(struct kl_mismatch *m, double error, double allowed)
{
	double r = error <= 0 ? 0 : allowed > 0 ? error / allowed : INFINITY;

	if (r > m->margin)
		m->margin = r;
}

void kl_mismatch_merge(struct kl_mismatch *m, const struct kl_mismatch *part)
{
	bool edge_only = m->out < 0 || m->edge_only;

	m->margin = fmax(m->margin, part->margin);
	if (!part->bad)
		return;
	if (m->out < 0) {
		m->out = part->out;
		m->naxes = part->naxes;
		memcpy(m->index, part->index, sizeof(m->index));
		memcpy(m->got, part->got, sizeof(m->got));
		memcpy(m->wanted, part->wanted, sizeof(m->wanted));
		memcpy(m->why, part->why, sizeof(m->why));
	}
	m->bad += part->bad;
	m->edge_only = edge_only && part->edge_only;
}
