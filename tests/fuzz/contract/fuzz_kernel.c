/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include <string.h>

#include "contract/contract.h"
#include "contract/skeleton.h"
#include "text/yaml.h"

/*
 * A kernel file for `git klineage init`: whatever it holds, what comes out is YAML that only lacks
 * its TODOs.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	KL_AUTO(kl_skeleton_release) struct kl_skeleton sk = KL_SKELETON_INIT;
	KL_AUTO(kl_yaml_freep) struct kl_yaml *node = NULL;
	KL_AUTO(kl_yaml_freep) struct kl_yaml *plan = NULL;
	struct kl_contract *contract = NULL;
	bool device = memmem(data, size, "__global__", 10);
	int err = kl_skeleton_make(&sk, device ? "k.cu" : "k.c", (const char *)data, size, NULL,
				   "w", size % 2);

	if (err < 0) {
		MUST(err == KL_EINVALID || err == KL_ENOTFOUND);
		return 0;
	}
	MUST(sk.todo.n > 0 && sk.prototype);
	err = kl_contract_parse(&contract, "f", sk.contract.ptr, sk.contract.len);
	MUST(err == KL_EINVALID && !contract);
	/* contents are lacking, YAML it is */
	MUST(kl_yaml_parse(&node, "f", sk.contract.ptr, sk.contract.len) == 0);
	MUST(!device || kl_yaml_parse(&plan, "f", sk.plan.ptr, sk.plan.len) == 0);
	return 0;
}
