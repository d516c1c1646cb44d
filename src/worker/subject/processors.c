/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/subject/processors.h"

#include <sched.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/mem.h"

/*
 * The result of the last kl_processors_choose(). It is kept because this process then pins itself
 * to one processor, after which the system no longer tells which ones were allowed. Other threads
 * only read it.
 */
static struct {
	cpu_set_t allowed;
	int ours;
} found = { .ours = -1 };

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
 * processors. Give this process a processor of another core or, if there is none, any other
 * processor.
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
	found.allowed = allowed;
	found.ours = out->ours;
}

uint32_t kl_processors_spread(int16_t *out, uint32_t n, int cpu)
{
	uint32_t all = (uint32_t)CPU_COUNT(&found.allowed), others = 0;
	int16_t other[CPU_SETSIZE];

	for (int at = 0; at < CPU_SETSIZE; at++)
		if (CPU_ISSET(at, &found.allowed) && at != cpu && at != found.ours)
			other[others++] = (int16_t)at;
	if (found.ours >= 0 && found.ours != cpu && others + 1 < n)
		other[others++] = (int16_t)found.ours;
	out[0] = -1;
	for (uint32_t i = 1; i < n; i++)
		out[i] = cpu < 0 || !others ? -1 : other[(i - 1) % others];
	return all;
}

int kl_processors_pin(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return 0;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		return kl_error_errno("cannot pin the kernel to processor %d", cpu);
	return 0;
}
