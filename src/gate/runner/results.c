/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/runner/results.h"

#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "contract/surface.h"
#include "event/cache.h"
#include "event/event.h"
#include "event/judgement.h"
#include "event/note_writer.h"
#include "event/runner_device.h"
#include "event/segment_writer.h"
#include "event/signature.h"
#include "gate/runner/bundle.h"
#include "gate/runner/pending_jobs.h"
#include "gate/runner/runner.h"

#define SCHEMA "klineage.results/1"
#define MAX_FILE ((size_t)256 << 20)
#define MAX_WORDS 200 /* maximum length of a device or driver name, in bytes */

void kl_results_release(struct kl_results *results)
{
	free(results->why);
	free(results->signer);
	kl_strvec_release(&results->lines);
	kl_strvec_release(&results->campaigns);
	*results = (struct kl_results){ 0 };
}

/* State of one import. */
struct intake {
	struct kl_results *out;
	struct kl_repo *repo;
	struct kl_noting notes;
	struct kl_map writers; /* "<workload>/<campaign>" -> struct kl_segment_writer, owned */
	size_t added;          /* events that were added to campaigns */
	git_oid head;
	bool have_head;
};

static void free_writer(void *writer)
{
	kl_segment_writer_free(writer);
}

static void intake_release(struct intake *in)
{
	kl_noting_release(&in->notes);
	kl_map_release(&in->writers);
}

/* --- the file ------------------------------------------------------------------- */

/* A results file and the positions of its parts. */
struct file {
	const char *text;
	size_t len;
	size_t body, nbody; /* offset of the result lines, and their length in bytes */
	size_t foot, sig;   /* offsets of the end line and the signature line; 0 if missing */
};

/*
 * Find the next line and its length without the newline. Return false if no complete line is left.
 */
static bool next_line(const char **line, size_t *n, const char *text, size_t len, size_t *at)
{
	const char *end;

	if (*at >= len || !(end = memchr(text + *at, '\n', len - *at)))
		return false;
	*line = text + *at;
	*n = (size_t)(end - *line);
	*at += *n + 1;
	return true;
}

static bool has_member(const char *line, size_t n, const char *prefix)
{
	return n > strlen(prefix) && !memcmp(line, prefix, strlen(prefix));
}

/*
 * Find the parts of a results file. Lines are canonical JSON with sorted members, so no result line
 * begins with "end" or "sig".
 */
static int split_lines(struct file *file, const char *text, size_t len)
{
	KL_AUTO(json_decrefp) json_t *head = NULL;
	const char *line;
	size_t n, at = 0, start;

	*file = (struct file){ .text = text, .len = len };
	if (!next_line(&line, &n, text, len, &at) || kl_json_parse(&head, line, n) < 0 ||
	    strcmp(kl_json_str_or(head, "schema", ""), SCHEMA))
		return kl_error(KL_EINVALID, "not a results file of klineage-worker (%s)", SCHEMA);
	file->body = at;
	for (start = at; next_line(&line, &n, text, len, &at); start = at) {
		if (has_member(line, n, "{\"end\":") && !file->foot)
			file->foot = start;
		else if (has_member(line, n, "{\"sig\":") && file->foot && !file->sig)
			file->sig = start;
		else if (file->foot)
			return kl_error(KL_EINVALID,
					"unexpected data after the end of the results");
	}
	file->nbody = (file->foot ? file->foot : start) - file->body;
	return 0;
}

/* Check the end line: the number of results, and the digest of all bytes before the end line. */
static int check_end(const struct file *file, size_t seen)
{
	KL_AUTO(json_decrefp) json_t *end = NULL;
	char hex[KL_DIGEST_HEX];
	int err;

	if (!file->foot) {
		err = kl_error(KL_EINVALID, "the results are cut off: the worker has not finished, "
					    "or part of the file is missing");
		return kl_error_hint(err, "run the same klineage-worker command again to resume");
	}
	if ((err = kl_json_parse(&end, file->text + file->foot,
				 strcspn(file->text + file->foot, "\n"))) < 0)
		return err;
	kl_digest_hex(hex, file->text, file->foot);
	if (kl_json_int_or(end, "end", -1) != (int64_t)seen ||
	    strcmp(kl_json_str_or(end, "sha256", ""), hex))
		return kl_error(KL_EINVALID, "the results do not match the count and digest in "
					     "their end line, so the file was changed");
	return 0;
}

static int check_signature(struct intake *in, const struct file *file)
{
	KL_AUTO(kl_signers_freep) struct kl_signers *signers = NULL;
	KL_AUTO(json_decrefp) json_t *last = NULL;
	bool required = false;
	int err = kl_repo_config_bool(&required, in->repo, "klineage.requireSigned", false);

	if (err < 0 || (!file->sig && !required))
		return err;
	if (!file->sig) {
		err = kl_error(KL_EINVALID,
			       "the results are not signed, but klineage.requireSigned "
			       "is set");
		return kl_error_hint(err, "to sign results, run klineage-worker --sign-key <file>");
	}
	if ((err = kl_json_parse(&last, file->text + file->sig,
				 strcspn(file->text + file->sig, "\n"))) < 0)
		return err;
	if ((err = kl_signers_open(&signers, in->repo, NULL)) < 0)
		return err;
	err = kl_sign_verify(&in->out->signer, signers, file->text, file->sig,
			     kl_json_str_or(last, "sig", ""));
	if (!err || required)
		return err < 0 ? kl_error_in(err, "the signature of the results") : err;
	/*
	 * ignore the signature, because none is required and this clone has no means to verify it
	 */
	if (err == KL_EINVALID && !kl_signers_none(signers))
		return kl_error_in(err, "the signature of the results");
	kl_error_clear();
	return 0;
}

/* --- one result ------------------------------------------------------------------- */

static int check_seal(json_t *line)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *claimed = kl_strdup(kl_json_str_or(line, "sha256", ""));
	char hex[KL_DIGEST_HEX];

	json_object_del(line, "sha256");
	kl_json_canonical(&text, line);
	kl_digest_hex(hex, text.ptr, text.len);
	return strcmp(claimed, hex) ?
		       kl_error(KL_EINVALID,
				"the line does not match its digest, so it was changed") :
		       0;
}

static int check_same(const json_t *line, const char *key, const char *want)
{
	const char *got = kl_json_str_or(line, key, "");

	if (!strcmp(got, want))
		return 0;
	return kl_error(KL_EINVALID, "the result is for another %s (%.12s, not %.12s)", key, got,
			want);
}

static int check_line(const json_t *line, const struct kl_event *draft, const json_t *result)
{
	int err;

	if ((err = check_same(line, "surface", draft->surface)) < 0 ||
	    (err = check_same(line, "contract", draft->contract)) < 0)
		return err;
	if (draft->policy != KL_GATE_POLICY)
		return kl_error(KL_EINVALID,
				"the gate's rules have changed since the job was sent; "
				"send it again");
	if (!kl_clock_is_iso(kl_json_str_or(line, "time", "")))
		return kl_error(KL_EINVALID, "the result's time is missing or malformed");
	if (strlen(kl_json_str_or(line, "device", "")) > MAX_WORDS ||
	    strlen(kl_json_str_or(line, "driver", "")) > MAX_WORDS)
		return kl_error(KL_EINVALID, "the name of the device or driver is too long");
	if ((err = kl_runner_check(result)) < 0)
		return err;
	if (!strcmp(kl_json_str_or(result, "status", ""), "pass") &&
	    kl_json_int_or(json_object_get(result, "correct"), "cases", 0) < 1)
		return kl_error(KL_EINVALID, "the result is a pass, but no case was checked");
	return 0;
}

/* Return true if the job ran host code that must be confined. */
static bool is_walled(const struct kl_event *draft)
{
	return kl_backend_is_walled(&kl_backends, draft->place.id, draft->tier);
}

static bool is_cannot(const json_t *result)
{
	return !strcmp(kl_json_str_or(result, "status", ""), "cannot");
}

/*
 * Return true if the worker cannot judge this point because of the point, for example because the
 * oracle fails there: then the event says so, as after a local run. Only a process of the worker
 * that reached the job lists its device or what confines it; if it died, or found no device,
 * nothing is known about the point.
 */
static bool refuses_point(const struct kl_event *draft, const json_t *result)
{
	const struct kl_backend *backend = NULL;

	if (draft->kind != KL_KIND_PROBE || !is_cannot(result))
		return false;
	if (kl_backend_owner(&backend, &kl_backends, draft->place.id) < 0) {
		kl_error_clear();
		return false;
	}
	return json_object_get(result, backend->device ? "device" : "jail") != NULL;
}

static int64_t *weights_of(const json_t *record, size_t *n)
{
	const json_t *list = json_object_get(record, "weights");
	int64_t *weights = kl_calloc(json_array_size(list) + 1, sizeof(*weights));

	*n = json_array_size(list);
	for (size_t i = 0; i < *n; i++)
		weights[i] = json_integer_value(json_array_get(list, i));
	return weights;
}

/*
 * Turn a result into a judgement, as kl_gate_judge() does for a local result, with the record of
 * the job in place of the session. Take ownership of the draft.
 */
static struct kl_judgement *judgement_of(struct kl_event *draft, const json_t *record,
					 const json_t *line, json_t *result, const char *signer)
{
	struct kl_judgement *judgement = kl_judgement_new(draft);
	struct kl_judgement_of of = {
		.workload = draft->workload,
		.parent = kl_json_str_or(record, "parent", NULL),
	};
	KL_AUTO(kl_freep) int64_t *weight = weights_of(record, &of.nweight);
	const char *device = kl_json_str_or(line, "device", NULL);
	const char *driver = kl_json_str_or(line, "driver", NULL);

	of.weight = weight;
	draft->time = kl_event_keep(draft, kl_json_str_or(line, "time", ""));
	draft->job = kl_event_keep(draft, kl_json_str_or(line, "job", ""));
	draft->signer = kl_event_keep(draft, signer);
	if (device)
		kl_json_set_str(result, "device", device);
	if (driver)
		kl_json_set_str(result, "driver", driver);
	kl_judgement_take(judgement, result, &of);
	if (is_cannot(result))
		kl_judgement_set(judgement, KL_VERDICT_NOT_RUN, NULL,
				 kl_json_str_or(result, "message", "the worker gave no reason"));
	kl_event_seal(judgement->event);
	return judgement;
}

/* --- storing the verdict -------------------------------------------------------------- */

static bool has_surface(struct intake *in, const git_oid *commit, const char *dir,
			const struct kl_event *event)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
	git_oid tree;

	if (kl_repo_tree_of(&tree, in->repo, commit) < 0 ||
	    kl_surface_from_tree(&surface, in->repo, &tree, dir) < 0)
		return false;
	return kl_event_is_for(event, surface->digest, surface->contract_digest);
}

/* Note the event on those of the job's commits and HEAD that have the judged surface. */
static int note_event(struct intake *in, const json_t *record, struct kl_event *event)
{
	const char *dir = kl_json_str_or(record, "dir", "");
	bool head_done = false;
	size_t i;
	json_t *commit;
	int err = 0;

	json_array_foreach(json_object_get(record, "commits"), i, commit) {
		git_oid oid;

		if (err < 0 || !json_is_string(commit) ||
		    kl_oid_parse(&oid, json_string_value(commit)) < 0 ||
		    !has_surface(in, &oid, dir, event))
			continue;
		head_done |= in->have_head && !memcmp(&oid, &in->head, sizeof(oid));
		err = kl_noting_add(&in->notes, &oid, event);
	}
	if (!err && in->have_head && !head_done && has_surface(in, &in->head, dir, event))
		err = kl_noting_add(&in->notes, &in->head, event);
	if (!err)
		kl_error_clear(); /* a commit can be missing in this clone */
	return err;
}

/* Add the event's device to the cache key, and store the device as the runner's latest. */
static int key_of(char key[KL_DIGEST_HEX], struct intake *in, const json_t *record,
		  const struct kl_event *event)
{
	const char *runner = kl_json_str_or(record, "runner", NULL);
	struct kl_runner_device runner_device;

	snprintf(key, KL_DIGEST_HEX, "%s", kl_json_str_or(record, "cache", ""));
	if (!runner)
		return 0;
	snprintf(runner_device.device, sizeof(runner_device.device), "%s", event->place.device);
	snprintf(runner_device.driver, sizeof(runner_device.driver), "%s", event->place.driver);
	kl_runner_device_key(key, &runner_device);
	return kl_runner_device_put(in->repo, runner, event->place.id, &runner_device);
}

/*
 * Cache an event. A cached fail is kept even if a later result passes, because the kernel has given
 * a wrong answer once. Set *again to true if this event was in the cache already.
 */
static int keep_event(bool *again, struct intake *in, const json_t *record,
		      const struct kl_event *event)
{
	KL_AUTO(kl_event_freep) struct kl_event *old = NULL;
	char key[KL_DIGEST_HEX];
	int err = key_of(key, in, record, event);

	*again = false;
	if (err < 0)
		return err;
	if (kl_cache_get_at(&old, in->repo, event->surface, event->contract, key) < 0)
		kl_error_clear();
	*again = old && !strcmp(old->id, event->id);
	if (*again || (old && kl_event_is_fail(old) && !kl_event_is_fail(event)))
		return 0;
	return kl_cache_put_at(in->repo, key, event);
}

/* Add an event to this campaign of its workload. */
static int add_to_campaign(struct intake *in, struct kl_event *event, const char *campaign)
{
	KL_AUTO(kl_freep) char *name = kl_asprintf("%s/%s", event->workload, campaign);
	struct kl_segment_writer *writer = kl_map_get(&in->writers, name);
	int err;

	if (!writer) {
		err = kl_segment_writer_open(&writer, in->repo, event->workload, campaign);
		if (err < 0)
			return err;
		kl_map_put(&in->writers, name, writer);
		kl_strvec_push(&in->out->campaigns, name);
	}
	in->added++;
	return kl_segment_writer_add(writer, event, NULL);
}

/* Make segments of the added events. Results that a campaign had already were imported before. */
static int seal_campaigns(struct intake *in)
{
	size_t made = 0;
	int err = 0;

	for (size_t i = 0; i < in->writers.n && !err; i++) {
		size_t n;

		err = kl_segment_writer_seal(in->writers.e[i].value, &n);
		made += n;
	}
	if (!err && made < in->added) {
		in->out->again += in->added - made;
		in->out->imported -= in->added - made;
	}
	return err;
}

static int store_event(bool *again, struct intake *in, const json_t *record, struct kl_event *event)
{
	/* a job at one point gives no verdict, so the event is neither cached nor noted */
	const char *campaign = kl_json_str_or(record, "campaign", in->out->campaign);
	char key[KL_DIGEST_HEX];
	int err;

	*again = false;
	if (campaign) {
		err = key_of(key, in, record, event);
		return err < 0 ? err : add_to_campaign(in, event, campaign);
	}
	if ((err = keep_event(again, in, record, event)) < 0)
		return err;
	return note_event(in, record, event);
}

/* --- the import --------------------------------------------------------------------- */

static void report_line(struct intake *in, size_t number, const char *job, const char *state,
			const char *reason)
{
	kl_strvec_pushf(&in->out->lines, "%.12s %s%s%s", *job ? job : "line", state,
			*reason ? ": " : "", reason);
	if (!*job)
		kl_strvec_pushf(&in->out->lines, "  (line %zu)", number);
}

/*
 * Store the last error in out->why, unless out->why already has a reason that takes precedence.
 * Thus `why` becomes the reason of the first refused result or, if no result is refused, of the
 * first job that the worker could not judge.
 */
static void keep_reason(struct kl_results *out, bool refused)
{
	if (out->why && (!refused || out->refused != 1))
		return;
	free(out->why);
	out->why = kl_strdup(kl_error_last());
}

static int take_one(struct intake *in, json_t *line, const char **state)
{
	KL_AUTO(json_decrefp) json_t *record = NULL;
	KL_AUTO(kl_event_freep) struct kl_event *draft = NULL;
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = NULL;
	json_t *result;
	bool again;
	int err;

	if ((err = check_seal(line)) < 0 ||
	    (err = kl_pending_get(&record, in->repo, kl_json_str_or(line, "job", ""))) < 0 ||
	    (err = kl_json_obj(&result, line, "result")) < 0)
		return err == KL_EIO ? err : KL_ENO;
	draft = kl_event_from_json(json_object_get(record, "event"));
	if ((err = check_line(line, draft, result)) < 0)
		return err == KL_EIO ? err : KL_ENO;
	if (is_cannot(result) && !refuses_point(draft, result))
		return kl_error(KL_ECANNOT, "%s",
				kl_json_str_or(result, "message", "the worker gave no reason"));
	if (is_walled(draft) && (err = kl_runner_check_wall(result)) < 0)
		return err;
	judgement = judgement_of(kl_steal(&draft), record, line, result, in->out->signer);
	if ((err = store_event(&again, in, record, judgement->event)) < 0)
		return err == KL_ECANNOT ? KL_EIO : err;
	in->out->imported += !again;
	in->out->again += again;
	*state = again ? "already known" : kl_verdict_name(judgement->event->verdict);
	return 0;
}

/* Import one line. An error in the line refuses this line only; other errors end the import. */
static int take_line(struct intake *in, const char *text, size_t n, size_t number)
{
	KL_AUTO(json_decrefp) json_t *line = NULL;
	const char *state = "", *job = "";
	int err = kl_json_parse(&line, text, n);

	if (!err)
		job = kl_json_str_or(line, "job", "");
	err = err < 0 ? KL_ENO : take_one(in, line, &state);
	if (!err) {
		report_line(in, number, job, state, "");
		return 0;
	}
	if (err != KL_ENO && err != KL_ECANNOT)
		return err;
	if (err == KL_ENO)
		in->out->refused++;
	else
		in->out->cannot++;
	keep_reason(in->out, err == KL_ENO);
	report_line(in, number, job, err == KL_ENO ? "refused" : "cannot be judged by the worker",
		    kl_error_last());
	kl_error_clear();
	return 0;
}

static int take_lines(struct intake *in, const struct file *file, size_t *seen)
{
	const char *line, *text = file->text + file->body;
	size_t n, at = 0;
	int err = 0;

	*seen = 0;
	while (!err && next_line(&line, &n, text, file->nbody, &at)) {
		if (++*seen > KL_BUNDLE_JOBS)
			return kl_error(KL_EINVALID, "the file has more than %d results",
					KL_BUNDLE_JOBS);
		err = take_line(in, line, n, *seen + 1);
	}
	return err;
}

int kl_results_take(struct kl_results *out, struct kl_repo *repo, const char *text, size_t len)
{
	KL_AUTO(intake_release) struct intake in = { .out = out,
						     .repo = repo,
						     .notes = { .repo = repo },
						     .writers = { .free_value = free_writer } };
	struct file file;
	size_t seen;
	int err;

	in.have_head = kl_repo_resolve(&in.head, repo, "HEAD") == 0;
	kl_error_clear();
	if ((err = split_lines(&file, text, len)) < 0 || (err = check_signature(&in, &file)) < 0 ||
	    (err = take_lines(&in, &file, &seen)) < 0 || (err = kl_noting_write(&in.notes)) < 0 ||
	    (err = seal_campaigns(&in)) < 0)
		return err;
	if (out->refused)
		return kl_error(
			KL_EINVALID,
			"%zu of %zu results were refused; the first was refused because: %s",
			out->refused, seen, out->why);
	return check_end(&file, seen);
}

int kl_results_file(struct kl_results *out, struct kl_repo *repo, const char *path)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = strcmp(path, "-") ? kl_fs_read(&text, path, MAX_FILE) :
				      kl_buf_read_fd(&text, 0, MAX_FILE);

	if (!err)
		err = kl_results_take(out, repo, text.ptr, text.len);
	return err < 0 ? kl_error_in(err, "%s", path) : 0;
}
