/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_CONFINE_PRIVILEGES_H
#define KL_WORKER_CONFINE_PRIVILEGES_H

#include <stdbool.h>

/*
 * privileges - drops the capabilities of a process.
 *
 * File modes then restrict a process that runs as root like a process of any other user.
 */

/** Drop all capabilities permanently. Return true if Linux confirms that none is left. */
bool kl_privileges_drop(void);

#endif
