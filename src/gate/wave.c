/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/wave.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void kl_wave_release(struct kl_wave *wave)
{
	kl_transfer_release(&wave->sent);
	*wave = (struct kl_wave){ 0 };
}

/*
 * Check that the results of a bundle are here, unless the user must carry it. `before` is the
 * digest of the previous bundle, or NULL. If both bundles are the same, the results changed
 * nothing.
 */
static int check_results(const struct kl_transfer *sent, const char *before)
{
	if (sent->waiting)
		return 0;
	if (sent->why)
		return kl_error(KL_ECANNOT, "%s", sent->why);
	if (!sent->imported)
		return kl_error(KL_ECANNOT, "no result was returned for these jobs");
	if (before && !strcmp(before, sent->digest))
		return kl_error(KL_ECANNOT,
				"the results of %zu job%s are imported, but give no verdict",
				sent->jobs, sent->jobs == 1 ? "" : "s");
	return 0;
}

int kl_wave_run(struct kl_wave *out, struct kl_gate *gate, int (*advance)(void *payload),
		void *payload)
{
	KL_AUTO(kl_freep) char *before = NULL;
	int err;

	*out = (struct kl_wave){ 0 };
	for (;;) {
		if ((err = advance(payload)) < 0)
			return err;
		free(before);
		before = kl_steal(&out->sent.digest);
		kl_transfer_release(&out->sent);
		out->n++;
		if (!kl_gate_waiting(gate))
			return 0;
		if ((err = kl_gate_send(&out->sent, gate, NULL)) < 0 ||
		    (err = check_results(&out->sent, before)) < 0 || out->sent.waiting)
			return err;
	}
}
