/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_runtime - all that the gate itself adds to a kernel, as one source */
#include "runtime.c"

#include "system.c"
