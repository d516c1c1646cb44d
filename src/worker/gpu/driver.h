/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_DRIVER_H
#define KL_WORKER_GPU_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "plan/plan.h"

/*
 * driver - loads the CUDA driver's functions from libcuda.so.1 on demand.
 *
 * The build does not need CUDA, nor does a machine without a GPU: the types and values are declared
 * in this file, and the dynamic loader finds libcuda.so.1 at run time. These declarations are the
 * driver's binary interface and stay valid, because an incompatible version of a function gets a
 * new name. A test compares them with cuda.h if that is installed.
 *
 *	kl_gpu_driver_open(&cu);		KL_ECANNOT: no driver, or too old
 *	if ((rc = cu->init(0)))
 *		return kl_gpu_error(cu, rc, KL_ECANNOT, "cannot start CUDA");
 *
 * The table is a plain struct of function pointers. To simulate a GPU, put another libcuda.so.1
 * into the loader's path.
 */
#define KL_CU_MIN_DRIVER 12040 /* cuFuncGetParamInfo needs 12.4 */

/* Handles: opaque pointers of the driver. */
struct kl_cu_context;
struct kl_cu_stream;
struct kl_cu_event;
struct kl_cu_module;
struct kl_cu_function;
struct kl_cu_graph;
struct kl_cu_graph_exec;

/* Values of CUresult that this code distinguishes. */
enum kl_cu_result {
	KL_CU_OK = 0,
	KL_CU_INVALID_VALUE = 1,
	KL_CU_OUT_OF_MEMORY = 2,
	KL_CU_DEVICE_UNAVAILABLE = 46,
	KL_CU_NO_DEVICE = 100,
	KL_CU_INVALID_DEVICE = 101,
	KL_CU_INVALID_IMAGE = 200,
	KL_CU_NO_BINARY = 209,
	KL_CU_ECC = 214,
	KL_CU_INVALID_PTX = 218,
	KL_CU_NVLINK = 220,
	KL_CU_NO_JIT = 221,
	KL_CU_CONTAINED = 226,
	KL_CU_INVALID_SOURCE = 300,
	KL_CU_INVALID_HANDLE = 400,
	KL_CU_NOT_FOUND = 500,
	KL_CU_NOT_READY = 600,
	KL_CU_ILLEGAL_ADDRESS = 700,
	KL_CU_LAUNCH_RESOURCES = 701,
	KL_CU_LAUNCH_TIMEOUT = 702,
	KL_CU_ASSERT = 710,
	KL_CU_STACK_ERROR = 714,
	KL_CU_ILLEGAL_INSTRUCTION = 715,
	KL_CU_MISALIGNED = 716,
	KL_CU_ADDRESS_SPACE = 717,
	KL_CU_INVALID_PC = 718,
	KL_CU_LAUNCH_FAILED = 719,
	KL_CU_COOPERATIVE_TOO_LARGE = 720,
	KL_CU_NOT_PERMITTED = 800,
	KL_CU_NOT_SUPPORTED = 801,
	KL_CU_SYSTEM_NOT_READY = 802,
	KL_CU_DRIVER_MISMATCH = 803,
	KL_CU_INVALID_CLUSTER = 912,
};

enum kl_cu_device_attribute {
	KL_CU_DEV_MAX_THREADS = 1,
	KL_CU_DEV_SMS = 16,
	KL_CU_DEV_PCI_BUS = 33,
	KL_CU_DEV_PCI_DEVICE = 34,
	KL_CU_DEV_L2 = 38,
	KL_CU_DEV_PCI_DOMAIN = 50,
	KL_CU_DEV_CC_MAJOR = 75,
	KL_CU_DEV_CC_MINOR = 76,
	KL_CU_DEV_SMEM_SM = 81,
	KL_CU_DEV_COOPERATIVE = 95,
	KL_CU_DEV_SMEM_OPTIN = 97,
	KL_CU_DEV_VMM = 102,
	KL_CU_DEV_PERSISTING_L2 = 108,
	KL_CU_DEV_CLUSTER = 120,
	KL_CU_DEV_TENSOR_MAP = 127,
};

enum kl_cu_func_attribute {
	KL_CU_FUNC_MAX_THREADS = 0,
	KL_CU_FUNC_STATIC_SMEM = 1,
	KL_CU_FUNC_CONST = 2,
	KL_CU_FUNC_LOCAL = 3,
	KL_CU_FUNC_REGS = 4,
	KL_CU_FUNC_MAX_DYNAMIC_SMEM = 8,
	KL_CU_FUNC_NONPORTABLE_CLUSTER = 14,
};

enum kl_cu_limit {
	KL_CU_LIMIT_PRINTF = 1,
	KL_CU_LIMIT_MALLOC = 2,
	KL_CU_LIMIT_PERSISTING_L2 = 6,
};

enum kl_cu_launch_attribute_id {
	KL_CU_LAUNCH_COOPERATIVE = 2,
	KL_CU_LAUNCH_CLUSTER = 4,
	KL_CU_LAUNCH_PDL = 6,
};

enum kl_cu_access { KL_CU_ACCESS_NONE = 0, KL_CU_ACCESS_READ = 1, KL_CU_ACCESS_READWRITE = 3 };

#define KL_CU_DEFAULT_STREAM NULL /* waits for all streams except non-blocking ones */
#define KL_CU_STREAM_NON_BLOCKING 1u
#define KL_CU_EVENT_BLOCKING 1u
#define KL_CU_EVENT_NO_TIMING 2u
#define KL_CU_CTX_SPIN 1u
#define KL_CU_LOCATION_DEVICE 1
#define KL_CU_ALLOCATION_PINNED 1

struct kl_cu_uuid {
	unsigned char bytes[16];
};

struct kl_cu_location {
	int type, id;
};

struct kl_cu_mem_prop {
	int type;
	int handle_types;
	struct kl_cu_location location;
	void *win32;
	unsigned char flags[8];
};

struct kl_cu_access_desc {
	struct kl_cu_location location;
	int flags;
};

struct kl_cu_launch_attribute {
	int id;
	char pad[4];
	union {
		char pad[64];
		int cooperative;
		struct {
			unsigned x, y, z;
		} cluster;
		int pdl;
		uint64_t align;
	} value;
};

struct kl_cu_launch_config {
	unsigned grid[3], block[3];
	unsigned smem;
	struct kl_cu_stream *stream;
	struct kl_cu_launch_attribute *attr;
	unsigned nattr;
};

struct kl_cu_tensor_map {
	_Alignas(64) uint64_t word[16];
};

/* X(member of the table, symbol, parameters); all return a CUresult. */
/* clang-format off */
#define KL_CU_CALLS(X)									\
	X(init, "cuInit", (unsigned flags))						\
	X(driver_version, "cuDriverGetVersion", (int *version))				\
	X(error_name, "cuGetErrorName", (int rc, const char **out))			\
	X(error_string, "cuGetErrorString", (int rc, const char **out))			\
	X(device_count, "cuDeviceGetCount", (int *n))					\
	X(device_get, "cuDeviceGet", (int *dev, int ordinal))				\
	X(device_name, "cuDeviceGetName", (char *name, int len, int dev))		\
	X(device_uuid, "cuDeviceGetUuid_v2", (struct kl_cu_uuid *u, int dev))		\
	X(device_mem, "cuDeviceTotalMem_v2", (size_t *bytes, int dev))			\
	X(device_attribute, "cuDeviceGetAttribute", (int *v, int attribute, int dev))	\
	X(ctx_flags, "cuDevicePrimaryCtxSetFlags_v2", (int dev, unsigned flags))	\
	X(ctx_retain, "cuDevicePrimaryCtxRetain", (struct kl_cu_context **c, int dev))	\
	X(ctx_release, "cuDevicePrimaryCtxRelease_v2", (int dev))			\
	X(ctx_set, "cuCtxSetCurrent", (struct kl_cu_context *c))			\
	X(ctx_sync, "cuCtxSynchronize", (void))						\
	X(ctx_limit, "cuCtxSetLimit", (int limit, size_t value))			\
	X(ctx_reset_l2, "cuCtxResetPersistingL2Cache", (void))				\
	X(module_load, "cuModuleLoadData", (struct kl_cu_module **m, const void *image)) \
	X(module_unload, "cuModuleUnload", (struct kl_cu_module *m))			\
	X(module_function, "cuModuleGetFunction",					\
	  (struct kl_cu_function **f, struct kl_cu_module *m, const char *name))	\
	X(func_get, "cuFuncGetAttribute", (int *v, int attribute, struct kl_cu_function *f)) \
	X(func_set, "cuFuncSetAttribute", (struct kl_cu_function *f, int attribute, int v)) \
	X(func_param, "cuFuncGetParamInfo",						\
	  (struct kl_cu_function *f, size_t i, size_t *offset, size_t *size))		\
	X(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor",			\
	  (int *n, struct kl_cu_function *f, int block, size_t smem))			\
	X(clusters, "cuOccupancyMaxActiveClusters",					\
	  (int *n, struct kl_cu_function *f, const struct kl_cu_launch_config *c))	\
	X(launch, "cuLaunchKernelEx",							\
	  (const struct kl_cu_launch_config *c, struct kl_cu_function *f, void **args, void **extra)) \
	X(mem_info, "cuMemGetInfo_v2", (size_t *unused, size_t *total))			\
	X(mem_granularity, "cuMemGetAllocationGranularity",				\
	  (size_t *bytes, const struct kl_cu_mem_prop *p, int option))			\
	X(mem_reserve, "cuMemAddressReserve",						\
	  (uint64_t *at, size_t bytes, size_t align, uint64_t hint, unsigned long long flags)) \
	X(mem_unreserve, "cuMemAddressFree", (uint64_t at, size_t bytes))		\
	X(mem_create, "cuMemCreate",							\
	  (unsigned long long *h, size_t bytes, const struct kl_cu_mem_prop *p, unsigned long long flags)) \
	X(mem_release, "cuMemRelease", (unsigned long long h))				\
	X(mem_map, "cuMemMap",								\
	  (uint64_t at, size_t bytes, size_t offset, unsigned long long h, unsigned long long flags)) \
	X(mem_unmap, "cuMemUnmap", (uint64_t at, size_t bytes))				\
	X(mem_access, "cuMemSetAccess",							\
	  (uint64_t at, size_t bytes, const struct kl_cu_access_desc *d, size_t n))	\
	X(host_register, "cuMemHostRegister_v2",					\
	  (void *p, size_t bytes, unsigned flags))					\
	X(host_unregister, "cuMemHostUnregister", (void *p))				\
	X(host_alloc, "cuMemHostAlloc", (void **p, size_t bytes, unsigned flags))	\
	X(host_free, "cuMemFreeHost", (void *p))					\
	X(to_device, "cuMemcpyHtoDAsync_v2",						\
	  (uint64_t to, const void *from, size_t n, struct kl_cu_stream *s))		\
	X(to_host, "cuMemcpyDtoHAsync_v2",						\
	  (void *to, uint64_t from, size_t n, struct kl_cu_stream *s))			\
	X(copy, "cuMemcpyDtoDAsync_v2",							\
	  (uint64_t to, uint64_t from, size_t n, struct kl_cu_stream *s))		\
	X(set8, "cuMemsetD8Async",							\
	  (uint64_t to, unsigned char v, size_t n, struct kl_cu_stream *s))		\
	X(set32, "cuMemsetD32Async",							\
	  (uint64_t to, unsigned v, size_t n, struct kl_cu_stream *s))			\
	X(stream_create, "cuStreamCreate", (struct kl_cu_stream **s, unsigned flags))	\
	X(stream_destroy, "cuStreamDestroy_v2", (struct kl_cu_stream *s))		\
	X(stream_sync, "cuStreamSynchronize", (struct kl_cu_stream *s))			\
	X(stream_query, "cuStreamQuery", (struct kl_cu_stream *s))			\
	X(stream_wait, "cuStreamWaitEvent",						\
	  (struct kl_cu_stream *s, struct kl_cu_event *e, unsigned flags))		\
	X(event_create, "cuEventCreate", (struct kl_cu_event **e, unsigned flags))	\
	X(event_destroy, "cuEventDestroy_v2", (struct kl_cu_event *e))			\
	X(event_record, "cuEventRecord", (struct kl_cu_event *e, struct kl_cu_stream *s)) \
	X(event_query, "cuEventQuery", (struct kl_cu_event *e))				\
	X(event_sync, "cuEventSynchronize", (struct kl_cu_event *e))			\
	X(event_ms, "cuEventElapsedTime",						\
	  (float *ms, struct kl_cu_event *from, struct kl_cu_event *to))		\
	X(map_tiled, "cuTensorMapEncodeTiled",						\
	  (struct kl_cu_tensor_map *m, int type, uint32_t rank, void *at, const uint64_t *dim, \
	   const uint64_t *stride, const uint32_t *box, const uint32_t *elem, int interleave, \
	   int swizzle, int l2, int oob))						\
	X(map_im2col, "cuTensorMapEncodeIm2col",					\
	  (struct kl_cu_tensor_map *m, int type, uint32_t rank, void *at, const uint64_t *dim, \
	   const uint64_t *stride, const int *lower, const int *upper, uint32_t channels, \
	   uint32_t pixels, const uint32_t *elem, int interleave, int swizzle, int l2, int oob)) \
	X(capture_begin, "cuStreamBeginCapture_v2", (struct kl_cu_stream *s, int mode))	\
	X(capture_end, "cuStreamEndCapture",						\
	  (struct kl_cu_stream *s, struct kl_cu_graph **g))				\
	X(graph_instantiate, "cuGraphInstantiateWithFlags",				\
	  (struct kl_cu_graph_exec **x, struct kl_cu_graph *g, unsigned long long flags)) \
	X(graph_launch, "cuGraphLaunch",						\
	  (struct kl_cu_graph_exec *x, struct kl_cu_stream *s))				\
	X(graph_free, "cuGraphDestroy", (struct kl_cu_graph *g))			\
	X(graph_exec_free, "cuGraphExecDestroy", (struct kl_cu_graph_exec *x))
/* clang-format on */

struct kl_gpu_driver {
#define KL_CU_MEMBER(name, symbol, params) int(*name) params;
	KL_CU_CALLS(KL_CU_MEMBER)
#undef KL_CU_MEMBER
	void *lib;
	int version;    /* highest CUDA version that the driver supports: 13000 is 13.0 */
	char build[64]; /* version of the driver itself: "580.159.04"; empty if unknown */
};

/**
 * Load libcuda.so.1 and look up its functions. Return KL_ECANNOT if there is no libcuda.so.1, it is
 * older than KL_CU_MIN_DRIVER, or it lacks a function.
 */
int kl_gpu_driver_open(struct kl_gpu_driver **out);
void kl_gpu_driver_free(struct kl_gpu_driver *cu);
KL_DEFINE_CLEANUP(struct kl_gpu_driver *, kl_gpu_driver_free)

/**
 * Write the name of CUDA result `rc` to `room` and return `room`: "CUDA_ERROR_ILLEGAL_ADDRESS", or
 * "CUDA error 12345" if the driver does not know the result.
 */
const char *kl_gpu_driver_name(const struct kl_gpu_driver *cu, int rc, char room[64]);
/** Set and return error `kind`: "<formatted text>: <name of rc> (<the driver's description>)". */
int kl_gpu_error(const struct kl_gpu_driver *cu, int rc, int kind, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* -- facts of a device ----------------------------------------------------- */

#define KL_GPU_MAX_DEVICES 16

struct kl_gpu_facts {
	char name[96];        /* "NVIDIA H100 80GB HBM3" */
	char uuid[48];        /* "GPU-01234567-89ab-…" */
	char pci[24];         /* "0000:1b:00.0" */
	int cc;               /* compute capability: 90 for 9.0 */
	int sms, max_threads; /* multiprocessors; threads that a block can have */
	/*
	 * in bytes: shared memory of a block and of a multiprocessor; L2 cache and the part of it
	 * for persisting lines; device memory
	 */
	int64_t smem_optin, smem_sm, l2, persisting_l2, bytes;
	int vmm, cooperative, cluster, tensor_map; /* nonzero if the device supports it */
};

/** Read a device's facts; needs cu->init(), but no context. */
int kl_gpu_facts_read(struct kl_gpu_facts *facts, const struct kl_gpu_driver *cu, int ordinal);
/** Return the facts that a launch plan can use. */
struct kl_plan_facts kl_gpu_facts_plan(const struct kl_gpu_facts *facts);

#endif
