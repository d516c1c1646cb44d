/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/tool.h"

#include <string.h>

#include "base/error.h"
#include "worker/gpu/memory.h"

#define GOLDEN 0x9e3779b97f4a7c15u
#define RESULT_BYTES 64
#define THREADS 256
#define MAX_PRINTF ((size_t)1 << 20)

static uint64_t finish_hash(uint64_t hash)
{
	hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
	hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
	return hash ^ (hash >> 31);
}

uint64_t kl_gpu_mix(uint64_t seed, uint64_t i)
{
	return finish_hash(seed + (i + 1) * GOLDEN);
}

void kl_gpu_pattern(void *out, const struct kl_gpu_pattern *pattern, uint64_t from, size_t n)
{
	unsigned char *to = out;

	while (n) {
		uint64_t value = (kl_gpu_mix(pattern->seed, from / 8) & pattern->keep) |
				 pattern->set;
		size_t skip = from % 8, part = 8 - skip < n ? 8 - skip : n;

		memcpy(to, (const char *)&value + skip, part);
		to += part;
		from += part;
		n -= part;
	}
}

/* -- the device ------------------------------------------------------------- */

static int find_tools(struct kl_gpu_device *device)
{
	const struct {
		const char *name;
		struct kl_cu_function **f;
	} tools[] = {
		{ "kl_fill", &device->fill },
		{ "kl_check", &device->check },
		{ "kl_print", &device->print },
		{ "kl_scrub_shared", &device->scrub_shared },
		{ "kl_scrub_local", &device->scrub_local },
		{ "kl_widen", &device->widen },
	};
	int rc = device->cu->module_load(&device->tools, kl_gpu_ptx);

	if (rc)
		return kl_gpu_error(device->cu, rc, KL_ECANNOT,
				    "the driver cannot compile the gate's own kernels");
	for (size_t i = 0; i < KL_ARRAY_SIZE(tools); i++)
		if ((rc = device->cu->module_function(tools[i].f, device->tools, tools[i].name)))
			return kl_gpu_error(device->cu, rc, KL_ECANNOT,
					    "the gate's own kernels lack %s", tools[i].name);
	rc = device->cu->func_set(device->scrub_shared, KL_CU_FUNC_MAX_DYNAMIC_SMEM,
				  (int)device->facts.smem_optin);
	return rc ? kl_gpu_error(device->cu, rc, KL_ECANNOT,
				 "cannot use all shared memory in one of the gate's own kernels") :
		    0;
}

static struct kl_cu_mem_prop memory_place(const struct kl_gpu_device *device)
{
	return (struct kl_cu_mem_prop){
		.type = KL_CU_ALLOCATION_PINNED,
		.location = { .type = KL_CU_LOCATION_DEVICE, .id = device->dev },
	};
}

static int open_context(struct kl_gpu_device *device)
{
	struct kl_cu_mem_prop prop = memory_place(device);
	size_t granule = 0;
	int rc;

	/* this fails, harmlessly, if a library in this process has created the context already */
	device->cu->ctx_flags(device->dev, KL_CU_CTX_SPIN);
	if ((rc = device->cu->ctx_retain(&device->context, device->dev)) ||
	    (rc = device->cu->ctx_set(device->context)))
		return kl_gpu_error(device->cu, rc, KL_ECANNOT, "%s (%s) cannot be used",
				    device->facts.name, device->facts.uuid);
	device->cu->ctx_limit(KL_CU_LIMIT_PRINTF, MAX_PRINTF);
	if ((rc = device->cu->mem_granularity(&granule, &prop, 0)) ||
	    (rc = device->cu->stream_create(&device->stream, KL_CU_STREAM_NON_BLOCKING)))
		return kl_gpu_error(device->cu, rc, KL_ECANNOT, "%s cannot be used",
				    device->facts.name);
	device->granule = granule ? granule : (uint64_t)2 << 20;
	return 0;
}

int kl_gpu_device_open(struct kl_gpu_device **out, struct kl_gpu_driver *cu, int ordinal)
{
	KL_AUTO(kl_gpu_device_freep) struct kl_gpu_device *device = kl_calloc(1, sizeof(*device));
	struct kl_gpu_buffer result = { 0 };
	int rc, err;

	device->cu = cu;
	device->ordinal = ordinal;
	if ((err = kl_gpu_facts_read(&device->facts, cu, ordinal)) < 0)
		return err;
	if (!device->facts.vmm)
		return kl_error(
			KL_ECANNOT,
			"%s has no virtual memory management, which guards around buffers need",
			device->facts.name);
	if ((rc = cu->device_get(&device->dev, ordinal)))
		return kl_gpu_error(cu, rc, KL_ECANNOT, "cannot get GPU %d", ordinal);
	if ((err = open_context(device)) < 0 || (err = find_tools(device)) < 0 ||
	    (err = kl_gpu_buffer_make(&result, device, RESULT_BYTES, 256, false)) < 0)
		return err;
	device->result = result.at; /* lives as long as the context */
	*out = kl_steal(&device);
	return 0;
}

/* Release the context. This frees everything in it, unless a library still shares the context. */
void kl_gpu_device_free(struct kl_gpu_device *device)
{
	if (!device)
		return;
	if (device->stream)
		device->cu->stream_destroy(device->stream);
	if (device->tools)
		device->cu->module_unload(device->tools);
	if (device->context)
		device->cu->ctx_release(device->dev);
	free(device);
}

/* -- the tools --------------------------------------------------------------- */

static int launch_tool(const struct kl_gpu_device *device, struct kl_cu_function *function,
		       unsigned blocks, unsigned threads, unsigned smem, void **args)
{
	struct kl_cu_launch_config config = {
		.grid = { blocks, 1, 1 },
		.block = { threads, 1, 1 },
		.smem = smem,
		.stream = device->stream,
	};
	int rc = device->cu->launch(&config, function, args, NULL);

	return rc ? kl_gpu_error(device->cu, rc, KL_EIO,
				 "the driver refused one of the gate's own kernels") :
		    0;
}

/*
 * Return the number of blocks for a kernel on `words`: enough for all words, but no more than can
 * run at once.
 */
static unsigned block_count(const struct kl_gpu_device *device, uint64_t words)
{
	uint64_t need = (words + THREADS - 1) / THREADS, most = (uint64_t)device->facts.sms * 8;

	return (unsigned)(need < most ? need : most);
}

/* A range of bytes in memory, as words of 8 bytes of a pattern. */
struct span {
	/* address of the first word; number of words; index of the first word in the pattern */
	uint64_t base, n, first;
	/* bytes of the first word before the range; bytes of the last word in the range */
	unsigned head, tail;
};

static struct span span_of(uint64_t at, uint64_t n, uint64_t from)
{
	struct span span = { .base = at & ~(uint64_t)7, .first = from / 8, .head = at % 8 };

	if (at % 8 != from % 8)
		KL_BUG("a pattern that is not aligned with its memory");
	span.n = (span.head + n + 7) / 8;
	span.tail = (span.head + n) % 8 ? (unsigned)((span.head + n) % 8) : 8;
	return span;
}

int kl_gpu_fill(const struct kl_gpu_device *device, uint64_t at, uint64_t n, uint64_t from,
		const struct kl_gpu_pattern *pattern)
{
	struct span span = span_of(at, n, from);
	struct kl_gpu_pattern copy = *pattern;
	void *args[] = { &span.base, &span.n,   &span.first, &copy.seed,
			 &copy.keep, &copy.set, &span.head,  &span.tail };

	return n ? launch_tool(device, device->fill, block_count(device, span.n), THREADS, 0,
			       args) :
		   0;
}

static int read_result(const struct kl_gpu_device *device, void *out, size_t n)
{
	int rc = device->cu->to_host(out, device->result, n, device->stream);

	if (!rc)
		rc = device->cu->stream_sync(device->stream);
	return rc ? kl_gpu_error(device->cu, rc, KL_EIO, "cannot read from the GPU") : 0;
}

int kl_gpu_check(const struct kl_gpu_device *device, uint64_t at, uint64_t n, uint64_t from,
		 const struct kl_gpu_pattern *pattern, uint64_t *where)
{
	struct span span = span_of(at, n, from);
	struct kl_gpu_pattern copy = *pattern;
	uint64_t result = device->result, found = 0;
	void *args[] = { &span.base, &span.n,    &span.first, &copy.seed, &copy.keep,
			 &copy.set,  &span.head, &span.tail,  &result };
	int err, rc;

	if (!n)
		return 0;
	if ((rc = device->cu->set8(device->result, 0xff, sizeof(found), device->stream)))
		return kl_gpu_error(device->cu, rc, KL_EIO, "cannot write to the GPU");
	if ((err = launch_tool(device, device->check, block_count(device, span.n), THREADS, 0,
			       args)) < 0 ||
	    (err = read_result(device, &found, sizeof(found))) < 0)
		return err;
	if (found == ~(uint64_t)0)
		return 0;
	*where = found - span.head;
	return KL_ENO;
}

int kl_gpu_check_zero(const struct kl_gpu_device *device, uint64_t at, uint64_t n, uint64_t *where)
{
	const struct kl_gpu_pattern zero = { 0 };

	return kl_gpu_check(device, at, n, at % 8, &zero, where);
}

int kl_gpu_fingerprint_to(const struct kl_gpu_device *device, uint64_t out, uint64_t at, uint64_t n,
			  uint64_t key)
{
	uint64_t words = (n + 7) / 8;
	unsigned tail = n % 8 ? (unsigned)(n % 8) : 8;
	void *args[] = { &at, &words, &tail, &key, &out };
	int rc = device->cu->set8(out, 0, 16, device->stream);

	if (rc)
		return kl_gpu_error(device->cu, rc, KL_EIO, "cannot write to the GPU");
	return n ? launch_tool(device, device->print, block_count(device, words), THREADS, 0,
			       args) :
		   0;
}

int kl_gpu_fingerprint(const struct kl_gpu_device *device, uint64_t print[2], uint64_t at,
		       uint64_t n, uint64_t key)
{
	int err = kl_gpu_fingerprint_to(device, device->result, at, n, key);

	return err < 0 ? err : read_result(device, print, 16);
}

void kl_gpu_fingerprint_host(uint64_t print[2], const void *data, uint64_t n, uint64_t key)
{
	const unsigned char *at = data;

	print[0] = print[1] = 0;
	for (uint64_t i = 0; n; i++) {
		size_t part = n < 8 ? (size_t)n : 8;
		uint64_t value = 0;

		memcpy(&value, at, part);
		print[0] += finish_hash(value ^ kl_gpu_mix(key, i));
		print[1] += finish_hash(value + kl_gpu_mix(~key, i));
		at += part;
		n -= part;
	}
}

int kl_gpu_widen(const struct kl_gpu_device *device, uint64_t to, uint64_t from, uint64_t n,
		 unsigned size, enum kl_gpu_from kind)
{
	unsigned which = kind;
	void *args[] = { &to, &from, &n, &size, &which };

	return n ? launch_tool(device, device->widen, block_count(device, n), THREADS, 0, args) : 0;
}

int kl_gpu_scrub(const struct kl_gpu_device *device)
{
	unsigned words = (unsigned)(device->facts.smem_optin / 4), value = 0x7ff5a5a5u;
	unsigned per_sm = 2048 / THREADS;
	uint64_t never = 0;
	void *shared[] = { &words, &value }, *local[] = { &value, &never };
	int err;

	/*
	 * a block that uses all shared memory fills one multiprocessor; launch as many blocks as
	 * there are multiprocessors, twice, since they may not be spread evenly
	 */
	for (int i = 0; i < 2; i++)
		if ((err = launch_tool(device, device->scrub_shared, (unsigned)device->facts.sms,
				       1024, (unsigned)device->facts.smem_optin, shared)) < 0)
			return err;
	return launch_tool(device, device->scrub_local, (unsigned)device->facts.sms * per_sm,
			   THREADS, 0, local);
}

int kl_gpu_flush_prepare(struct kl_gpu_device *device)
{
	struct kl_gpu_buffer buffer = { 0 };
	int err;

	if (device->flush_at)
		return 0;
	if ((err = kl_gpu_buffer_make(&buffer, device, 2 * (uint64_t)device->facts.l2 + 4, 256,
				      false)) < 0)
		return err;
	device->flush_bytes = buffer.bytes & ~(uint64_t)3;
	device->flush_at = buffer.at; /* lives as long as the context */
	return 0;
}

int kl_gpu_flush(const struct kl_gpu_device *device)
{
	int rc = device->cu->set32(device->flush_at, 0x5a5a5a5a, device->flush_bytes / 4,
				   device->stream);

	return rc ? kl_gpu_error(device->cu, rc, KL_EIO, "cannot flush the L2 cache") : 0;
}
