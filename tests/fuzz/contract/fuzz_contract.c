/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "contract/contract.h"
#include "gate/job.h"

/* "f:<line>:<column>: <what>" */
static int has_place(const char *message)
{
	int line = 0, col = 0, n = 0;

	return sscanf(message, "f:%d:%d: %n", &line, &col, &n) == 2 && n && line > 0 && col > 0 &&
	       message[n];
}

static int is_printable(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return 0;
	return 1;
}

/* What parses is complete: nothing can go wrong at its points any more. */
static void check_good(const struct kl_contract *c)
{
	static const struct kl_platform p = { .march = "x86-64-v3" };
	const struct kl_job_spec s = { .contract = c, .platform = &p };
	KL_AUTO(json_decrefp) json_t *job = NULL;
	int err;

	MUST(c->nperf >= 1 && c->nargs >= 1 && json_array_size(c->accept) >= 1);
	for (size_t i = 0; i < kl_contract_npoints(c); i++) {
		const struct kl_dims *d = kl_contract_point(c, i, NULL);
		int64_t bytes;

		MUST(kl_contract_in_domain(c, d) == 0);
		MUST(kl_contract_bytes(&bytes, c, d) == 0);
		MUST(bytes > 0 && bytes <= KL_TENSOR_MAX_BYTES);
	}
	err = kl_job_write(&job, &s);
	MUST(err == 0 || err == KL_ECANNOT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *c = NULL;
	int err = kl_contract_parse(&c, "f", (const char *)data, size);

	if (err < 0) {
		MUST(err == KL_EINVALID && !c);
		MUST(has_place(kl_error_last()));
		MUST(is_printable(kl_error_last()));
		return 0;
	}
	check_good(c);
	return 0;
}
