/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/confine/privileges.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Return true if Linux still reports a capability, or if its report cannot be read. This verifies
 * that the calls that drop capabilities worked.
 */
static bool has_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2] = { { 0 } };

	return syscall(SYS_capget, &header, caps) || caps[0].effective || caps[0].permitted ||
	       caps[1].effective || caps[1].permitted;
}

bool kl_privileges_drop(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };

	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		/* this fails without privilege, which does no harm */
		prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	return !syscall(SYS_capset, &header, none) && !has_capabilities();
}
