/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "contract/contract.h"
#include "gate/resolve.h"

/* "f:<line>:<column>: <what>" */
static int has_place(const char *message)
{
	int line = 0, col = 0, n = 0;

	return sscanf(message, "f:%d:%d: %n", &line, &col, &n) == 2 && n && line > 0 && col > 0 &&
	       message[n];
}

static int is_printable(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return 0;
	return 1;
}

/* What parses is complete: nothing can go wrong at its points any more. */
static void check_good(const struct kl_contract *contract)
{
	static const struct kl_platform platform = { .march = "x86-64-v3" };
	const struct kl_artefact candidate = { .object = NULL };
	const struct kl_resolve_of of = { .backend = kl_backend_of(contract),
					  .contract = contract,
					  .platform = &platform,
					  .candidate = &candidate };
	KL_AUTO(kl_job_freep) struct kl_job *job = NULL;
	int err;

	MUST(contract->nperf >= 1 && contract->nargs >= 1 &&
	     json_array_size(contract->accept) >= 1);
	for (size_t i = 0; i < kl_contract_npoints(contract); i++) {
		const struct kl_dims *dims = kl_contract_point(contract, i, NULL);
		int64_t bytes;

		MUST(kl_contract_in_domain(contract, dims) == 0);
		MUST(kl_contract_bytes(&bytes, contract, dims) == 0);
		MUST(bytes > 0 && bytes <= KL_TENSOR_MAX_BYTES);
	}
	err = kl_resolve_job(&job, &of);
	MUST(err == 0 || err == KL_ECANNOT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = NULL;
	int err = kl_contract_parse(&contract, "f", (const char *)data, size);

	if (err < 0) {
		MUST(err == KL_EINVALID && !contract);
		MUST(has_place(kl_error_last()));
		MUST(is_printable(kl_error_last()));
		return 0;
	}
	check_good(contract);
	return 0;
}
