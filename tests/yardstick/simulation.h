/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_YARDSTICK_SIMULATION_H
#define KL_YARDSTICK_SIMULATION_H

#include <stdbool.h>

/*
 * simulation - how often `noise` refuses a kernel whose roundings are as large as the oracle's, if
 * an error is the mean of a few independent roundings: each input is simulated with its spare draws.
 */

/**
 * Simulate `draws` inputs for 1, 2, 4 and 8 roundings, and print how many are refused. Returns false
 * if it is more than docs/formats.md promises.
 */
bool kl_simulation_print(long draws);

#endif
