/* SPDX-License-Identifier: Apache-2.0 */
/* clock_form - checks the form of the times that clock.c writes */
#include <stddef.h>

#include "base/clock.h"

bool kl_clock_is_iso(const char *text)
{
	static const char form[] = "dddd-dd-ddTdd:dd:ddZ";

	for (size_t i = 0; i < sizeof(form); i++)
		if (form[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
			return false;
	return true;
}
