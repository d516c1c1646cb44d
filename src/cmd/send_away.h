/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_SEND_AWAY_H
#define KL_CMD_SEND_AWAY_H

#include "gate/gate.h"

/*
 * send_away - sends the jobs that wait in a session, for verbs that go on when the results are in.
 */

/**
 * Send all jobs that wait. Return 0 if results came back at once; the verb then judges again, and
 * finds verdicts. Return KL_ECANNOT if the user must take a file to a worker, or no result came
 * back. Hints say what to run there, and then here: the import, and `then`, the command that goes
 * on.
 */
int kl_send_away(struct kl_gate *gate, const char *then);
/** Return KL_ECANNOT with these hints for a bundle that waits (kl_wave.sent); 0 if it does not. */
int kl_send_away_wait(const struct kl_transfer *sent, const char *then);

#endif
