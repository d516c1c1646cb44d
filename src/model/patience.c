/* SPDX-License-Identifier: Apache-2.0 */
#include "model/patience.h"

#include "base/error.h"
#include "model/provider/retry.h"

#define DEFAULT_S 3600
#define LONGEST_S (7 * 24 * 3600)
#define LEAST_PAUSE_MS 50

int kl_patience_read(struct kl_patience *out, struct kl_repo *repo)
{
	int64_t seconds;
	int err = kl_repo_config_int(&seconds, repo, "klineage.chat.patience", DEFAULT_S);

	if (!err && (seconds < 0 || seconds > LONGEST_S))
		return kl_error(KL_EINVALID,
				"config klineage.chat.patience: must be 0 to %d seconds",
				LONGEST_S);
	if (err < 0)
		return err;
	*out = (struct kl_patience){ .limit_ms = seconds * 1000 };
	kl_rng_fresh(&out->rng);
	return 0;
}

int64_t kl_patience_failed(struct kl_patience *patience, const char **why, int64_t wish_ms,
			   int64_t now_ns)
{
	int64_t left, pause;

	if (!patience->since_ns)
		patience->since_ns = now_ns;
	patience->failures++;
	left = patience->limit_ms - (now_ns - patience->since_ns) / 1000000;
	if (left <= 0) {
		*why = "klineage.chat.patience has passed";
		return -1;
	}
	if (wish_ms > left) {
		*why = "the server asks for a pause longer than klineage.chat.patience";
		return -1;
	}
	pause = kl_retry_delay(patience->failures, wish_ms, &patience->rng);
	/* make the last attempt when the patience ends, not long before */
	if (pause > left)
		pause = left;
	return pause < LEAST_PAUSE_MS && wish_ms < 0 ? LEAST_PAUSE_MS : pause;
}

void kl_patience_answered(struct kl_patience *patience)
{
	patience->since_ns = 0;
	patience->failures = 0;
}
