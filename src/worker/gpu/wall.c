/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/wall.h"

#include <dirent.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "worker/confine/landlock.h"
#include "worker/confine/privileges.h"

#define READ KL_LANDLOCK_READ
#define WRITE KL_LANDLOCK_WRITE

static void allow_system(struct kl_landlock *rules)
{
	static const char *const readable[] = {
		"/usr",
		"/lib",
		"/lib64",
		"/opt",
		"/sys",
		"/etc/ld.so.cache",
		"/etc/ld.so.conf",
		"/etc/ld.so.conf.d",
		"/etc/nvidia",
		"/run/nvidia-persistenced",
		"/proc/driver",
		"/proc/devices",
		"/proc/cpuinfo",
		"/proc/meminfo",
		"/proc/modules",
		"/proc/version",
		"/proc/stat",
		"/proc/sys",
		"/proc/filesystems",
		"/proc/mounts",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(readable); i++)
		kl_landlock_allow(rules, readable[i], READ);
	kl_landlock_allow_variable(rules, "LD_LIBRARY_PATH", READ);
	kl_landlock_allow_variable(rules, "KLINEAGE_CUDA_LIBRARIES", READ);
}

static void allow_devices(struct kl_landlock *rules)
{
	static const char *const plain[] = {
		"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom",
	};
	DIR *dev = opendir("/dev");
	struct dirent *entry;

	kl_landlock_allow(rules, "/dev", KL_LANDLOCK_LIST);
	for (size_t i = 0; i < KL_ARRAY_SIZE(plain); i++)
		kl_landlock_allow(rules, plain[i], READ | WRITE);
	while (dev && (entry = readdir(dev))) {
		KL_AUTO(kl_freep) char *path = kl_asprintf("/dev/%s", entry->d_name);

		if (!strncmp(entry->d_name, "nvidia", 6))
			kl_landlock_allow(rules, path, READ | WRITE);
	}
	if (dev)
		closedir(dev);
}

int kl_gpu_wall(unsigned *closed)
{
	KL_AUTO(kl_landlock_release) struct kl_landlock rules = KL_LANDLOCK_INIT;
	int err = kl_landlock_open(&rules, false);

	if (!err) {
		allow_system(&rules);
		allow_devices(&rules);
		/* the driver fails if it cannot write the names of its threads in /proc/self */
		kl_landlock_allow(&rules, "/proc/self", READ | WRITE | KL_LANDLOCK_CUT);
		if (kl_privileges_drop())
			*closed |= KL_GPU_CLOSED_CAPABILITIES;
		err = kl_landlock_enter(&rules);
	}
	if (!err)
		*closed |= KL_GPU_CLOSED_FILES;
	return err < 0 ? kl_error_in(KL_ECANNOT,
				     "cannot restrict the file access of the host code's process") :
			 0;
}
