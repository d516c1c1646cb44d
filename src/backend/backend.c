/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/backend.h"

#include <string.h>

#include "base/error.h"

const struct kl_backends kl_backends = {
	{ &kl_backend_c, &kl_backend_cpp, &kl_backend_cuda, &kl_backend_cuda_host },
};

int kl_backend_find(const struct kl_backend **out, const struct kl_backends *all,
		    const struct kl_contract *contract)
{
	for (size_t i = 0; all->row[i]; i++)
		if (all->row[i]->language == contract->language) {
			*out = all->row[i];
			return 0;
		}
	return kl_error(KL_ECANNOT, "%s: kernels in %s are not supported", contract->name,
			contract->language->title);
}

const struct kl_backend *kl_backend_of(const struct kl_contract *contract)
{
	const struct kl_backend *found = NULL;

	if (kl_backend_find(&found, &kl_backends, contract) < 0)
		KL_BUG("language without a backend");
	return found;
}

bool kl_backend_is_walled(const struct kl_backends *all, const char *platform, enum kl_tier tier)
{
	for (size_t i = 0; all->row[i]; i++) {
		const struct kl_backend *one = all->row[i];

		if (one->walled && one->owns(platform) && one->tier == tier)
			return true;
	}
	return false;
}

/*
 * Return true if a row before row `upto` has the same `platforms`, which the message lists only
 * once.
 */
static bool is_named(const struct kl_backends *all, size_t upto)
{
	for (size_t i = 0; i < upto; i++)
		if (!strcmp(all->row[i]->platforms, all->row[upto]->platforms))
			return true;
	return false;
}

int kl_backend_owner(const struct kl_backend **out, const struct kl_backends *all,
		     const char *platform)
{
	KL_AUTO(kl_buf_release) struct kl_buf known = KL_BUF_INIT;

	for (size_t i = 0; all->row[i]; i++) {
		if (all->row[i]->owns(platform)) {
			*out = all->row[i];
			return 0;
		}
		if (!is_named(all, i))
			kl_buf_addf(&known, "%s%s", i ? ", " : "", all->row[i]->platforms);
	}
	return kl_error(KL_EINVALID, "unknown platform '%s' (available: %s)", platform, known.ptr);
}
