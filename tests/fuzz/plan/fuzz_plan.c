/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "contract/launch.h"

/* One contract with something for every kind of plan. */
static const char contract_text[] =
	"klineage: 1\n"
	"workload: w\n"
	"case: {op: w, dims: {M: 4096, N: 4096, K: 4096, C: 64, H: 56, W: 56, F: 128, R: 3, S: 3, pad: 1, T: 64}}\n"
	"surface: {language: cuda, sources: [k.cu, launch.yaml, params.bin]}\n"
	"args:\n"
	"  - {name: A, kind: in, dtype: bf16, shape: [M, K]}\n"
	"  - {name: B, kind: in, dtype: bf16, shape: [N, K]}\n"
	"  - {name: x, kind: in, dtype: f16, shape: [N, H, W, C]}\n"
	"  - {name: w, kind: in, dtype: f16, shape: [F, R, S, C]}\n"
	"  - {name: scale, kind: scalar, dtype: f32, value: 0.5}\n"
	"  - {name: y, kind: out, dtype: f16, shape: [N, H, W, F]}\n"
	"  - {name: C2, kind: out, dtype: bf16, shape: [M, N]}\n"
	"also: [{M: 256, N: 512, K: 64, C: 64, H: 7, W: 5, F: 128, R: 3, S: 3, pad: 1, T: 64}]\n"
	"oracle: {language: cuda, sources: [o.cu, oracle.yaml]}\n"
	"accept: {rule: noise}\n";

static const struct kl_contract *contract(void)
{
	static struct kl_contract *other;

	if (!other)
		MUST(kl_contract_parse(&other, "c", contract_text, sizeof(contract_text) - 1) == 0);
	return other;
}

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

static void check_numbers(const struct kl_plan_at *at)
{
	MUST(at->nlaunch >= 1 && at->nlaunch <= KL_PLAN_MAX_LAUNCHES);
	for (size_t i = 0; i < at->nlaunch; i++) {
		const struct kl_plan_launch *launch = &at->launch[i];

		MUST(launch->kernel[0] && launch->nargs <= KL_PLAN_MAX_ARGS && launch->smem >= 0);
		for (int k = 0; k < 3; k++) {
			MUST(launch->grid[k] >= 1 && launch->block[k] >= 1);
			MUST(!launch->cluster[0] || launch->grid[k] % launch->cluster[k] == 0);
		}
		MUST(launch->block[0] * launch->block[1] * launch->block[2] <= 1024);
	}
	for (size_t i = 0; i < at->nscratch; i++)
		MUST(at->scratch[i].bytes >= 1 && at->scratch[i].align >= 1);
	for (size_t i = 0; i < at->nmap; i++)
		MUST(at->map[i].rank >= 1 && at->map[i].rank <= 5 && at->map[i].dim[0] >= 1);
}

/* The worker's side: the job's text is parsed again, and comes to the same. */
static void check_good(const struct kl_contract *contract, const struct kl_launch *launch)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *doc = NULL, *written = NULL, *again = NULL;
	KL_AUTO(kl_plan_freep) struct kl_plan *plan = NULL;
	const char *tensor[KL_MAX_ARGS] = { NULL };
	struct kl_plan_scalar scalar[KL_MAX_ARGS] = { { NULL, NULL, 0 } };
	const struct kl_plan_names names = {
		.dim = (const char *const *)contract->dim_name,
		.ndim = contract->dims.n,
		.tensor = tensor,
		.ntensor = contract->nargs,
		.scalar = scalar,
	};
	struct kl_plan_facts facts;

	for (size_t i = 0; i < contract->nargs; i++) {
		if (contract->arg[i].naxes)
			tensor[i] = contract->arg[i].name;
		else
			scalar[i] = (struct kl_plan_scalar){ contract->arg[i].name,
							     kl_dtype_name(contract->arg[i].dtype),
							     contract->arg[i].value };
	}
	written = kl_plan_to_json(launch->plan);
	kl_json_canonical(&text, written);
	MUST(kl_json_parse(&doc, text.ptr, text.len) == 0);
	MUST(kl_plan_parse_json(&plan, doc, &names) == 0);
	again = kl_plan_to_json(plan);
	MUST(json_equal(doc, again));
	MUST(kl_plan_arch_facts(&facts, launch->arch) == 0);
	for (size_t i = 0; i < kl_contract_npoints(contract); i++) {
		KL_AUTO(kl_plan_at_freep) struct kl_plan_at *at = NULL;
		const struct kl_dims *dims = kl_contract_point(contract, i, NULL);
		int64_t bytes[KL_MAX_ARGS] = { 0 };

		for (size_t k = 0; k < contract->nargs; k++)
			if (tensor[k])
				MUST(kl_contract_tensor_bytes(&bytes[k], contract, k, dims) == 0);
		MUST(kl_plan_resolve(&at, plan, dims->v, bytes, &facts) == 0);
		check_numbers(at);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char bytes[128], name[] = "params.bin";
	const struct kl_file file = { .path = name, .data = bytes, .len = sizeof(bytes) };
	KL_AUTO(kl_launch_freep) struct kl_launch *launch = NULL;
	int err = kl_launch_parse(&launch, contract(), "f", (const char *)data, size, &file, 1,
				  NULL);

	if (err < 0) {
		MUST(err == KL_EINVALID && !launch);
		MUST(has_place(kl_error_last()));
		MUST(is_printable(kl_error_last()));
		return 0;
	}
	check_good(contract(), launch);
	return 0;
}
