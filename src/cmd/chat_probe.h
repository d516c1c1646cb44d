/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_CHAT_PROBE_H
#define KL_CMD_CHAT_PROBE_H

#include "repo/repo.h"

/*
 * chat_probe - git klineage chat probe: sends one small request to the configured model
 * (model/probe.h) and prints what works and what it cost. KL_ENO: the reply cannot be used, or its
 * tokens were not counted.
 */
int kl_chat_probe_say(struct kl_repo *repo, bool json);

#endif
