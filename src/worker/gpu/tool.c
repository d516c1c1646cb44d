/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/tool.h"

#include <string.h>

#include "base/error.h"
#include "worker/gpu/memory.h"

#define GOLDEN 0x9e3779b97f4a7c15u
#define RESULT_BYTES 64
#define THREADS 256
#define MAX_PRINTF ((size_t)1 << 20)

static uint64_t finish_hash(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

uint64_t kl_gpu_mix(uint64_t seed, uint64_t i)
{
	return finish_hash(seed + (i + 1) * GOLDEN);
}

void kl_gpu_pattern(void *out, const struct kl_gpu_pattern *p, uint64_t from, size_t n)
{
	unsigned char *to = out;

	while (n) {
		uint64_t v = (kl_gpu_mix(p->seed, from / 8) & p->keep) | p->set;
		size_t skip = from % 8, part = 8 - skip < n ? 8 - skip : n;

		memcpy(to, (const char *)&v + skip, part);
		to += part;
		from += part;
		n -= part;
	}
}

/* -- the device ------------------------------------------------------------- */

static int find_tools(struct kl_gpu_device *d)
{
	const struct {
		const char *name;
		struct kl_cu_function **f;
	} tools[] = {
		{ "kl_fill", &d->fill },
		{ "kl_check", &d->check },
		{ "kl_print", &d->print },
		{ "kl_scrub_shared", &d->scrub_shared },
		{ "kl_scrub_local", &d->scrub_local },
	};
	int rc = d->cu->module_load(&d->tools, kl_gpu_ptx);

	if (rc)
		return kl_gpu_error(d->cu, rc, KL_ECANNOT,
				    "the driver cannot compile the gate's own kernels");
	for (size_t i = 0; i < KL_ARRAY_SIZE(tools); i++)
		if ((rc = d->cu->module_function(tools[i].f, d->tools, tools[i].name)))
			return kl_gpu_error(d->cu, rc, KL_ECANNOT, "no %s", tools[i].name);
	rc = d->cu->func_set(d->scrub_shared, KL_CU_FUNC_MAX_DYNAMIC_SMEM,
			     (int)d->facts.smem_optin);
	return rc ? kl_gpu_error(d->cu, rc, KL_ECANNOT, "no shared memory to overwrite") : 0;
}

static struct kl_cu_mem_prop memory_place(const struct kl_gpu_device *d)
{
	return (struct kl_cu_mem_prop){
		.type = KL_CU_ALLOCATION_PINNED,
		.location = { .type = KL_CU_LOCATION_DEVICE, .id = d->dev },
	};
}

static int open_context(struct kl_gpu_device *d)
{
	struct kl_cu_mem_prop prop = memory_place(d);
	size_t granule = 0;
	int rc;

	/* already set by a library in this process: then it is as it is */
	d->cu->ctx_flags(d->dev, KL_CU_CTX_SPIN);
	if ((rc = d->cu->ctx_retain(&d->context, d->dev)) || (rc = d->cu->ctx_set(d->context)))
		return kl_gpu_error(d->cu, rc, KL_ECANNOT, "%s (%s) cannot be used", d->facts.name,
				    d->facts.uuid);
	d->cu->ctx_limit(KL_CU_LIMIT_PRINTF, MAX_PRINTF);
	if ((rc = d->cu->mem_granularity(&granule, &prop, 0)) ||
	    (rc = d->cu->stream_create(&d->stream, KL_CU_STREAM_NON_BLOCKING)))
		return kl_gpu_error(d->cu, rc, KL_ECANNOT, "%s cannot be used", d->facts.name);
	d->granule = granule ? granule : (uint64_t)2 << 20;
	return 0;
}

int kl_gpu_device_open(struct kl_gpu_device **out, struct kl_gpu_driver *cu, int ordinal)
{
	KL_AUTO(kl_gpu_device_freep) struct kl_gpu_device *d = kl_calloc(1, sizeof(*d));
	struct kl_gpu_buffer result = { 0 };
	int rc, err;

	d->cu = cu;
	d->ordinal = ordinal;
	if ((err = kl_gpu_facts_read(&d->facts, cu, ordinal)) < 0)
		return err;
	if (!d->facts.vmm)
		return kl_error(KL_ECANNOT,
				"%s has no virtual memory management, which guards need",
				d->facts.name);
	if ((rc = cu->device_get(&d->dev, ordinal)))
		return kl_gpu_error(cu, rc, KL_ECANNOT, "no GPU %d", ordinal);
	if ((err = open_context(d)) < 0 || (err = find_tools(d)) < 0 ||
	    (err = kl_gpu_buffer_make(&result, d, RESULT_BYTES, 256, false)) < 0)
		return err;
	d->result = result.at; /* lives as long as the context */
	*out = kl_steal(&d);
	return 0;
}

/* With the context everything goes that is in it; whoever shares it keeps it. */
void kl_gpu_device_free(struct kl_gpu_device *d)
{
	if (!d)
		return;
	if (d->stream)
		d->cu->stream_destroy(d->stream);
	if (d->tools)
		d->cu->module_unload(d->tools);
	if (d->context)
		d->cu->ctx_release(d->dev);
	free(d);
}

/* -- the tools --------------------------------------------------------------- */

static int launch_tool(const struct kl_gpu_device *d, struct kl_cu_function *f, unsigned blocks,
		       unsigned threads, unsigned smem, void **args)
{
	struct kl_cu_launch_config c = {
		.grid = { blocks, 1, 1 },
		.block = { threads, 1, 1 },
		.smem = smem,
		.stream = d->stream,
	};
	int rc = d->cu->launch(&c, f, args, NULL);

	return rc ? kl_gpu_error(d->cu, rc, KL_EIO, "a kernel of the gate's own was refused") : 0;
}

/* Enough blocks for n words, and no more than the device runs at once. */
static unsigned block_count(const struct kl_gpu_device *d, uint64_t words)
{
	uint64_t need = (words + THREADS - 1) / THREADS, most = (uint64_t)d->facts.sms * 8;

	return (unsigned)(need < most ? need : most);
}

/* A range of bytes as words of a pattern. */
struct span {
	uint64_t base, n, first;
	unsigned head, tail;
};

static struct span span_of(uint64_t at, uint64_t n, uint64_t from)
{
	struct span s = { .base = at & ~(uint64_t)7, .first = from / 8, .head = at % 8 };

	if (at % 8 != from % 8)
		KL_BUG("a pattern that is not aligned with its memory");
	s.n = (s.head + n + 7) / 8;
	s.tail = (s.head + n) % 8 ? (unsigned)((s.head + n) % 8) : 8;
	return s;
}

int kl_gpu_fill(const struct kl_gpu_device *d, uint64_t at, uint64_t n, uint64_t from,
		const struct kl_gpu_pattern *p)
{
	struct span s = span_of(at, n, from);
	struct kl_gpu_pattern q = *p;
	void *args[] = { &s.base, &s.n, &s.first, &q.seed, &q.keep, &q.set, &s.head, &s.tail };

	return n ? launch_tool(d, d->fill, block_count(d, s.n), THREADS, 0, args) : 0;
}

static int read_result(const struct kl_gpu_device *d, void *out, size_t n)
{
	int rc = d->cu->to_host(out, d->result, n, d->stream);

	if (!rc)
		rc = d->cu->stream_sync(d->stream);
	return rc ? kl_gpu_error(d->cu, rc, KL_EIO, "cannot read from the GPU") : 0;
}

int kl_gpu_check(const struct kl_gpu_device *d, uint64_t at, uint64_t n, uint64_t from,
		 const struct kl_gpu_pattern *p, uint64_t *where_out)
{
	struct span s = span_of(at, n, from);
	struct kl_gpu_pattern q = *p;
	uint64_t result = d->result, found = 0;
	void *args[] = { &s.base, &s.n,    &s.first, &q.seed, &q.keep,
			 &q.set,  &s.head, &s.tail,  &result };
	int err, rc;

	if (!n)
		return 0;
	if ((rc = d->cu->set8(d->result, 0xff, sizeof(found), d->stream)))
		return kl_gpu_error(d->cu, rc, KL_EIO, "cannot write to the GPU");
	if ((err = launch_tool(d, d->check, block_count(d, s.n), THREADS, 0, args)) < 0 ||
	    (err = read_result(d, &found, sizeof(found))) < 0)
		return err;
	if (found == ~(uint64_t)0)
		return 0;
	*where_out = found - s.head;
	return KL_ENO;
}

int kl_gpu_check_zero(const struct kl_gpu_device *d, uint64_t at, uint64_t n, uint64_t *where_out)
{
	const struct kl_gpu_pattern zero = { 0 };

	return kl_gpu_check(d, at, n, at % 8, &zero, where_out);
}

int kl_gpu_fingerprint_to(const struct kl_gpu_device *d, uint64_t out, uint64_t at, uint64_t n,
			  uint64_t key)
{
	uint64_t words = (n + 7) / 8;
	unsigned tail = n % 8 ? (unsigned)(n % 8) : 8;
	void *args[] = { &at, &words, &tail, &key, &out };
	int rc = d->cu->set8(out, 0, 16, d->stream);

	if (rc)
		return kl_gpu_error(d->cu, rc, KL_EIO, "cannot write to the GPU");
	return n ? launch_tool(d, d->print, block_count(d, words), THREADS, 0, args) : 0;
}

int kl_gpu_fingerprint(const struct kl_gpu_device *d, uint64_t print[2], uint64_t at, uint64_t n,
		       uint64_t key)
{
	int err = kl_gpu_fingerprint_to(d, d->result, at, n, key);

	return err < 0 ? err : read_result(d, print, 16);
}

void kl_gpu_fingerprint_host(uint64_t print[2], const void *p, uint64_t n, uint64_t key)
{
	const unsigned char *at = p;

	print[0] = print[1] = 0;
	for (uint64_t i = 0; n; i++) {
		size_t part = n < 8 ? (size_t)n : 8;
		uint64_t v = 0;

		memcpy(&v, at, part);
		print[0] += finish_hash(v ^ kl_gpu_mix(key, i));
		print[1] += finish_hash(v + kl_gpu_mix(~key, i));
		at += part;
		n -= part;
	}
}

int kl_gpu_scrub(const struct kl_gpu_device *d)
{
	unsigned words = (unsigned)(d->facts.smem_optin / 4), value = 0x7ff5a5a5u;
	unsigned per_sm = 2048 / THREADS;
	uint64_t never = 0;
	void *shared[] = { &words, &value }, *local[] = { &value, &never };
	int err;

	/*
	 * as much as a block can have: one on each multiprocessor, twice since order is not
	 * promised
	 */
	for (int i = 0; i < 2; i++)
		if ((err = launch_tool(d, d->scrub_shared, (unsigned)d->facts.sms, 1024,
				       (unsigned)d->facts.smem_optin, shared)) < 0)
			return err;
	return launch_tool(d, d->scrub_local, (unsigned)d->facts.sms * per_sm, THREADS, 0, local);
}

int kl_gpu_flush_prepare(struct kl_gpu_device *d)
{
	struct kl_gpu_buffer b = { 0 };
	int err;

	if (d->flush_at)
		return 0;
	if ((err = kl_gpu_buffer_make(&b, d, 2 * (uint64_t)d->facts.l2 + 4, 256, false)) < 0)
		return err;
	d->flush_bytes = b.bytes & ~(uint64_t)3;
	d->flush_at = b.at; /* lives as long as the context */
	return 0;
}

int kl_gpu_flush_l2(struct kl_gpu_device *d)
{
	int err = kl_gpu_flush_prepare(d), rc;

	if (err < 0)
		return err;
	if ((d->facts.persisting_l2 && (rc = d->cu->ctx_reset_l2())) ||
	    (rc = d->cu->set32(d->flush_at, 0x5a5a5a5a, d->flush_bytes / 4, d->stream)))
		return kl_gpu_error(d->cu, rc, KL_EIO, "cannot flush the L2 cache");
	return 0;
}
