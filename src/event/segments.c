/* SPDX-License-Identifier: Apache-2.0 */
#include "event/segments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/prefix.h"
#include "event/segment_log.h"
#include "repo/refs.h"
#include "repo/tree.h"

struct campaign {
	char *name, *workload; /* "<workload>/<name>", and its first part */
	git_oid tree;          /* tree of the newest segment; zero if there is none */
	struct kl_buf log;     /* events that are in no segment yet */
};

struct kl_segments {
	struct kl_repo *repo; /* borrowed */
	struct campaign *v;
	size_t n, alloc;
};

void kl_segments_free(struct kl_segments *segments)
{
	if (!segments)
		return;
	for (size_t i = 0; i < segments->n; i++) {
		free(segments->v[i].name);
		free(segments->v[i].workload);
		kl_buf_release(&segments->v[i].log);
	}
	free(segments->v);
	free(segments);
}

bool kl_segments_none(const struct kl_segments *segments)
{
	return !segments->n;
}

static struct campaign *campaign_of(struct kl_segments *segments, const char *name)
{
	for (size_t i = 0; i < segments->n; i++)
		if (!strcmp(segments->v[i].name, name))
			return &segments->v[i];
	KL_GROW(segments->v, segments->n + 1, segments->alloc);
	segments->v[segments->n] = (struct campaign){ .name = kl_strdup(name),
						      .workload = kl_strndup(name,
									     strcspn(name, "/")),
						      .tree = kl_oid_none,
						      .log = KL_BUF_INIT };
	return &segments->v[segments->n++];
}

/* Logs are read before refs, so that events that become a segment meanwhile are not missed. */
static int open_logs(struct kl_segments *segments)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec logs = KL_STRVEC_INIT;
	int err = kl_segment_log_list(&logs, segments->repo);

	for (size_t i = 0; !err && i < logs.n; i++) {
		struct campaign *campaign = campaign_of(segments, logs.v[i]);
		bool torn;

		err = kl_segment_log_peek(&campaign->log, &torn, segments->repo, logs.v[i]);
	}
	return err;
}

static int open_refs(struct kl_segments *segments)
{
	KL_AUTO(kl_ref_list_release) struct kl_ref_list refs = { 0 };
	int err = kl_refs_list(&refs, segments->repo, KL_SEGMENT_REFS);

	for (size_t i = 0; !err && i < refs.n; i++) {
		struct campaign *campaign = campaign_of(segments,
							refs.ref[i].name + strlen(KL_SEGMENT_REFS));

		err = kl_repo_tree_of(&campaign->tree, segments->repo, &refs.ref[i].oid);
		if (err < 0 && err != KL_EIO) { /* not a commit, which fsck reports */
			kl_error_clear();
			campaign->tree = kl_oid_none;
			err = 0;
		}
	}
	return err;
}

int kl_segments_open(struct kl_segments **out, struct kl_repo *repo)
{
	KL_AUTO(kl_segments_freep) struct kl_segments *segments = kl_calloc(1, sizeof(*segments));
	int err;

	segments->repo = repo;
	if ((err = open_logs(segments)) < 0 || (err = open_refs(segments)) < 0)
		return err;
	*out = kl_steal(&segments);
	return 0;
}

/*
 * --- handing out events ---------------------------------------------------------------
 */

struct reading {
	const struct campaign *campaign;
	const char *surface;
	const struct kl_segments_filter *filter;
	kl_segments_fn *fn;
	void *payload;
	/*
	 * in a walk over a campaign with a log: ids of the log's events, for which `fn` was called
	 * already
	 */
	struct kl_map *seen;
	bool from_log;
};

/*
 * Return true if the line, which is canonical, has, in any object, a member whose value begins with
 * `value`. Return true also if `value` is NULL.
 */
static bool has_member(const char *line, size_t len, const char *key, const char *value)
{
	char text[128];
	int n = value ? snprintf(text, sizeof(text), "\"%s\":\"%s", key, value) : 0;

	return !value || n >= (int)sizeof(text) || memmem(line, len, text, (size_t)n);
}

static bool is_kind(const struct kl_event *event, const char *kind)
{
	KL_AUTO(json_decrefp) json_t *doc = NULL;

	if (event->kind != KL_KIND_OTHER)
		return !strcmp(kl_event_kind_name(event->kind), kind);
	doc = kl_event_json(event);
	return !strcmp(kl_json_str_or(doc, "kind", ""), kind);
}

static bool is_wanted(const struct reading *reading, const struct kl_event *event)
{
	const struct kl_segments_filter *filter = reading->filter;

	return !strcmp(event->workload, reading->campaign->workload) &&
	       kl_event_is_for(event, reading->surface, filter->contract) &&
	       (!filter->kind || is_kind(event, filter->kind)) &&
	       (!filter->id || kl_prefix_has(event->id, filter->id));
}

static int hand_out(const char *line, size_t len, void *payload)
{
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
	const struct reading *reading = payload;
	const struct kl_segments_filter *filter = reading->filter;

	/* parse as little as possible */
	if (!has_member(line, len, "surface", reading->surface) ||
	    !has_member(line, len, "contract", filter->contract) ||
	    !has_member(line, len, "kind", filter->kind) ||
	    !has_member(line, len, "id", filter->id))
		return 0;
	if (kl_event_parse(&event, line, len) < 0) {
		kl_error_clear();
		return 0;
	}
	if (!is_wanted(reading, event))
		return 0;
	if (reading->seen && !reading->from_log && kl_map_get(reading->seen, event->id))
		return 0;
	if (reading->seen && reading->from_log &&
	    kl_map_put(reading->seen, event->id, (void *)reading))
		return 0;
	return reading->fn(event, reading->campaign->name, reading->payload);
}

/* Read a file of a segment: the lines of `reading->surface`, or all. */
static int read_file(struct kl_repo *repo, const git_oid *blob, struct reading *reading)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_segment_release) struct kl_segment file = { 0 };
	int err = kl_repo_blob_read(&text, repo, blob, KL_SEGMENT_MAX_FILE);

	if (err == KL_EINVALID) { /* too large, or not a blob */
		kl_error_clear();
		return 0;
	}
	if (err < 0)
		return err;
	if (kl_segment_open(&file, reading->campaign->workload, text.ptr, text.len) < 0) {
		kl_error_clear();
		return 0;
	}
	return reading->surface ?
		       kl_segment_of_surface(&file, reading->surface, hand_out, reading) :
		       kl_segment_each_line(file.lines, file.len, hand_out, reading);
}

static int read_directory(struct kl_repo *repo, const char *name, struct reading *reading)
{
	KL_AUTO(kl_tree_entries_release) struct kl_tree_entries files = { 0 };
	int err = kl_repo_tree_level(&files, repo, &reading->campaign->tree, name);

	for (size_t i = 0; !err && i < files.n; i++)
		if (files.v[i].mode == KL_MODE_FILE)
			err = read_file(repo, &files.v[i].oid, reading);
	return err;
}

static int read_log(struct reading *reading)
{
	int err;

	reading->from_log = true;
	err = kl_segment_each_line(reading->campaign->log.ptr, reading->campaign->log.len, hand_out,
				   reading);
	reading->from_log = false;
	return err;
}

int kl_segments_of_surface(struct kl_segments *segments, const char *surface, const char *contract,
			   kl_segments_fn *fn, void *payload)
{
	struct kl_segments_filter filter = { .contract = contract };
	struct reading reading = {
		.surface = surface, .filter = &filter, .fn = fn, .payload = payload
	};
	char dir[3];
	int err = 0;

	if (strlen(surface) != KL_DIGEST_HEX - 1)
		return 0;
	snprintf(dir, sizeof(dir), "%.2s", surface);
	for (size_t i = 0; !err && i < segments->n; i++) {
		reading.campaign = &segments->v[i];
		err = read_log(&reading);
		if (!err && !git_oid_is_zero(&reading.campaign->tree))
			err = read_directory(segments->repo, dir, &reading);
	}
	return err;
}

/* --- walking over all events ------------------------------------------------------------ */

static int walk_campaign(struct kl_segments *segments, struct reading *reading)
{
	KL_AUTO(kl_tree_entries_release) struct kl_tree_entries dirs = { 0 };
	int err = read_log(reading);

	if (err || git_oid_is_zero(&reading->campaign->tree))
		return err;
	err = kl_repo_tree_level(&dirs, segments->repo, &reading->campaign->tree, "");
	for (size_t i = 0; !err && i < dirs.n; i++)
		if (dirs.v[i].mode == KL_MODE_TREE && strcmp(dirs.v[i].path, KL_SEGMENT_TREES))
			err = read_directory(segments->repo, dirs.v[i].path, reading);
	return err;
}

int kl_segments_each(struct kl_segments *segments, const struct kl_segments_filter *filter,
		     kl_segments_fn *fn, void *payload)
{
	int err = 0;

	for (size_t i = 0; !err && i < segments->n; i++) {
		KL_AUTO(kl_map_release) struct kl_map seen = KL_MAP_INIT;
		struct reading reading = {
			.campaign = &segments->v[i], .filter = filter, .fn = fn, .payload = payload
		};

		if (filter->campaign && strcmp(filter->campaign, segments->v[i].name))
			continue;
		reading.seen = segments->v[i].log.len ? &seen : NULL;
		err = walk_campaign(segments, &reading);
	}
	return err;
}

struct seeking {
	struct kl_event *event;
	bool several;
};

static int take_match(struct kl_event *event, const char *campaign, void *payload)
{
	struct seeking *seeking = payload;

	seeking->several |= seeking->event && strcmp(seeking->event->id, event->id);
	kl_event_free(seeking->event);
	seeking->event = kl_event_ref(event);
	return 0;
}

int kl_segments_find_id(struct kl_event **event, struct kl_segments *segments, const char *prefix)
{
	struct kl_segments_filter filter = { .id = prefix };
	struct seeking seeking = { .event = NULL };
	int err = kl_segments_each(segments, &filter, take_match, &seeking);

	if (!err && seeking.several)
		err = kl_error(KL_ENOTFOUND, "the ids of several events begin with '%s'", prefix);
	else if (!err && !seeking.event)
		err = kl_error(KL_ENOTFOUND, "no event %.12s in the segments", prefix);
	if (err < 0)
		kl_event_free(seeking.event);
	else
		*event = seeking.event;
	return err;
}

/* --- judging trust ---------------------------------------------------------------------- */

struct adding {
	struct kl_trust *trust;
	size_t tag;
};

static int add_line(struct kl_event *event, const char *campaign, void *payload)
{
	const struct adding *adding = payload;

	if (event->kind != KL_KIND_GATE && event->kind != KL_KIND_CHECK &&
	    event->kind != KL_KIND_RETRACT)
		return 0;
	kl_trust_add_event(adding->trust, adding->tag, kl_event_ref(event), false);
	return 0;
}

int kl_segments_add_to(struct kl_trust *trust, size_t tag, struct kl_segments *segments,
		       const char *surface, const char *contract)
{
	struct adding adding = { trust, tag };

	return kl_segments_of_surface(segments, surface, contract, add_line, &adding);
}
