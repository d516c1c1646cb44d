/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_CONFINE_PRIVILEGES_H
#define KL_WORKER_CONFINE_PRIVILEGES_H

#include <stdbool.h>

/*
 * privileges - drops the capabilities of a process: root then has no more rights than any owner of
 * its files.
 */

/** Drop all capabilities, for good. True if Linux confirms that there are none. */
bool kl_privileges_drop(void);

#endif
