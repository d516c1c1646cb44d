/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/probe_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/progress.h"
#include "cmd/cli/listing.h"
#include "cmd/cli/table.h"
#include "probe/dispatch.h"
#include "probe/when.h"
#include "probe/when_svg.h"
#include "probe/when_table.h"
#include "retrieve/taxonomy.h"

#define MAX_BYTES ((int64_t)256 << 20) /* of the tensors of a point */
#define POINT_MS 1000                  /* default time of the profile at a point */

/* --- printing --------------------------------------------------------------------------------- */

static void add_row(struct kl_table *table, const struct kl_when *when,
		    const struct kl_when_point *point)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec cells = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf outcome = KL_BUF_INIT;
	char time[32];

	for (size_t i = 0; i < point->dims.n; i++)
		kl_strvec_pushf(&cells, "%lld", (long long)point->dims.v[i]);
	kl_strvec_pushf(&cells, "%lld", (long long)point->bytes);
	kl_strvec_push(&cells, kl_when_fits(when, point));
	kl_table_time(time, point->ns);
	kl_strvec_push(&cells, time);
	kl_when_outcome(&outcome, point);
	kl_strvec_push(&cells, outcome.ptr);
	kl_table_row(table, (const char *const *)cells.v);
}

static void print_table(const struct kl_when *when)
{
	const struct kl_contract *contract = when->contract;
	KL_AUTO(kl_strvec_release) struct kl_strvec heading = KL_STRVEC_INIT;
	KL_AUTO(kl_table_release) struct kl_table table = { .columns = contract->dims.n + 4 };

	for (size_t i = 0; i < contract->dims.n; i++)
		kl_strvec_push(&heading, contract->dim_name[i]);
	kl_strvec_push(&heading, "bytes");
	kl_strvec_push(&heading, "fits in");
	kl_strvec_pushf(&heading, "time of %s", when->name_b);
	kl_strvec_pushf(&heading, "%s against %s", when->name_b, when->name_a);
	kl_table_row(&table, (const char *const *)heading.v);
	for (size_t i = 0; i < when->n; i++)
		if (when->point[i].a.end != KL_WHEN_OPEN)
			add_row(&table, when, &when->point[i]);
	kl_table_print(&table);
}

static void print_left(const struct kl_when *when)
{
	printf("%zu point%s judged", when->made, when->made == 1 ? "" : "s");
	if (when->kept)
		printf(", %zu known from an earlier run", when->kept);
	if (when->left)
		printf(", %zu of the grid not judged", when->left);
	if (when->too_slow)
		printf(" (%zu of them because smaller ones took too long)", when->too_slow);
	if (when->too_large)
		printf(", %zu left out because their tensors exceed %lld MiB", when->too_large,
		       (long long)(MAX_BYTES >> 20));
	putchar('\n');
	if (when->left > when->too_slow)
		printf("run the command again to judge more points, or with a larger --seconds\n");
}

static void print_dispatch(const struct kl_dispatch *dispatch, const char *path)
{
	if (!dispatch->some)
		printf("%s always chooses A: %s\n", path, dispatch->why);
	else
		printf("%s chooses B at %zu of the points: faster at %zu, not faster at %zu\n",
		       path, dispatch->chosen, dispatch->gains, dispatch->others);
	for (size_t i = 0; i < dispatch->sound->fit.n; i++)
		printf("sound: %s\n", dispatch->sound->fit.v[i].text);
	if (!dispatch->sound->points)
		printf("whether B is right between these points is not known: probe the two versions, "
		       "then write the header again\n");
}

static void print_map(const struct kl_when *when, const struct kl_taxonomy *tax,
		      const struct kl_dispatch *dispatch, const struct kl_probe_map *args)
{
	KL_AUTO(kl_buf_release) struct kl_buf words = KL_BUF_INIT, predicate = KL_BUF_INIT;

	print_table(when);
	putchar('\n');
	print_left(when);
	kl_when_words(&words, when);
	printf("%s\n", words.ptr);
	if (kl_when_predicate(&predicate, when, tax))
		printf("useful: %s\n", predicate.ptr);
	if (args->dispatch)
		print_dispatch(dispatch, args->dispatch);
}

/* --- the map ---------------------------------------------------------------------------------- */

static int write_files(const struct kl_when *when, const struct kl_dispatch *dispatch,
		       const struct kl_probe_map *args)
{
	KL_AUTO(kl_buf_release) struct kl_buf svg = KL_BUF_INIT, header = KL_BUF_INIT;
	int err = 0;

	if (args->map) {
		kl_when_svg(&svg, when);
		err = kl_fs_write_output(args->map, svg.ptr, svg.len);
	}
	if (err < 0 || !args->dispatch)
		return err;
	kl_dispatch_header(&header, dispatch, when);
	return kl_fs_write_output(args->dispatch, header.ptr, header.len);
}

char *kl_probe_map_name(const char *rev, const git_oid *commit)
{
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, commit);
	return strncmp(hex, rev, strlen(rev)) ? kl_asprintf("%s (%.10s)", rev, hex) :
						kl_strndup(hex, 10);
}

static int make_map(struct kl_when *when, struct kl_repo *repo, const struct kl_probe_map *args)
{
	KL_AUTO(kl_progress_freep) struct kl_progress *progress = NULL;
	struct kl_when_opts opts = {
		.repo = repo,
		.a = args->a,
		.b = args->b,
		.name_a = args->name_a,
		.name_b = args->name_b,
		.jail = args->jail,
		.platform = args->platform,
		.seconds = args->seconds,
		.max_bytes = MAX_BYTES,
		.again = args->again,
	};
	int err = kl_repo_config_int(&opts.point_ms, repo, "klineage.profileMs", POINT_MS);

	if (err < 0)
		return err;
	if (!args->quiet)
		progress = kl_progress_new(args->progress ? KL_PROGRESS_ALWAYS : KL_PROGRESS_AUTO);
	opts.progress = progress;
	return kl_when_make(when, &opts);
}

/* Find where b is right, from what probes of the two versions have stored. */
static int find_sound(struct kl_sound *sound, struct kl_repo *repo, const struct kl_taxonomy *tax,
		      const struct kl_probe_map *args)
{
	return kl_sound_find(sound,
			     &(struct kl_probing_opts){
				     .repo = repo,
				     .tax = tax,
				     .jail = args->jail,
				     .platform = args->platform,
			     },
			     args->a, args->b);
}

int kl_probe_map(struct kl_repo *repo, const struct kl_probe_map *args)
{
	KL_AUTO(kl_when_release) struct kl_when when = { 0 };
	KL_AUTO(kl_taxonomy_freep) struct kl_taxonomy *tax = NULL;
	KL_AUTO(json_decrefp) json_t *doc = NULL;
	KL_AUTO(kl_sound_release) struct kl_sound sound = { .points = 0 };
	struct kl_dispatch dispatch;
	int err, stopped;

	if ((err = kl_taxonomy_load(&tax)) < 0)
		return err;
	stopped = make_map(&when, repo, args);
	if (stopped < 0 && stopped != KL_EINTR)
		return stopped;
	kl_when_sort(&when);
	if (args->dispatch && (err = find_sound(&sound, repo, tax, args)) < 0)
		return err;
	if (sound.fit.n)
		kl_dispatch_fit(&when, &sound);
	kl_dispatch_choose(&dispatch, &when, &sound);
	if ((err = write_files(&when, &dispatch, args)) < 0)
		return err;
	if (args->json) {
		doc = kl_when_json(&when, tax);
		kl_listing_put(doc);
	} else {
		print_map(&when, tax, &dispatch, args);
	}
	return stopped;
}
