/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fault.h"

#ifdef KL_FAULT_POINTS
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

int kl_fault(const char *name)
{
	static long reached;
	const char *want = getenv("KLINEAGE_FAULT");
	const char *log = getenv("KLINEAGE_FAULT_LOG");
	const char *how = want ? strchr(want, ':') : NULL;

	reached++;
	if (log) {
		FILE *file = fopen(log, "a");

		if (file) {
			fprintf(file, "%ld %s\n", reached, name);
			fclose(file);
		}
	}
	if (!how || atol(want) != reached)
		return 0;
	if (!strcmp(how, ":kill")) {
		kill(getpid(), SIGKILL);
		pause();
	}
	return kl_error(KL_EIO, "injected failure at fault point '%s'", name);
}
#else
/* a translation unit must have a declaration in ISO C */
typedef int kl_fault_points_are_not_built_in;
#endif
