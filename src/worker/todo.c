/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "worker/stages.h"

/* Stands in for the stages that are not written yet. */
#define TODO __attribute__((weak)) int

TODO kl_pool_open(struct kl_pool **out, const struct kl_job *job)
{
	return kl_error(KL_ECANNOT, "the pool is not written yet");
}

__attribute__((weak)) void kl_pool_free(struct kl_pool *p)
{
}

TODO kl_stage_audit(json_t *result, const struct kl_job *job, struct kl_pool *pool)
{
	return kl_error(KL_ECANNOT, "the audit is not written yet");
}

TODO kl_stage_correct(json_t *result, const struct kl_job *job, struct kl_pool *pool)
{
	return kl_error(KL_ECANNOT, "the correctness stage is not written yet");
}

__attribute__((weak)) size_t kl_pool_noise(const struct kl_pool *p, const struct kl_point *pt,
					   const struct kl_member **out, size_t max)
{
	return 0;
}

TODO kl_compare(struct kl_mismatch *m, const struct kl_job *job, const struct kl_member *w, const void *const *got)
{
	return kl_error(KL_ECANNOT, "the comparison is not written yet");
}
