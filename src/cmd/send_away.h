/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_SEND_AWAY_H
#define KL_CMD_SEND_AWAY_H

#include "gate/gate.h"

/*
 * send_away - sends the jobs that wait in a session, for verbs that go on when the results are in.
 */

/**
 * Send all jobs that wait. Return 0 if results came back at once; the verb must then judge again
 * and finds the verdicts. Return KL_ECANNOT if the user must take a file to a worker, or if no
 * result came back. Hints say what to run on the worker, and then here: the import, and `then`, the
 * command that continues.
 */
int kl_send_away(struct kl_gate *gate, const char *then);
/** If the bundle `sent` (kl_wave.sent) waits, return KL_ECANNOT with these hints; else return 0. */
int kl_send_away_wait(const struct kl_transfer *sent, const char *then);

#endif
