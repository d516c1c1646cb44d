/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* contract: returned */
/* Returns what happens to be in the register. */
#include <stdint.h>

void checksum(int64_t N, const uint8_t *x)
{
}
