/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/driver.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"

/* Read the version of the driver's kernel module; users know the driver by this version. */
static void read_build(char out[64])
{
	FILE *file = fopen("/proc/driver/nvidia/version", "re");
	char line[512];

	out[0] = '\0';
	if (!file)
		return;
	/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue ..." */
	if (fgets(line, sizeof(line), file) && !strncmp(line, "NVRM", 4)) {
		for (const char *at = line; *at && !*out;
		     at += strcspn(at, " \t\n"), at += strspn(at, " \t\n")) {
			size_t n = strspn(at, "0123456789.");

			if (n > 3 && n < 64 && memchr(at, '.', n) && strchr(" \t\n", at[n]))
				snprintf(out, 64, "%.*s", (int)n, at);
		}
	}
	fclose(file);
}

static int load_symbols(struct kl_gpu_driver *cu)
{
#define LOOK_UP(name, symbol, params)                                                          \
	*(void **)&cu->name = dlsym(cu->lib, symbol);                                          \
	if (!cu->name)                                                                         \
		return kl_error(KL_ECANNOT,                                                    \
				"the CUDA driver (%d.%d) has no %s: at least %d.%d is needed", \
				cu->version / 1000, cu->version % 1000 / 10, symbol,           \
				KL_CU_MIN_DRIVER / 1000, KL_CU_MIN_DRIVER % 1000 / 10);
	KL_CU_CALLS(LOOK_UP)
#undef LOOK_UP
	return 0;
}

int kl_gpu_driver_open(struct kl_gpu_driver **out)
{
	KL_AUTO(kl_gpu_driver_freep) struct kl_gpu_driver *cu = kl_calloc(1, sizeof(*cu));
	int (*version)(int *), err;

	cu->lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!cu->lib)
		return kl_error(KL_ECANNOT, "no GPU here: cannot open the CUDA driver (%s)",
				dlerror());
	*(void **)&version = dlsym(cu->lib, "cuDriverGetVersion");
	if (!version || version(&cu->version))
		return kl_error(KL_ECANNOT, "cannot read the version of libcuda.so.1");
	read_build(cu->build);
	if (cu->version < KL_CU_MIN_DRIVER)
		return kl_error(KL_ECANNOT,
				"the CUDA driver is too old: %s%sit supports CUDA %d.%d, not %d.%d",
				cu->build, *cu->build ? ", " : "", cu->version / 1000,
				cu->version % 1000 / 10, KL_CU_MIN_DRIVER / 1000,
				KL_CU_MIN_DRIVER % 1000 / 10);
	if ((err = load_symbols(cu)) < 0)
		return err;
	*out = kl_steal(&cu);
	return 0;
}

/* Free the table, but leave the library open, since some versions of it fail after dlclose(). */
void kl_gpu_driver_free(struct kl_gpu_driver *cu)
{
	free(cu);
}

const char *kl_gpu_driver_name(const struct kl_gpu_driver *cu, int rc, char room[64])
{
	const char *name = NULL;

	if (cu->error_name(rc, &name) || !name)
		snprintf(room, 64, "CUDA error %d", rc);
	else
		snprintf(room, 64, "%s", name);
	return room;
}

int kl_gpu_error(const struct kl_gpu_driver *cu, int rc, int kind, const char *fmt, ...)
{
	const char *text = NULL;
	char what[400], name[64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	if (cu->error_string(rc, &text) || !text)
		text = "no description";
	return kl_error((enum kl_err)kind, "%s: %s (%s)", what, kl_gpu_driver_name(cu, rc, name),
			text);
}

static int read_attribute(const struct kl_gpu_driver *cu, int which, int dev)
{
	int value = 0;

	return cu->device_attribute(&value, which, dev) ? 0 : value;
}

static void uuid_text(char out[48], const struct kl_cu_uuid *uuid)
{
	size_t n = (size_t)snprintf(out, 48, "GPU-");

	for (int i = 0; i < 16; i++)
		n += (size_t)snprintf(out + n, 48 - n, "%s%02x",
				      i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
				      uuid->bytes[i]);
}

int kl_gpu_facts_read(struct kl_gpu_facts *facts, const struct kl_gpu_driver *cu, int ordinal)
{
	struct kl_cu_uuid uuid;
	size_t bytes = 0;
	int dev, rc;

	memset(facts, 0, sizeof(*facts));
	if ((rc = cu->device_get(&dev, ordinal)) ||
	    (rc = cu->device_name(facts->name, sizeof(facts->name), dev)) ||
	    (rc = cu->device_uuid(&uuid, dev)) || (rc = cu->device_mem(&bytes, dev)))
		return kl_gpu_error(cu, rc, KL_ECANNOT, "cannot read the facts of GPU %d", ordinal);
	facts->name[sizeof(facts->name) - 1] = '\0';
	uuid_text(facts->uuid, &uuid);
	snprintf(facts->pci, sizeof(facts->pci), "%04x:%02x:%02x.0",
		 (unsigned)read_attribute(cu, KL_CU_DEV_PCI_DOMAIN, dev) & 0xffff,
		 (unsigned)read_attribute(cu, KL_CU_DEV_PCI_BUS, dev) & 0xff,
		 (unsigned)read_attribute(cu, KL_CU_DEV_PCI_DEVICE, dev) & 0xff);
	facts->bytes = (int64_t)bytes;
	facts->cc = 10 * read_attribute(cu, KL_CU_DEV_CC_MAJOR, dev) +
		    read_attribute(cu, KL_CU_DEV_CC_MINOR, dev);
	facts->sms = read_attribute(cu, KL_CU_DEV_SMS, dev);
	facts->max_threads = read_attribute(cu, KL_CU_DEV_MAX_THREADS, dev);
	facts->smem_optin = read_attribute(cu, KL_CU_DEV_SMEM_OPTIN, dev);
	facts->smem_sm = read_attribute(cu, KL_CU_DEV_SMEM_SM, dev);
	facts->l2 = read_attribute(cu, KL_CU_DEV_L2, dev);
	facts->persisting_l2 = read_attribute(cu, KL_CU_DEV_PERSISTING_L2, dev);
	facts->vmm = read_attribute(cu, KL_CU_DEV_VMM, dev);
	facts->cooperative = read_attribute(cu, KL_CU_DEV_COOPERATIVE, dev);
	facts->cluster = read_attribute(cu, KL_CU_DEV_CLUSTER, dev);
	facts->tensor_map = read_attribute(cu, KL_CU_DEV_TENSOR_MAP, dev);
	return 0;
}

struct kl_plan_facts kl_gpu_facts_plan(const struct kl_gpu_facts *facts)
{
	return (struct kl_plan_facts){
		.sms = facts->sms,
		.smem_optin = facts->smem_optin,
		.cc = facts->cc,
		.l2 = facts->l2,
		.memory = facts->bytes,
	};
}
