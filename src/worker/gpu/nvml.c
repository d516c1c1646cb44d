/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/nvml.h"

#include <dlfcn.h>
#include <string.h>

struct device;

/* nvmlProcessInfo_t of version 3 */
struct process {
	unsigned pid;
	unsigned long long bytes;
	unsigned gpu_instance, compute_instance;
};

enum { CLOCK_SM = 1, CLOCK_MEM = 2, TEMPERATURE_GPU = 0 };

struct kl_gpu_nvml {
	void *lib;
	struct device *device;
	int (*shutdown)(void);
	int (*clock)(struct device *, int, unsigned *);
	int (*max_clock)(struct device *, int, unsigned *);
	int (*temperature)(struct device *, int, unsigned *);
	int (*power)(struct device *, unsigned *);
	int (*reasons)(struct device *, unsigned long long *);
	int (*processes)(struct device *, unsigned *, struct process *);
};

static void *find_symbol(struct kl_gpu_nvml *n, const char *name, const char *older)
{
	void *p = dlsym(n->lib, name);

	return p || !older ? p : dlsym(n->lib, older);
}

struct kl_gpu_nvml *kl_gpu_nvml_open(const char *uuid)
{
	KL_AUTO(kl_gpu_nvml_freep) struct kl_gpu_nvml *n = kl_calloc(1, sizeof(*n));
	int (*init)(void), (*by_uuid)(const char *, struct device **);

	n->lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!n->lib)
		return NULL;
	*(void **)&init = find_symbol(n, "nvmlInit_v2", NULL);
	*(void **)&by_uuid = find_symbol(n, "nvmlDeviceGetHandleByUUID", NULL);
	if (!init || !by_uuid || init())
		return NULL;
	*(void **)&n->shutdown = find_symbol(n, "nvmlShutdown", NULL);
	if (by_uuid(uuid, &n->device))
		return NULL;
	*(void **)&n->clock = find_symbol(n, "nvmlDeviceGetClockInfo", NULL);
	*(void **)&n->max_clock = find_symbol(n, "nvmlDeviceGetMaxClockInfo", NULL);
	*(void **)&n->temperature = find_symbol(n, "nvmlDeviceGetTemperature", NULL);
	*(void **)&n->power = find_symbol(n, "nvmlDeviceGetPowerUsage", NULL);
	*(void **)&n->reasons = find_symbol(n, "nvmlDeviceGetCurrentClocksEventReasons",
					    "nvmlDeviceGetCurrentClocksThrottleReasons");
	*(void **)&n->processes = find_symbol(n, "nvmlDeviceGetComputeRunningProcesses_v3", NULL);
	return kl_steal(&n);
}

void kl_gpu_nvml_free(struct kl_gpu_nvml *n)
{
	if (!n)
		return;
	if (n->shutdown)
		n->shutdown();
	if (n->lib)
		dlclose(n->lib);
	free(n);
}

static int ask_device(int (*call)(struct device *, int, unsigned *), struct device *d, int which)
{
	unsigned v;

	return call && !call(d, which, &v) ? (int)v : -1;
}

void kl_gpu_nvml_state(struct kl_gpu_state *out, struct kl_gpu_nvml *n)
{
	unsigned long long reasons;
	unsigned mw;

	out->sm_mhz = ask_device(n->clock, n->device, CLOCK_SM);
	out->mem_mhz = ask_device(n->clock, n->device, CLOCK_MEM);
	out->max_sm_mhz = ask_device(n->max_clock, n->device, CLOCK_SM);
	out->celsius = ask_device(n->temperature, n->device, TEMPERATURE_GPU);
	out->milliwatt = n->power && !n->power(n->device, &mw) ? (int)mw : -1;
	out->reasons = n->reasons && !n->reasons(n->device, &reasons) ? (int64_t)reasons : -1;
}

int kl_gpu_nvml_processes(struct kl_gpu_nvml *n, unsigned *pid, int max)
{
	enum { MOST = 256 };
	struct process *all = kl_calloc(MOST, sizeof(*all));
	unsigned have = MOST;
	int rc = n->processes ? n->processes(n->device, &have, all) : -1;

	for (unsigned i = 0; !rc && i < have && (int)i < max; i++)
		pid[i] = all[i].pid;
	free(all);
	return rc ? -1 : (int)have;
}
