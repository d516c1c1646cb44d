/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segments - how long does it take to import many results into segments, and to find one?
 *
 *	segments prepare <dir> <n>	jobs that were sent, and results files of 4096 each
 *	segments import <dir> <n>	import all of them
 *	segments lookup <dir> <n>	as the gate looks, in a repository that is open
 *
 * Prints the number of results and the nanoseconds; of lookups the figures of those that find
 * something, then of those that do not. The figures in the results are invented.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/rng.h"
#include "event/segment_verdict.h"
#include "gate/runner/results.h"
#include "text/json.h"

#define A_FILE 4096
#define LOOKUPS 300
#define DEVICE "a sample"
#define COMPILER "gcc 12.2.0, glibc 2.36 1b88b27169cb"

static void digest_of(char hex[KL_DIGEST_HEX], const char *what, size_t number)
{
	char text[64];

	snprintf(text, sizeof(text), "%s %zu", what, number);
	kl_digest_hex(hex, text, strlen(text));
}

/* --- jobs and results -------------------------------------------------------------------- */

static const char job_text[] =
	"{\"cache\":\"%s\",\"commits\":[],\"dir\":\"k\",\"event\":{\"by\":\"bench <b@c>\",\"code\":"
	"\"%s\",\"contract\":\"%s\",\"features\":[\"avx2.fma\",\"broadcast\",\"fma.scalar\","
	"\"loop.depth.1\",\"vec.128\"],\"features_version\":2,\"kind\":\"gate\",\"platform\":{"
	"\"compiler\":\"" COMPILER "\",\"flags\":[\"-O2\"],\"id\":\"cpu/x86-64-v3\"},\"policy\":%d,"
	"\"surface\":\"%s\",\"tier\":\"host-restricted\",\"v\":1,\"workload\":\"scale\"},\"job\":"
	"\"%s\",\"parent\":\"%s\",\"runner\":\"bundle\",\"schema\":\"klineage.pending/1\","
	"\"weights\":[1]}";

static const char result_text[] =
	"{\"contract\":\"%s\",\"device\":\"" DEVICE "\",\"driver\":null,\"job\":\"%s\",\"ms\":3324,"
	"\"result\":{\"audit\":{\"notes\":[],\"ok\":true,\"problems\":[]},\"correct\":{\"call_ns\":"
	"{\"also0\":8622,\"also1\":3766,\"also2\":8523,\"case0\":8592},\"calls\":320,\"cases\":34,"
	"\"drawn_points\":6,\"drawn_values\":16,\"elements\":417079,\"margin_ppm\":%zu,\"seeds\":[]}"
	",\"jail\":[\"capabilities\",\"landlock\",\"seccomp\",\"namespaces\"],\"ms\":{\"audit\":20,"
	"\"correct\":223,\"pool\":153,\"profile\":3174},\"profile\":{\"handshake_ns\":451,\"notes\":"
	"[],\"points\":[{\"aa\":{\"hi_ppm\":1008512,\"lo_ppm\":999763,\"mid_ppm\":1001044},"
	"\"blocks\":29,\"id\":\"case0\",\"ns\":%zu,\"vs\":[{\"hi_ppm\":1411867,\"lo_ppm\":1275934,"
	"\"ns\":2405,\"ratio_ppm\":1345254,\"what\":\"parent\"}]}]},\"schema\":"
	"\"klineage.result/1\",\"status\":\"pass\"},\"surface\":\"%s\",\"time\":"
	"\"2026-11-26T14:%02zu:%02zuZ\"}";

struct digests {
	char surface[KL_DIGEST_HEX], contract[KL_DIGEST_HEX], job[KL_DIGEST_HEX];
	char code[KL_DIGEST_HEX], cache[KL_DIGEST_HEX], parent[KL_DIGEST_HEX];
};

static struct digests digests_at(size_t i)
{
	struct digests out;

	digest_of(out.surface, "surface", i);
	digest_of(out.contract, "contract", 0);
	digest_of(out.job, "job", i);
	digest_of(out.code, "code", i);
	digest_of(out.cache, "cache", i);
	digest_of(out.parent, "parent", 0);
	return out;
}

static int put_job(const char *dir, const struct digests *digests)
{
	KL_AUTO(kl_freep) char *path = kl_asprintf("%s/.git/klineage/jobs/%s.json", dir,
						   digests->job);
	KL_AUTO(kl_freep) char *text = kl_asprintf(job_text, digests->cache, digests->code,
						   digests->contract, KL_GATE_POLICY,
						   digests->surface, digests->job, digests->parent);
	int err = kl_fs_mkdir_of(path);

	return err < 0 ? err : kl_fs_put(path, text, strlen(text), 0644);
}

/* Append the line of a result, with the digest of the line without it. */
static int add_result(struct kl_buf *out, const struct digests *digests, size_t i)
{
	KL_AUTO(kl_freep) char *text = kl_asprintf(result_text, digests->contract, digests->job,
						   400000 + i, 1000 + i, digests->surface,
						   i / 60 % 60, i % 60);
	KL_AUTO(json_decrefp) json_t *line = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf canonical = KL_BUF_INIT;
	char hex[KL_DIGEST_HEX];
	int err = kl_json_parse(&line, text, strlen(text));

	if (err < 0)
		return err;
	kl_json_canonical(&canonical, line);
	kl_digest_hex(hex, canonical.ptr, canonical.len);
	kl_json_set_str(line, "sha256", hex);
	kl_json_canonical(out, line);
	kl_buf_addch(out, '\n');
	return 0;
}

static char *results_path(const char *dir, size_t from)
{
	return kl_asprintf("%s/results-%zu", dir, from);
}

static int prepare(const char *dir, size_t n)
{
	int err = 0;

	for (size_t from = 0; !err && from < n; from += A_FILE) {
		KL_AUTO(kl_freep) char *path = results_path(dir, from);
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		char hex[KL_DIGEST_HEX];
		size_t i;

		kl_buf_adds(&text, "{\"bundle\":\"b\",\"schema\":\"klineage.results/1\"}\n");
		for (i = from; !err && i < n && i < from + A_FILE; i++) {
			struct digests digests = digests_at(i);

			if (!(err = put_job(dir, &digests)))
				err = add_result(&text, &digests, i);
		}
		kl_digest_hex(hex, text.ptr, text.len);
		kl_buf_addf(&text, "{\"end\":%zu,\"sha256\":\"%s\"}\n", i - from, hex);
		if (!err)
			err = kl_fs_put(path, text.ptr, text.len, 0644);
	}
	return err;
}

static int import(const char *dir, size_t n)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	int64_t start = kl_clock_ns();
	size_t imported = 0;
	int err = kl_repo_open_at(&repo, dir);

	for (size_t from = 0; !err && from < n; from += A_FILE) {
		KL_AUTO(kl_results_release) struct kl_results results = { .campaign = "bench" };
		KL_AUTO(kl_freep) char *path = results_path(dir, from);

		err = kl_results_file(&results, repo, path);
		imported += results.imported;
	}
	if (!err)
		printf("%zu %" PRId64 "\n", imported, kl_clock_ns() - start);
	return err;
}

/* --- lookups ------------------------------------------------------------------------------ */

/* Look for the verdict of a job; returns true if it was found. */
static int look_up(bool *found, struct kl_repo *repo, const struct digests *digests)
{
	static const struct kl_platform platform = { .id = "cpu/x86-64-v3", .compiler = COMPILER };
	static const struct kl_runner_device device = { .device = DEVICE };
	KL_AUTO(kl_strvec_release) struct kl_strvec flags = KL_STRVEC_INIT;
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
	const struct kl_cache_key key = {
		.surface = digests->surface,
		.contract = digests->contract,
		.platform = &platform,
		.runner = "bundle",
		.runner_device = &device,
		.flags = &flags,
		.tier = KL_TIER_HOST_RESTRICTED,
		.parent = digests->parent,
		.profile = true,
	};
	int err;

	kl_strvec_push(&flags, "-O2");
	err = kl_segment_verdict_find(&event, repo, &key);
	*found = !err;
	return err == KL_ENOTFOUND ? 0 : err;
}

static int look_up_some(size_t *found, int64_t *ns, struct kl_repo *repo, size_t n, size_t offset)
{
	struct kl_rng rng;
	int err = 0;

	kl_rng_seed(&rng, 15);
	*found = 0;
	*ns = 0;
	for (size_t i = 0; !err && i < LOOKUPS; i++) {
		struct digests digests = digests_at(kl_rng_below(&rng, n) + offset);
		int64_t start = kl_clock_ns();
		bool hit;

		err = look_up(&hit, repo, &digests);
		*ns += kl_clock_ns() - start;
		*found += hit;
	}
	*ns /= LOOKUPS;
	return err;
}

static int lookup(const char *dir, size_t n)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	size_t found, missed;
	int64_t hit_ns, miss_ns;
	int err = kl_repo_open_at(&repo, dir);

	if (!err)
		err = look_up_some(&found, &hit_ns, repo, n, 0);
	if (!err)
		err = look_up_some(&missed, &miss_ns, repo, n, n);
	if (!err)
		printf("%zu %" PRId64 " %zu %" PRId64 "\n", found, hit_ns, missed, miss_ns);
	return err;
}

int main(int argc, char **argv)
{
	size_t n = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
	int err;

	if (n && !strcmp(argv[1], "prepare"))
		err = prepare(argv[2], n);
	else if (n && !strcmp(argv[1], "import"))
		err = import(argv[2], n);
	else if (n && !strcmp(argv[1], "lookup"))
		err = lookup(argv[2], n);
	else
		err = kl_error(KL_EUSAGE, "usage: segments prepare|import|lookup <dir> <n>");
	if (err)
		fprintf(stderr, "segments: %s\n", kl_error_last());
	return err ? 1 : 0;
}
