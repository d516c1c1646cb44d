/* SPDX-License-Identifier: Apache-2.0 */
/* queries - answers questions about a parsed contract: points, shapes, bytes */
#include "contract/contract.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "contract/dtype.h"
#include "contract/parts.h"

int kl_contract_arg(const struct kl_contract *c, const char *name)
{
	for (size_t i = 0; i < c->nargs; i++)
		if (!strcmp(c->arg[i].name, name))
			return (int)i;
	return -1;
}

struct kl_expr_names kl_contract_names(const struct kl_contract *c)
{
	return (struct kl_expr_names){ .name = (const char *const *)c->dim_name, .n = c->dims.n };
}

size_t kl_contract_npoints(const struct kl_contract *c)
{
	return c->nperf + c->nalso;
}

const struct kl_dims *kl_contract_point(const struct kl_contract *c, size_t i, char *id)
{
	bool perf = i < c->nperf;
	size_t k = perf ? i : i - c->nperf;

	if (id)
		snprintf(id, 32, "%s%zu", perf ? "case" : "also", k);
	return perf ? &c->perf[k].dims : &c->also[k];
}

const struct kl_dims *kl_contract_check_point(const struct kl_contract *c, size_t i, char id[32])
{
	if (i > kl_contract_npoints(c))
		return NULL;
	if (i)
		return kl_contract_point(c, i - 1, id);
	snprintf(id, 32, "case");
	return &c->dims;
}

int kl_contract_in_domain(const struct kl_contract *c, const struct kl_dims *d)
{
	for (size_t i = 0; i < c->ndomain; i++) {
		int64_t yes;
		int err = kl_expr_eval(&yes, c->domain[i], d->v);

		if (err < 0)
			return kl_error_in(err, "domain '%s'", c->domain_text[i]);
		if (!yes)
			return kl_error(KL_ENO, "outside the domain: %s does not hold",
					c->domain_text[i]);
	}
	return 0;
}

int kl_contract_shape(int64_t *extent, const struct kl_contract *c, size_t arg,
		      const struct kl_dims *d)
{
	const struct kl_arg *a = &c->arg[arg];

	for (size_t i = 0; i < a->naxes; i++) {
		int err = kl_expr_eval(&extent[i], a->shape[i], d->v);

		if (err < 0)
			return kl_error_in(err, "axis %zu of '%s'", i, a->name);
		if (extent[i] < 1)
			return kl_error(KL_EINVALID, "axis %zu of '%s' has extent %lld", i, a->name,
					(long long)extent[i]);
	}
	return 0;
}

int kl_contract_tensor_bytes(int64_t *out, const struct kl_contract *c, size_t arg,
			     const struct kl_dims *d)
{
	int64_t extent[KL_MAX_AXES], bytes = (int64_t)kl_dtype_size(c->arg[arg].dtype);
	int err = kl_contract_shape(extent, c, arg, d);

	if (err < 0)
		return err;
	for (size_t i = 0; i < c->arg[arg].naxes; i++)
		if (__builtin_mul_overflow(bytes, extent[i], &bytes) || bytes > KL_TENSOR_MAX_BYTES)
			return kl_error(KL_EINVALID, "'%s' takes more than 2^40 bytes",
					c->arg[arg].name);
	*out = bytes;
	return 0;
}

/* Sum over the tensors; `inout` counts so many times. */
static int sum_bytes(int64_t *out, const struct kl_contract *c, const struct kl_dims *d, int inout)
{
	int64_t sum = 0;

	for (size_t i = 0; i < c->nargs; i++) {
		int64_t bytes;
		int err;

		if (!c->arg[i].naxes)
			continue;
		if ((err = kl_contract_tensor_bytes(&bytes, c, i, d)) < 0)
			return err;
		sum += bytes * (c->arg[i].kind == KL_ARG_INOUT ? inout : 1);
	}
	*out = sum;
	return 0;
}

int kl_contract_bytes(int64_t *out, const struct kl_contract *c, const struct kl_dims *d)
{
	return sum_bytes(out, c, d, 2);
}

int kl_contract_fits(const struct kl_contract *c)
{
	int64_t half = (int64_t)sysconf(_SC_PHYS_PAGES) / 2 * sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < kl_contract_npoints(c); i++) {
		char id[32];
		const struct kl_dims *d = kl_contract_point(c, i, id);
		int64_t bytes;
		int err = sum_bytes(&bytes, c, d, 1);

		if (err < 0)
			return err;
		if (bytes > half)
			return kl_error(KL_ECANNOT,
					"%s: the tensors of %s take %lld MiB, "
					"half of this machine's memory is %lld MiB",
					c->name, id, (long long)(bytes >> 20),
					(long long)(half >> 20));
	}
	return 0;
}
