/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/nvml.h"

#include <dlfcn.h>
#include <string.h>

struct device;

/* nvmlProcessInfo_t, version 3 */
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

static void *find_symbol(struct kl_gpu_nvml *nvml, const char *name, const char *older)
{
	void *symbol = dlsym(nvml->lib, name);

	return symbol || !older ? symbol : dlsym(nvml->lib, older);
}

struct kl_gpu_nvml *kl_gpu_nvml_open(const char *uuid)
{
	KL_AUTO(kl_gpu_nvml_freep) struct kl_gpu_nvml *nvml = kl_calloc(1, sizeof(*nvml));
	int (*init)(void), (*by_uuid)(const char *, struct device **);

	nvml->lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!nvml->lib)
		return NULL;
	*(void **)&init = find_symbol(nvml, "nvmlInit_v2", NULL);
	*(void **)&by_uuid = find_symbol(nvml, "nvmlDeviceGetHandleByUUID", NULL);
	if (!init || !by_uuid || init())
		return NULL;
	*(void **)&nvml->shutdown = find_symbol(nvml, "nvmlShutdown", NULL);
	if (by_uuid(uuid, &nvml->device))
		return NULL;
	*(void **)&nvml->clock = find_symbol(nvml, "nvmlDeviceGetClockInfo", NULL);
	*(void **)&nvml->max_clock = find_symbol(nvml, "nvmlDeviceGetMaxClockInfo", NULL);
	*(void **)&nvml->temperature = find_symbol(nvml, "nvmlDeviceGetTemperature", NULL);
	*(void **)&nvml->power = find_symbol(nvml, "nvmlDeviceGetPowerUsage", NULL);
	*(void **)&nvml->reasons = find_symbol(nvml, "nvmlDeviceGetCurrentClocksEventReasons",
					       "nvmlDeviceGetCurrentClocksThrottleReasons");
	*(void **)&nvml->processes = find_symbol(nvml, "nvmlDeviceGetComputeRunningProcesses_v3",
						 NULL);
	return kl_steal(&nvml);
}

void kl_gpu_nvml_free(struct kl_gpu_nvml *nvml)
{
	if (!nvml)
		return;
	if (nvml->shutdown)
		nvml->shutdown();
	if (nvml->lib)
		dlclose(nvml->lib);
	free(nvml);
}

static int ask_device(int (*call)(struct device *, int, unsigned *), struct device *device,
		      int which)
{
	unsigned value;

	return call && !call(device, which, &value) ? (int)value : -1;
}

void kl_gpu_nvml_state(struct kl_gpu_state *out, struct kl_gpu_nvml *nvml)
{
	unsigned long long reasons;
	unsigned mw;

	out->sm_mhz = ask_device(nvml->clock, nvml->device, CLOCK_SM);
	out->mem_mhz = ask_device(nvml->clock, nvml->device, CLOCK_MEM);
	out->max_sm_mhz = ask_device(nvml->max_clock, nvml->device, CLOCK_SM);
	out->celsius = ask_device(nvml->temperature, nvml->device, TEMPERATURE_GPU);
	out->milliwatt = nvml->power && !nvml->power(nvml->device, &mw) ? (int)mw : -1;
	out->reasons = nvml->reasons && !nvml->reasons(nvml->device, &reasons) ? (int64_t)reasons :
										 -1;
}

int kl_gpu_nvml_processes(struct kl_gpu_nvml *nvml, unsigned *pid, int max)
{
	enum { MOST = 256 };
	struct process *all = kl_calloc(MOST, sizeof(*all));
	unsigned have = MOST;
	int rc = nvml->processes ? nvml->processes(nvml->device, &have, all) : -1;

	for (unsigned i = 0; !rc && i < have && (int)i < max; i++)
		pid[i] = all[i].pid;
	free(all);
	return rc ? -1 : (int)have;
}
