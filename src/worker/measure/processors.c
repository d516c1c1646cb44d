/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/measure/processors.h"

#include <sched.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"

/* Return true unless both processors are known to share a core. */
static bool other_core(int first, int second)
{
	KL_AUTO(kl_freep)
	char *first_path = kl_asprintf("/sys/devices/system/cpu/cpu%d/topology/thread_siblings",
				       first);
	KL_AUTO(kl_freep)
	char *second_path = kl_asprintf("/sys/devices/system/cpu/cpu%d/topology/thread_siblings",
					second);
	KL_AUTO(kl_buf_release) struct kl_buf first_siblings = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf second_siblings = KL_BUF_INIT;

	if (first == second)
		return false;
	return kl_fs_read(&first_siblings, first_path, 4096) < 0 ||
	       kl_fs_read(&second_siblings, second_path, 4096) < 0 ||
	       strcmp(first_siblings.ptr, second_siblings.ptr);
}

/*
 * Give kernels the last allowed processor, since the system's own work tends to run on the first
 * processors. Give this process a processor of another core, or else any other processor.
 */
void kl_processors_choose(struct kl_processors *out)
{
	cpu_set_t allowed;

	*out = (struct kl_processors){ .theirs = -1, .ours = -1, .one_core = true };
	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			out->theirs = cpu;
	for (int cpu = 0; cpu < CPU_SETSIZE && out->one_core; cpu++) {
		if (!CPU_ISSET(cpu, &allowed) || cpu == out->theirs)
			continue;
		out->one_core = !other_core(cpu, out->theirs);
		if (out->ours < 0 || !out->one_core)
			out->ours = cpu;
	}
}
