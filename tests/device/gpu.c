/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu <directory of cubins> - the worker's GPU path on a real GPU: every end that a call can have,
 * what may not last from call to call, what a launch can ask for, and what the gate's own steps
 * cost. Prints a table; exit 1 if a line is not as expected. tests/device/run.sh builds and runs
 * it.
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "worker/gpu/process_pool.h"
#include "worker/gpu/tool.h"
#include "worker/stage/stages.h"

#define N 100003
#define HEAD "{\"klineage-launch\":1,\"compile\":{\"arch\":\"sm_90a\"},"
#define ONE(kernel, grid, more, args)                                                     \
	"\"launch\":[{\"kernel\":\"" kernel "\",\"grid\":[" grid "],\"block\":[256]" more \
	",\"args\":[" args "]}]}"
#define USUAL "\"x\",\"y\",{\"i32\":\"n\"},\"s\""
#define PLAN(kernel) HEAD ONE(kernel, "\"cdiv(n,256)\"", "", USUAL)
#define SCRATCH(init) \
	HEAD "\"scratch\":{\"t\":{\"dtype\":\"u32\",\"shape\":[1000],\"init\":\"" init "\"}},"
#define WITH(kernel, init) SCRATCH(init) ONE(kernel, "\"cdiv(n,256)\"", "", USUAL ",\"t\"")
#define TABLE(kernel)                                                                                                  \
	SCRATCH("prepare")                                                                                             \
	"\"prepare\":[{\"kernel\":\"make_table\",\"grid\":[1],\"block\":[16],\"args\":[\"t\",{\"i32\":\"n\"}]}]," ONE( \
		kernel, "\"cdiv(n,256)\"", "", USUAL ",\"t\"")
#define FLOATS HEAD "\"scratch\":{\"t\":{\"dtype\":\"f32\",\"shape\":[\"n\"],\"init\":\"poison\"}},"
#define MAP(box)                                                                                \
	HEAD "\"maps\":{\"m\":{\"kind\":\"tiled\",\"of\":\"x\",\"dtype\":\"f32\","              \
	     "\"dims\":[128,\"n/128\"],\"strides\":[512],\"box\":[" box ",1],\"elem\":[1,1],"   \
	     "\"interleave\":\"none\",\"swizzle\":\"none\",\"l2\":\"128B\",\"oob\":\"zero\"}}," \
	     "\"launch\":[{\"kernel\":\"by_tma\",\"grid\":[\"n/128\"],\"block\":[128],"         \
	     "\"args\":[{\"map\":\"m\"},\"y\",{\"i32\":\"n\"},\"s\"]}]}"

static const struct {
	const char *name, *plan, *cubin;
	int start; /* error of the start, 0: it starts */
	enum kl_call_end end;
	const char *text;
	int64_t n; /* 0: N */
} cases[] = {
	{ "right", PLAN("scale"), NULL, 0, KL_CALL_OK, "", 0 },
	{ "store beyond the guard", PLAN("beyond"), NULL, 0, KL_CALL_FAULT, "ILLEGAL_ADDRESS", 0 },
	{ "store before the guard", PLAN("before"), NULL, 0, KL_CALL_FAULT, "ILLEGAL_ADDRESS", 0 },
	{ "load beyond the guard", PLAN("reads_beyond"), NULL, 0, KL_CALL_FAULT, "ILLEGAL_ADDRESS",
	  0 },
	{ "one element too many", PLAN("one_more"), NULL, 0, KL_CALL_FAULT,
	  "wrote out of bounds of 'y': byte 400012 of 400012", 0 },
	{ "store to an input", PLAN("stores_input"), NULL, 0, KL_CALL_FAULT, "ILLEGAL_ADDRESS", 0 },
	{ "atomic on an input", PLAN("adds_input"), NULL, 0, KL_CALL_FAULT, "ILLEGAL_ADDRESS", 0 },
	{ "null pointer", PLAN("null"), NULL, 0, KL_CALL_FAULT, "ILLEGAL_ADDRESS", 0 },
	{ "trap", PLAN("traps"), NULL, 0, KL_CALL_FAULT, "CUDA_ERROR_", 0 },
	{ "assert", PLAN("asserts"), NULL, 0, KL_CALL_FAULT, "CUDA_ERROR_ASSERT", 0 },
	{ "misaligned", PLAN("misaligned"), NULL, 0, KL_CALL_FAULT, "MISALIGNED", 0 },
	{ "hang", PLAN("hangs"), NULL, 0, KL_CALL_HANG, "did not end within", 0 },
	{ "prints for ever", PLAN("prints"), NULL, 0, KL_CALL_OK, "", 1000 },
	{ "kept in a global", HEAD ONE("by_global", "1", "", USUAL), NULL, 0, KL_CALL_OK, "", 0 },
	{ "store to a constant", PLAN("by_constant"), NULL, 0, KL_CALL_FAULT, "LAUNCH_FAILED", 0 },
	{ "kept in shared memory", HEAD ONE("by_shared", "264", ",\"smem\":100000", USUAL), NULL, 0,
	  KL_CALL_OK, "", 0 },
	{ "kept in local memory", HEAD ONE("by_local", "264", "", USUAL), NULL, 0, KL_CALL_OK, "",
	  0 },
	{ "cluster of 2", HEAD ONE("in_cluster", "256", ",\"cluster\":[2]", USUAL), NULL, 0,
	  KL_CALL_OK, "", 0 },
	{ "cluster of 16",
	  HEAD ONE("in_cluster16", "256", ",\"cluster\":[16],\"nonportable\":true", USUAL), NULL, 0,
	  KL_CALL_OK, "", 0 },
	{ "cooperative", FLOATS ONE("together", "132", ",\"cooperative\":true", USUAL ",\"t\""),
	  NULL, 0, KL_CALL_OK, "", 0 },
	{ "cooperative, too large",
	  FLOATS ONE("together", "13200", ",\"cooperative\":true", USUAL ",\"t\""), NULL,
	  KL_EINVALID, 0, "but only", 0 },
	{ "programmatic launch",
	  FLOATS
	  "\"launch\":["
	  "{\"kernel\":\"first_of_two\",\"grid\":[132],\"block\":[256],\"args\":[\"x\",\"t\",{\"i32\":\"n\"},\"s\"]},"
	  "{\"kernel\":\"second_of_two\",\"grid\":[132],\"block\":[256],\"pdl\":true,\"args\":[\"t\",\"y\",{\"i32\":\"n\"}]}]}",
	  NULL, 0, KL_CALL_OK, "", 0 },
	{ "carried scratch", WITH("ticks", "carry"), NULL, 0, KL_CALL_OK, "", 0 },
	{ "carried scratch, not put back", WITH("ticks_on", "carry"), NULL, 0, KL_CALL_FAULT,
	  "not zero: byte 8", 0 },
	{ "zeroed scratch", WITH("zeroed", "zero"), NULL, 0, KL_CALL_OK, "", 0 },
	{ "prepared scratch", TABLE("with_table"), NULL, 0, KL_CALL_OK, "", 0 },
	{ "prepared scratch, written", TABLE("changes_table"), NULL, 0, KL_CALL_FAULT,
	  "ILLEGAL_ADDRESS", 0 },
	{ "tensor map", MAP("128"), NULL, 0, KL_CALL_OK, "", 128000 },
	{ "tensor map, bad box", MAP("127"), NULL, KL_EINVALID, 0, "", 128000 },
	{ "no such kernel", PLAN("absent"), NULL, KL_EINVALID, 0, "has no kernel 'absent'", 0 },
	{ "too few arguments", HEAD ONE("scale", "1", "", "\"x\",\"y\""), NULL, KL_EINVALID, 0,
	  "more than the 2 parameters", 0 },
	{ "an argument too large", HEAD ONE("scale", "1", "", "\"x\",\"y\",{\"i64\":\"n\"},\"s\""),
	  NULL, KL_EINVALID, 0, "parameter 2 of 4 bytes, but the plan passes 8", 0 },
	{ "too much shared memory", HEAD ONE("scale", "1", ",\"smem\":240000", USUAL), NULL,
	  KL_ECANNOT, 0, "shared memory", 0 },
	{ "beyond its launch bounds", PLAN("small_blocks"), NULL, KL_EINVALID, 0, "allow only 128",
	  0 },
	{ "another processor's code", PLAN("oracle"), "sm_80.cubin", KL_ECANNOT, 0,
	  "not compiled for", 0 },
	{ "no code", PLAN("oracle"), "run.sh", KL_EINVALID, 0, "cannot load", 0 },
	{ "right, at the end", PLAN("scale"), NULL, 0, KL_CALL_OK, "", 0 },
};

static int bad;

static struct kl_job *job_of(const char *dir, const char *plan, const char *cubin, int64_t n,
			     const char *pool)
{
	KL_AUTO(json_decrefp) json_t *doc = NULL;
	struct kl_job *job = NULL;
	KL_AUTO(kl_freep) char *text = kl_asprintf(
		"{\"schema\":\"klineage.job/2\",\"surface\":\"cuda\",\"arch\":\"sm_90a\",\"dims\":[\"n\"],"
		"\"truth\":\"%s/truth.cubin\",\"honest\":\"%s/honest.cubin\",\"candidate\":\"%s/%s\",\"parent\":null,"
		"\"baseline\":null,\"plan\":%s,\"oracle_plan\":" HEAD ONE(
			"oracle", "132", "",
			USUAL) ","
			       "\"pool\":\"%s\",\"args\":[{\"name\":\"s\",\"kind\":\"scalar\",\"dtype\":\"f32\",\"value\":1.5},"
			       "{\"name\":\"x\",\"kind\":\"in\",\"dtype\":\"f32\",\"fill\":{\"normal\":[0.0,1.0]},\"sweep\":true},"
			       "{\"name\":\"y\",\"kind\":\"out\",\"dtype\":\"f32\"}],"
			       "\"points\":[{\"id\":\"case0\",\"perf\":true,\"dims\":[%lld],\"values\":[1.5,[%lld],[%lld]]},"
			       "{\"id\":\"also0\",\"dims\":[33],\"values\":[1.5,[33],[33]]}],"
			       "\"accept\":[{\"out\":\"y\",\"rule\":\"noise\",\"max\":4.0,\"rms\":2.0,\"per\":[]}],"
			       "\"exact\":[{\"x\":{\"ints\":[-2,2]}}],\"bands\":[],\"deterministic\":true,\"do\":[\"correct\"],"
			       "\"seed\":\"0\",\"arena_bytes\":0,\"call_ms\":3000}",
		dir, dir, dir, cubin ? cubin : "kernels.cubin", plan, pool, (long long)n,
		(long long)n, (long long)n);

	if (kl_json_parse(&doc, text, strlen(text)) < 0 || kl_job_parse(&job, doc) < 0)
		fprintf(stderr, "%s\n", kl_error_last());
	else
		job->gpu = kl_gpu_processes_new();
	return job;
}

static void end_job(struct kl_job *job)
{
	kl_gpu_processes_free(job->gpu);
	kl_job_free(job);
}

static void line(bool good, const char *name, const char *how, int64_t start_ns, int64_t call_ns)
{
	bad += !good;
	printf("%-4s %-32s start %8.3f ms  call %8.3f ms  %s\n", good ? "ok" : "BAD", name,
	       (double)start_ns / 1e6, (double)call_ns / 1e6, how);
	fflush(stdout);
}

/* Three calls, values compared where they end well; both guard sides. */
static bool calls(struct kl_subject *subject, int64_t n, struct kl_call *end, char *why,
		  size_t room, int64_t *ns)
{
	for (int turn = 0; turn < 3; turn++) {
		float *values = kl_subject_buffer(subject, 1), *samples;
		int64_t start;

		for (int64_t i = 0; i < n; i++)
			values[i] = (float)(i % 1000 + turn);
		kl_subject_poison(subject, (uint64_t)turn + 10);
		start = kl_clock_ns();
		if (kl_subject_call(subject, end) < 0) {
			snprintf(why, room, "%s", kl_error_last());
			return false;
		}
		*ns = kl_clock_ns() - start;
		if (end->end != KL_CALL_OK)
			return true;
		samples = kl_subject_buffer(subject, 2);
		for (int64_t i = 0; i < n; i++)
			if (samples[i] != 1.5f * (float)(i % 1000 + turn)) {
				snprintf(why, room, "call %d: y[%lld] is %g, wanted %g", turn,
					 (long long)i, (double)samples[i],
					 1.5 * (double)(i % 1000 + turn));
				return false;
			}
	}
	return true;
}

static void one_case(const char *dir, size_t i, struct kl_gpu_processes **keep)
{
	int64_t n = cases[i].n ? cases[i].n : N, start = kl_clock_ns(), started, ns = 0;
	struct kl_job *job = job_of(dir, cases[i].plan, cases[i].cubin, n, "/nowhere");
	struct kl_gpu_processes *own;
	char why[600] = "";
	bool good = false;

	if (!job) {
		line(false, cases[i].name, "no job", 0, 0);
		return;
	}
	/* one keep for all: processes are used again as in one job */
	own = job->gpu;
	job->gpu = *keep;
	for (int right = 0; right < 2; right++) {
		struct kl_subject_spec spec = { .kind = KL_SUBJECT_KERNEL,
						.path = job->candidate_path,
						.align_right = right,
						.cpu = -1 };
		struct kl_subject *subject = NULL;
		struct kl_call end = { 0 };
		int err;

		start = kl_clock_ns();
		err = kl_subject_start(&subject, job, job->point, &spec);
		started = kl_clock_ns() - start;
		snprintf(why, sizeof(why), "%s", err ? kl_error_last() : "");
		good = err == cases[i].start && (!err || strstr(why, cases[i].text));
		if (good && !err) {
			good = calls(subject, n, &end, why, sizeof(why), &ns);
			if (!*why)
				snprintf(why, sizeof(why), "%s", end.what);
			good = good && end.end == cases[i].end && strstr(why, cases[i].text);
		}
		kl_subject_free(subject);
		if (!good || cases[i].end == KL_CALL_HANG)
			break;
	}
	line(good, cases[i].name, why, started, ns);
	job->gpu = own;
	end_job(job);
}

static void stage(const char *dir, const char *name, const char *plan, const char *class)
{
	char pool_dir[] = "/tmp/kl-gpu-pool-XXXXXX";
	KL_AUTO(json_decrefp) json_t *result = json_object();
	struct kl_pool *pool = NULL;
	struct kl_job *job;
	int64_t start = kl_clock_ns(), opened = 0;
	const char *got;
	int err;

	if (!mkdtemp(pool_dir) || !(job = job_of(dir, plan, NULL, 1 << 20, pool_dir)))
		return;
	err = kl_pool_open(&pool, job);
	opened = kl_clock_ns() - start;
	if (err == 0)
		err = kl_stage_audit(result, job, pool);
	start = kl_clock_ns();
	if (err == 0)
		err = kl_stage_correct(result, job, pool);
	got = err ? kl_error_last() : kl_json_str_or(result, "class", "pass");
	kl_gpu_processes_describe(result, job->gpu);
	line(!err && !strcmp(got, class), name, err ? got : kl_json_str_or(result, "message", got),
	     opened, kl_clock_ns() - start);
	kl_pool_free(pool);
	end_job(job);
}

/* Two workers on one GPU: the second waits for the first. */
static void locked(const char *dir)
{
	struct kl_job *job = job_of(dir, PLAN("scale"), NULL, N, "/nowhere");
	struct kl_gpu_child *child = NULL;
	int64_t start;
	int ready[2], err;
	pid_t other;
	char byte;

	if (pipe(ready))
		return;
	other = fork();
	if (!other) {
		if (kl_gpu_processes_child(&child, job, job->candidate_path) == 0 &&
		    write(ready[1], "x", 1) == 1)
			kl_clock_sleep_ms(1500);
		_exit(0);
	}
	err = read(ready[0], &byte, 1) != 1;
	start = kl_clock_ns();
	err = err ? err : kl_gpu_processes_child(&child, job, job->candidate_path);
	start = kl_clock_ns() - start;
	waitpid(other, NULL, 0);
	line(!err && start > 1000000000, "a second worker waits", err ? kl_error_last() : "", start,
	     0);
	if (child)
		kl_gpu_processes_put(job->gpu, child);
	end_job(job);
}

/* -- the tools, and what steps cost -------------------------------------------------------- */

#define COST(what, times, step)                                                                 \
	do {                                                                                    \
		int64_t from_ = kl_clock_ns(), rc_ = 0;                                         \
		for (int k_ = 0; k_ < (times); k_++)                                            \
			rc_ |= (step);                                                          \
		rc_ |= d->cu->stream_sync(d->stream);                                           \
		printf("cost %-40s %10.1f us%s\n", what,                                        \
		       (double)(kl_clock_ns() - from_) / 1e3 / (times), rc_ ? "  FAILED" : ""); \
		bad += rc_ != 0;                                                                \
	} while (0)

static void tools(const struct kl_gpu_device *device)
{
	enum { BYTES = 1000003, FROM = 24, OFF = 3 };
	struct kl_gpu_pattern pattern = { 77, 0x003fffff003fffffu, 0x7fc000017fc00001u };
	unsigned char *here = kl_malloc(BYTES + 64);
	uint64_t print[2], own[2], where = 0;
	struct kl_gpu_buffer buffer;
	int err = kl_gpu_buffer_make(&buffer, device, BYTES + 64, 256, false);

	err = err ? err : kl_gpu_fill(device, buffer.at + OFF, BYTES, FROM + OFF, &pattern);
	err = err ? err :
		    kl_gpu_check(device, buffer.at + OFF, BYTES, FROM + OFF, &pattern, &where);
	err = err ? err : device->cu->to_host(here, buffer.at + OFF, BYTES, device->stream);
	err = err ? err : device->cu->stream_sync(device->stream);
	if (!err) {
		unsigned char *want = kl_malloc(BYTES);

		kl_gpu_pattern(want, &pattern, FROM + OFF, BYTES);
		err = memcmp(want, here, BYTES);
		free(want);
	}
	line(!err, "pattern there as here", err ? kl_error_last() : "", 0, 0);
	err = kl_gpu_fill(device, buffer.at, BYTES, 0, &pattern);
	err = err ? err : kl_gpu_fingerprint(device, print, buffer.at, BYTES - 1, 99);
	err = err ? err : device->cu->to_host(here, buffer.at, BYTES, device->stream);
	err = err ? err : device->cu->stream_sync(device->stream);
	kl_gpu_fingerprint_host(own, here, BYTES - 1, 99);
	line(!err && !memcmp(print, own, 16), "fingerprint there as here", "", 0, 0);
	err = device->cu->set8(buffer.at + 500001, 0, 1, device->stream);
	line(!err && kl_gpu_check(device, buffer.at, BYTES, 0, &pattern, &where) == KL_ENO &&
		     where == 500001,
	     "one byte is seen", "", 0, 0);
	kl_gpu_buffer_release(&buffer, device);
	free(here);
}

static void costs(struct kl_gpu_device *d, const char *dir)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, "kernels.cubin");
	KL_AUTO(kl_buf_release) struct kl_buf image = KL_BUF_INIT;
	struct kl_gpu_module *module = NULL;
	struct kl_gpu_buffer buffer;
	enum { BIG = 32 << 20 };
	char *here = kl_malloc(BIG);

	memset(here, 1, BIG);
	if (kl_fs_read(&image, path, 1 << 24) < 0 ||
	    kl_gpu_module_load(&module, d, image.ptr, image.len) < 0) {
		line(false, "costs", kl_error_last(), 0, 0);
		return;
	}
	COST("module unloaded and loaded (74 kB)", 20, kl_gpu_module_reload(module, d));
	COST("shared and local memory overwritten", 20, kl_gpu_scrub(d));
	COST("L2 flushed", 20, kl_gpu_flush_prepare(d) || kl_gpu_flush(d));
	COST("buffer of 32 MiB made and released", 20,
	     kl_gpu_buffer_make(&buffer, d, BIG, 256, false) ||
		     (kl_gpu_buffer_release(&buffer, d), 0));
	if (kl_gpu_buffer_make(&buffer, d, BIG, 256, false) < 0)
		return;
	COST("read-only and back", 20,
	     kl_gpu_buffer_protect(&buffer, d, true) || kl_gpu_buffer_protect(&buffer, d, false));
	COST("32 MiB to the device", 10, d->cu->to_device(buffer.at, here, BIG, d->stream));
	COST("32 MiB from the device", 10, d->cu->to_host(here, buffer.at, BIG, d->stream));
	COST("32 MiB poisoned", 20,
	     kl_gpu_fill(d, buffer.at, BIG, 0, &(struct kl_gpu_pattern){ 1, 2, 3 }));
	COST("32 MiB fingerprinted", 20,
	     kl_gpu_fingerprint(d, (uint64_t[2]){ 0 }, buffer.at, BIG, 5));
	kl_gpu_module_free(module, d);
}

static void direct(const char *dir)
{
	struct kl_gpu_driver *cu = NULL;
	struct kl_gpu_device *device = NULL;
	int64_t start = kl_clock_ns(), inited;
	int err = kl_gpu_driver_open(&cu);

	err = err ? err : cu->init(0);
	inited = kl_clock_ns() - start;
	start = kl_clock_ns();
	err = err ? err : kl_gpu_device_open(&device, cu, 0);
	line(!err, "driver, then context and tools", err ? kl_error_last() : device->facts.name,
	     inited, kl_clock_ns() - start);
	if (err)
		return;
	printf("     driver %s, CUDA %d, cc %d, %d SMs, L2 %lld, shared %lld, granule %llu, %s\n",
	       cu->build, cu->version, device->facts.cc, device->facts.sms,
	       (long long)device->facts.l2, (long long)device->facts.smem_optin,
	       (unsigned long long)device->granule, device->facts.uuid);
	tools(device);
	costs(device, dir);
}

int main(int argc, char **argv)
{
	struct kl_gpu_processes *keep = kl_gpu_processes_new();

	if (argc != 2)
		return 129;
	for (size_t i = 0; i < KL_ARRAY_SIZE(cases); i++)
		one_case(argv[1], i, &keep);
	kl_gpu_processes_free(keep);
	stage(argv[1], "stages: right", PLAN("scale"), "pass");
	stage(argv[1], "stages: wrong", PLAN("wrong"), "wrong-all");
	stage(argv[1], "stages: an element left out", PLAN("half_done"), "wrong-edge");
	stage(argv[1], "stages: hang", PLAN("hangs"), "hang");
	stage(argv[1], "stages: kept in a global", HEAD ONE("by_global", "1", "", USUAL),
	      "nondeterministic");
	locked(argv[1]);
	direct(argv[1]);
	printf("%d bad\n", bad);
	return bad != 0;
}
