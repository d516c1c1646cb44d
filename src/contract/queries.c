/* SPDX-License-Identifier: Apache-2.0 */
/* queries - answers questions about a parsed contract: points, shapes, bytes */
#include "contract/contract.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "contract/parts.h"

int kl_contract_arg(const struct kl_contract *contract, const char *name)
{
	for (size_t i = 0; i < contract->nargs; i++)
		if (!strcmp(contract->arg[i].name, name))
			return (int)i;
	return -1;
}

struct kl_expr_names kl_contract_names(const struct kl_contract *contract)
{
	return (struct kl_expr_names){ .name = (const char *const *)contract->dim_name,
				       .n = contract->dims.n };
}

size_t kl_contract_npoints(const struct kl_contract *contract)
{
	return contract->nperf + contract->nalso;
}

const struct kl_dims *kl_contract_point(const struct kl_contract *contract, size_t i, char *id)
{
	bool perf = i < contract->nperf;
	size_t k = perf ? i : i - contract->nperf;

	if (id)
		snprintf(id, 32, "%s%zu", perf ? "case" : "also", k);
	return perf ? &contract->perf[k].dims : &contract->also[k];
}

const struct kl_dims *kl_contract_check_point(const struct kl_contract *contract, size_t i,
					      char id[32])
{
	if (i > kl_contract_npoints(contract))
		return NULL;
	if (i)
		return kl_contract_point(contract, i - 1, id);
	snprintf(id, 32, "case");
	return &contract->dims;
}

int kl_contract_in_domain(const struct kl_contract *contract, const struct kl_dims *dims)
{
	for (size_t i = 0; i < contract->ndomain; i++) {
		int64_t yes;
		int err = kl_expr_eval(&yes, contract->domain[i], dims->v);

		if (err < 0)
			return kl_error_in(err, "domain '%s'", contract->domain_text[i]);
		if (!yes)
			return kl_error(KL_ENO, "outside the domain: %s does not hold",
					contract->domain_text[i]);
	}
	return 0;
}

/* Read the value of one dim from `len` bytes of text, "name=value". */
static int read_dim(struct kl_dims *out, bool *seen, const struct kl_contract *contract,
		    const char *text, size_t len)
{
	const char *equals = memchr(text, '=', len);
	size_t name = equals ? (size_t)(equals - text) : len, digits;

	for (size_t i = 0; equals && i < contract->dims.n; i++) {
		if (strlen(contract->dim_name[i]) != name ||
		    strncmp(contract->dim_name[i], text, name))
			continue;
		digits = strspn(equals + 1, "0123456789");
		if (seen[i] || !digits || digits > 13 || name + 1 + digits != len)
			break;
		seen[i] = true;
		out->v[i] = strtoll(equals + 1, NULL, 10);
		return 0;
	}
	return kl_error(KL_EUSAGE,
			"'%.*s' is not <dim>=<n> for a dim of '%s', or gives the dim twice",
			(int)(len < 80 ? len : 80), text, contract->workload);
}

char *kl_contract_dims_text(const struct kl_contract *contract, const struct kl_dims *dims)
{
	struct kl_buf buf = KL_BUF_INIT;

	for (size_t i = 0; i < dims->n; i++)
		kl_buf_addf(&buf, "%s%s=%" PRId64, i ? "," : "", contract->dim_name[i], dims->v[i]);
	return kl_buf_detach(&buf);
}

int kl_contract_read_dims(struct kl_dims *out, const struct kl_contract *contract, const char *text,
			  size_t len)
{
	bool seen[KL_MAX_DIMS] = { false };
	int err;

	*out = (struct kl_dims){ .n = contract->dims.n };
	for (size_t at = 0, n; at <= len; at += n + 1) {
		const char *comma = memchr(text + at, ',', len - at);

		n = comma ? (size_t)(comma - text) - at : len - at;
		if ((err = read_dim(out, seen, contract, text + at, n)) < 0)
			return err;
	}
	for (size_t i = 0; i < out->n; i++)
		if (!seen[i])
			return kl_error(KL_EUSAGE, "'%.*s' has no value for the dim %s",
					(int)(len < 80 ? len : 80), text, contract->dim_name[i]);
	err = kl_contract_in_domain(contract, out);
	return err == KL_ENO ? kl_error(KL_EUSAGE, "'%.*s' is %s", (int)(len < 80 ? len : 80), text,
					kl_error_last()) :
			       err;
}

static int arg_shape(int64_t *extent, const struct kl_arg *arg, const struct kl_dims *dims)
{
	for (size_t i = 0; i < arg->naxes; i++) {
		int err = kl_expr_eval(&extent[i], arg->shape[i], dims->v);

		if (err < 0)
			return kl_error_in(err, "axis %zu of '%s'", i, arg->name);
		if (extent[i] < 1)
			return kl_error(
				KL_EINVALID,
				"axis %zu of '%s' has extent %lld, but must have at least 1", i,
				arg->name, (long long)extent[i]);
	}
	return 0;
}

int kl_contract_shape(int64_t *extent, const struct kl_contract *contract, size_t arg,
		      const struct kl_dims *dims)
{
	return arg_shape(extent, &contract->arg[arg], dims);
}

int kl_contract_arg_bytes(int64_t *out, const struct kl_arg *arg, const struct kl_dims *dims)
{
	int64_t extent[KL_MAX_AXES], bytes = (int64_t)kl_dtype_bytes(arg->dtype);
	int err = arg_shape(extent, arg, dims);

	if (err < 0)
		return err;
	for (size_t i = 0; i < arg->naxes; i++)
		if (__builtin_mul_overflow(bytes, extent[i], &bytes) || bytes > KL_TENSOR_MAX_BYTES)
			return kl_error(KL_EINVALID, "'%s' is larger than 2^40 bytes", arg->name);
	*out = bytes;
	return 0;
}

int kl_contract_tensor_bytes(int64_t *out, const struct kl_contract *contract, size_t arg,
			     const struct kl_dims *dims)
{
	return kl_contract_arg_bytes(out, &contract->arg[arg], dims);
}

/* Add up the bytes of all tensors at a point; an inout counts `inout` times. */
static int sum_bytes(int64_t *out, const struct kl_contract *contract, const struct kl_dims *dims,
		     int inout)
{
	int64_t sum = 0;

	for (size_t i = 0; i < contract->nargs; i++) {
		int64_t bytes;
		int err;

		if (!contract->arg[i].naxes || contract->arg[i].returned)
			continue;
		if ((err = kl_contract_tensor_bytes(&bytes, contract, i, dims)) < 0)
			return err;
		sum += bytes * (contract->arg[i].kind == KL_ARG_INOUT ? inout : 1);
	}
	*out = sum;
	return 0;
}

int kl_contract_bytes(int64_t *out, const struct kl_contract *contract, const struct kl_dims *dims)
{
	return sum_bytes(out, contract, dims, 2);
}

int kl_contract_fits(const struct kl_contract *contract)
{
	int64_t half = (int64_t)sysconf(_SC_PHYS_PAGES) / 2 * sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < kl_contract_npoints(contract); i++) {
		char id[32];
		const struct kl_dims *dims = kl_contract_point(contract, i, id);
		int64_t bytes;
		int err = sum_bytes(&bytes, contract, dims, 1);

		if (err < 0)
			return err;
		if (bytes > half)
			return kl_error(
				KL_ECANNOT,
				"%s: the tensors of %s need %lld MiB, more than half of this "
				"machine's memory (%lld MiB)",
				contract->name, id, (long long)(bytes >> 20),
				(long long)(half >> 20));
	}
	return 0;
}
