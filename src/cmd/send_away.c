/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/send_away.h"

#include "base/error.h"

int kl_send_away_wait(const struct kl_transfer *sent, const char *then)
{
	int err;

	if (!sent->waiting)
		return 0;
	err = kl_error(KL_ECANNOT, "no verdict yet: %zu job%s written to '%s'", sent->jobs,
		       sent->jobs == 1 ? " was" : "s were", sent->file);
	kl_error_hint(err, "copy the file to the worker's machine and run there: %s",
		      sent->command);
	return kl_error_hint(
		err, "then run here: git klineage gate --import <results>, and then: %s", then);
}

int kl_send_away(struct kl_gate *gate, const char *then)
{
	KL_AUTO(kl_transfer_release) struct kl_transfer sent = { 0 };
	int err = kl_gate_send(&sent, gate, NULL);

	if (err < 0)
		return err;
	if (sent.why)
		return kl_error(KL_ECANNOT, "%s", sent.why);
	if (!sent.waiting && !sent.imported)
		return kl_error(KL_ECANNOT, "no result was returned for these jobs");
	return kl_send_away_wait(&sent, then);
}
