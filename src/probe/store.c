/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/fs.h"
#include "base/rng.h"
#include "event/own.h"
#include "event/segment_log.h"
#include "event/segment_writer.h"
#include "event/segments.h"

#define SEED_BITS (UINT64_MAX >> 16)

struct kl_probe_store {
	struct kl_repo *repo; /* borrowed */
	char *dir;
	uint64_t seed;
	struct kl_segments *segments;
	struct kl_own own;
	struct kl_map read;    /* surfaces whose events were read */
	struct kl_map events;  /* text of a key, and id -> struct kl_event *, owned */
	struct kl_map writers; /* workload -> struct kl_segment_writer *, owned */
	uint64_t others;       /* a number that changes when other processes add to logs */
	bool stale;            /* other processes have added events since ours were read */
};

/* Make the seed, unless there is one. link(2) fails if another process made it first. */
static int make_seed(const char *path)
{
	KL_AUTO(kl_freep) char *temporary = kl_asprintf("%s.%ld", path, (long)getpid());
	char made[32];
	int err;

	/* Clear the first 16 bits, by which a seed that names a call begins (first_call.h). */
	snprintf(made, sizeof(made), "%" PRIu64 "\n", (kl_rng_os_seed() & SEED_BITS) | 1);
	if ((err = kl_fs_write(temporary, made, strlen(made))) < 0)
		return err;
	if (link(temporary, path) < 0 && errno != EEXIST)
		err = kl_error_errno("cannot write '%s'", path);
	unlink(temporary);
	return err;
}

static int read_seed(struct kl_probe_store *store)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(store->dir, "seed");
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = kl_fs_exists(path) ? 0 : make_seed(path);

	if (err < 0 || (err = kl_fs_read(&text, path, 64)) < 0)
		return err;
	store->seed = strtoull(text.len ? text.ptr : "", NULL, 10) & SEED_BITS;
	return store->seed ? 0 :
			     kl_error_hint(kl_error(KL_EINVALID, "'%s' has no seed", path),
					   "remove the file; the next probe makes another");
}

uint64_t kl_probe_store_seed(const struct kl_probe_store *store)
{
	return store->seed;
}

static void free_writer(void *writer)
{
	kl_segment_writer_free(writer);
}

/*
 * Return a number that grows when lines are added to logs, and jumps if a log is made or removed.
 */
static uint64_t state_of_logs(const struct kl_probe_store *store)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec logs = KL_STRVEC_INIT;
	uint64_t state = 0;

	if (kl_segment_log_list(&logs, store->repo) < 0)
		kl_error_clear();
	for (size_t i = 0; i < logs.n; i++) {
		KL_AUTO(kl_freep) char *path = kl_asprintf("%s/klineage/campaign/%s.jsonl",
							   kl_repo_common_dir(store->repo),
							   logs.v[i]);
		struct stat st;

		if (stat(path, &st) == 0)
			state += (uint64_t)st.st_size + (uint64_t)st.st_ino * 0x9e3779b97f4a7c15u;
	}
	return state;
}

int kl_probe_store_open(struct kl_probe_store **out, struct kl_repo *repo)
{
	KL_AUTO(kl_probe_store_freep) struct kl_probe_store *store = kl_calloc(1, sizeof(*store));
	int err;

	store->repo = repo;
	store->events.free_value = kl_event_free_value;
	store->writers.free_value = free_writer;
	store->dir = kl_fs_join(kl_repo_common_dir(repo), "klineage/probe");
	store->others = state_of_logs(store);
	/* ids are recorded before their events, so read them afterwards */
	if ((err = kl_fs_mkdir(store->dir)) < 0 || (err = read_seed(store)) < 0 ||
	    (err = kl_segments_open(&store->segments, repo)) < 0 ||
	    (err = kl_own_load(&store->own, repo)) < 0)
		return err;
	*out = kl_steal(&store);
	return 0;
}

void kl_probe_store_free(struct kl_probe_store *store)
{
	if (!store)
		return;
	free(store->dir);
	kl_segments_free(store->segments);
	kl_own_release(&store->own);
	kl_map_release(&store->read);
	kl_map_release(&store->events);
	kl_map_release(&store->writers);
	free(store);
}

/* --- keys ------------------------------------------------------------------------------------- */

struct place {
	const char *id, *device, *compiler;
};

static char *key_text(const char *surface, const char *contract, const struct place *place,
		      const json_t *point)
{
	struct kl_buf out = KL_BUF_INIT;

	kl_buf_addf(&out, "%s %s\n%s\n%s\n%s\n", surface, contract, place->id, place->device,
		    place->compiler);
	kl_json_canonical(&out, point);
	return kl_buf_detach(&out);
}

/* Keep an event under its key with this device, unless a newer one is there. */
static void keep_under(struct kl_probe_store *store, struct kl_event *event, const char *device)
{
	const struct place place = { event->place.id, device, event->place.compiler };
	KL_AUTO(kl_freep) char *text = key_text(event->surface, event->contract, &place,
						event->point);
	const struct kl_event *old = kl_map_get(&store->events, text);

	if (!old || kl_event_is_newer(event, old))
		kl_map_put(&store->events, text, kl_event_ref(event));
}

/* Keep an event as long as the store, even if a newer one takes its place: it can be borrowed. */
static void keep_event(struct kl_probe_store *store, struct kl_event *event)
{
	if (!kl_map_get(&store->events, event->id))
		kl_map_put(&store->events, event->id, kl_event_ref(event));
	keep_under(store, event, event->place.device);
	if (*event->place.device)
		keep_under(store, event, "");
}

bool kl_probe_store_is_about_kernel(enum kl_failure failure)
{
	return failure == KL_FAILURE_COMPILE || failure == KL_FAILURE_HANG ||
	       failure == KL_FAILURE_FAULT || failure == KL_FAILURE_WRONG_ALL ||
	       failure == KL_FAILURE_WRONG_EDGE || failure == KL_FAILURE_NONDETERMINISTIC ||
	       failure == KL_FAILURE_LAUNCH;
}

bool kl_probe_store_is_final(const struct kl_event *event)
{
	return event->verdict == KL_VERDICT_PASS || event->verdict == KL_VERDICT_NOT_RUN ||
	       (event->verdict == KL_VERDICT_FAIL &&
		kl_probe_store_is_about_kernel(event->failure));
}

/* --- reading the events of a surface ---------------------------------------------------------- */

struct reading {
	struct kl_probe_store *store;
	struct kl_trust made;        /* events of this clone */
	struct kl_trust retractions; /* of any event */
};

static void reading_release(struct reading *reading)
{
	kl_trust_release(&reading->made);
	kl_trust_release(&reading->retractions);
}

static int take_event(struct kl_event *event, const char *campaign, void *payload)
{
	struct reading *reading = payload;

	if (event->kind == KL_KIND_RETRACT)
		kl_trust_add_event(&reading->retractions, 0, kl_event_ref(event), false);
	else if (event->kind == KL_KIND_PROBE && event->policy == KL_GATE_POLICY && event->point &&
		 kl_probe_store_is_final(event) && kl_own_has(&reading->store->own, event->id))
		kl_trust_add_event(&reading->made, 0, kl_event_ref(event), true);
	return 0;
}

/* Decide which retractions count. This reads signatures, so look only at the events they name. */
static int judge_retractions(struct reading *reading)
{
	KL_AUTO(kl_map_release) struct kl_map named = KL_MAP_INIT;
	struct kl_trust *trust = &reading->retractions;

	for (size_t i = 0; i < trust->n; i++)
		kl_map_put(&named, trust->v[i].event->of, reading);
	for (size_t i = 0; i < reading->made.n; i++) {
		struct kl_event *event = reading->made.v[i].event;

		if (named.n && kl_map_get(&named, event->id))
			kl_trust_add_event(trust, 0, kl_event_ref(event), true);
	}
	return kl_trust_judge(trust, reading->store->repo);
}

static int read_surface(struct kl_probe_store *store, const char *surface)
{
	KL_AUTO(reading_release) struct reading reading = { .store = store };
	int err;

	if (kl_map_get(&store->read, surface))
		return 0;
	if ((err = kl_segments_of_surface(store->segments, surface, NULL, take_event, &reading)) <
		    0 ||
	    (err = judge_retractions(&reading)) < 0)
		return err;
	for (size_t i = 0; i < reading.made.n; i++) {
		struct kl_event *event = reading.made.v[i].event;

		if (!kl_trust_is_retracted(&reading.retractions, event->id))
			keep_event(store, event);
	}
	kl_map_put(&store->read, surface, store);
	return 0;
}

int kl_probe_store_find(const struct kl_event **out, struct kl_probe_store *store,
			const struct kl_probe_key *key)
{
	const struct place place = { key->platform->id, key->platform->device,
				     key->platform->compiler };
	KL_AUTO(kl_freep) char *text = key_text(key->surface, key->contract, &place, key->point);
	int err = read_surface(store, key->surface);

	if (err < 0)
		return err;
	*out = kl_map_get(&store->events, text);
	return *out ? 0 : kl_error(KL_ENOTFOUND, "no probe of this clone has judged the point");
}

int kl_probe_store_each(struct kl_probe_store *store, const char *surface, const char *contract,
			kl_probe_store_fn *fn, void *payload)
{
	int err = read_surface(store, surface);

	for (size_t i = 0; i < store->events.n && !err; i++) {
		const struct kl_event *event = store->events.e[i].value;

		/* each event is kept under its id, and under its keys */
		if (!strcmp(store->events.e[i].key, event->id) &&
		    kl_event_is_for(event, surface, contract))
			err = fn(event, payload);
	}
	return err;
}

/* --- other processes -------------------------------------------------------------------------- */

/* Read everything again if another process has changed a log. */
static int refresh(struct kl_probe_store *store)
{
	uint64_t state = state_of_logs(store);
	int err;

	if (state == store->others && !store->stale)
		return 0;
	kl_segments_free(kl_steal(&store->segments));
	kl_own_release(&store->own);
	kl_map_release(&store->read);
	store->others = state;
	store->stale = false;
	err = kl_segments_open(&store->segments, store->repo);
	return err < 0 ? err : kl_own_load(&store->own, store->repo);
}

int kl_probe_store_claim(struct kl_lock *lock, struct kl_probe_store *store,
			 const struct kl_probe_key *key, int64_t wait_ms)
{
	const struct place place = { key->platform->id, "", key->platform->compiler };
	KL_AUTO(kl_freep) char *text = key_text(key->surface, key->contract, &place, key->point);
	KL_AUTO(kl_freep) char *path = NULL;
	char hex[KL_DIGEST_HEX];
	int err;

	kl_digest_hex(hex, text, strlen(text));
	path = kl_asprintf("%s/claim-%.2s", store->dir, hex);
	if ((err = kl_lock_take(lock, path, wait_ms)) < 0)
		return err;
	return refresh(store);
}

/* --- adding events ---------------------------------------------------------------------------- */

static int writer_of(struct kl_segment_writer **out, struct kl_probe_store *store,
		     const char *workload)
{
	int err;

	*out = kl_map_get(&store->writers, workload);
	if (*out)
		return 0;
	if ((err = kl_segment_writer_open(out, store->repo, workload, KL_PROBE_CAMPAIGN)) < 0)
		return err;
	kl_map_put(&store->writers, workload, *out);
	return 0;
}

int kl_probe_store_put(struct kl_probe_store *store, struct kl_event *event)
{
	struct kl_segment_writer *writer;
	KL_AUTO(kl_buf_release) struct kl_buf line = KL_BUF_INIT;
	uint64_t before = state_of_logs(store);
	int err = KL_FAULT("probe-put");

	if (err < 0 || (err = writer_of(&writer, store, event->workload)) < 0 ||
	    (err = kl_segment_writer_add(writer, event, NULL)) < 0 ||
	    (err = kl_segment_writer_flush(writer)) < 0)
		return err;
	keep_event(store, event);
	kl_event_write(&line, event);
	store->stale = store->stale || before != store->others;
	store->others = state_of_logs(store);
	/* If the logs grew by more than this line, another process has added events. */
	store->stale = store->stale || store->others - before != line.len + 1;
	return 0;
}

int kl_probe_store_seal(struct kl_probe_store *store, const char *workload)
{
	KL_AUTO(kl_freep) char *campaign = kl_asprintf("%s/" KL_PROBE_CAMPAIGN, workload);
	KL_AUTO(kl_strvec_release) struct kl_strvec logs = KL_STRVEC_INIT;
	struct kl_segment_writer *writer;
	int err = kl_segment_log_list(&logs, store->repo);

	for (size_t i = 0; i < logs.n && !err; i++) {
		if (strcmp(logs.v[i], campaign) != 0)
			continue;
		err = writer_of(&writer, store, workload);
		if (!err)
			err = kl_segment_writer_seal(writer, NULL);
	}
	return err;
}
