/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events in segments: what was added is found, by its surface and in a walk, whoever was killed
 * meanwhile; what is no event of the campaign is named by its line.
 */
#include <signal.h>
#include <sys/wait.h>

#include "base/rng.h"
#include "event/segment_log.h"
#include "event/segment_writer.h"
#include "event/segments.h"
#include "event_lib.h"
#include "scratch.h"

#define WORKLOAD "topk"
#define REF KL_SEGMENT_REFS WORKLOAD "/a"

static void digest_of(char out[KL_DIGEST_HEX], const char *what, int number)
{
	char text[64];

	snprintf(text, sizeof(text), "%s %d", what, number);
	kl_digest_hex(out, text, strlen(text));
}

/* The event with this number, about one of `surfaces` surfaces; the caller frees. */
static struct kl_event *event_at(int number, int surfaces, const char *kind)
{
	char surface[KL_DIGEST_HEX], contract[KL_DIGEST_HEX], time[24];
	json_t *doc = json_object();

	digest_of(surface, "surface", number % surfaces);
	digest_of(contract, "contract", 0);
	snprintf(time, sizeof(time), "2026-01-01T00:%02d:%02dZ", number / 60 % 60, number % 60);
	kl_json_set_int(doc, "v", 1);
	kl_json_set_str(doc, "kind", kind);
	kl_json_set_str(doc, "time", time);
	kl_json_set_str(doc, "workload", WORKLOAD);
	kl_json_set_str(doc, "surface", surface);
	kl_json_set_str(doc, "contract", contract);
	kl_json_set_str(doc, "verdict", "pass");
	kl_json_set_int(doc, "number", number);
	return event_of(doc, true);
}

struct repository {
	char *dir;
	struct kl_repo *repo;
};

static struct repository repository(const char *name)
{
	struct repository made = { .dir = scratch_repo(name) };

	assert_ok(kl_repo_open_at(&made.repo, made.dir));
	return made;
}

static void repository_release(struct repository *repository)
{
	kl_repo_free(repository->repo);
	free(repository->dir);
}

static void add_events(struct kl_repo *repo, int from, int to, int surfaces, bool seal)
{
	KL_AUTO(kl_segment_writer_freep) struct kl_segment_writer *writer = NULL;

	assert_ok(kl_segment_writer_open(&writer, repo, WORKLOAD, "a"));
	for (int i = from; i < to; i++) {
		KL_AUTO(kl_event_freep) struct kl_event *event = event_at(i, surfaces, "gate");

		assert_ok(kl_segment_writer_add(writer, event, NULL));
	}
	assert_ok(kl_segment_writer_flush(writer));
	if (seal)
		assert_ok(kl_segment_writer_seal(writer, NULL));
}

/* --- counting ------------------------------------------------------------------------- */

static int count_event(struct kl_event *event, const char *campaign, void *payload)
{
	assert_string_equal(campaign, WORKLOAD "/a");
	++*(size_t *)payload;
	return 0;
}

static size_t of_surface(struct kl_repo *repo, int number)
{
	KL_AUTO(kl_segments_freep) struct kl_segments *segments = NULL;
	char surface[KL_DIGEST_HEX], contract[KL_DIGEST_HEX];
	size_t n = 0;

	digest_of(surface, "surface", number);
	digest_of(contract, "contract", 0);
	assert_ok(kl_segments_open(&segments, repo));
	assert_ok(kl_segments_of_surface(segments, surface, contract, count_event, &n));
	return n;
}

static size_t walked(struct kl_repo *repo, const char *kind)
{
	KL_AUTO(kl_segments_freep) struct kl_segments *segments = NULL;
	struct kl_segments_filter filter = { .kind = kind };
	size_t n = 0;

	assert_ok(kl_segments_open(&segments, repo));
	assert_ok(kl_segments_each(segments, &filter, count_event, &n));
	return n;
}

/* --- what was added is found ---------------------------------------------------------- */

static void found_before_and_after_sealing(void **state)
{
	KL_AUTO(repository_release) struct repository here = repository("found");

	assert_int_equal(walked(here.repo, NULL), 0);
	add_events(here.repo, 0, 100, 7, false);
	assert_int_equal(walked(here.repo, NULL), 100);
	assert_int_equal(of_surface(here.repo, 0), 15);
	assert_sh("0", here.dir, "git for-each-ref %s | wc -l", KL_SEGMENT_REFS);
	add_events(here.repo, 100, 140, 7, true);
	assert_int_equal(walked(here.repo, NULL), 140);
	assert_int_equal(of_surface(here.repo, 0), 20);
	assert_int_equal(of_surface(here.repo, 6), 20);
	assert_int_equal(of_surface(here.repo, 7), 0);
	assert_sh("segment: add 140 events", here.dir, "git log --format=%%s %s", REF);
	assert_sh(
		"140", here.dir,
		"git ls-tree -r --name-only %s | while read -r f; do git cat-file blob %s:$f; done | "
		"grep -c '\"kind\"'",
		REF, REF);
	assert_sh("", here.dir, "find .git/klineage/campaign -name '*.jsonl'");
	/* another segment beside the first */
	add_events(here.repo, 140, 150, 7, true);
	assert_int_equal(walked(here.repo, NULL), 150);
	assert_sh("2", here.dir, "git rev-list --count %s", REF);
	sh(here.dir,
	   "git fsck --strict --no-dangling 2>&1 | grep . && exit 1; git gc -q --prune=now");
	assert_int_equal(walked(here.repo, NULL), 150);
}

static void repeated_events_are_added_once(void **state)
{
	KL_AUTO(repository_release) struct repository here = repository("again");
	KL_AUTO(kl_freep) char *tip = NULL;

	add_events(here.repo, 0, 50, 5, false);
	add_events(here.repo, 0, 50, 5, false);
	assert_int_equal(walked(here.repo, NULL), 50);
	add_events(here.repo, 0, 50, 5, true);
	assert_int_equal(walked(here.repo, NULL), 50);
	tip = sh_text(here.dir, "git rev-parse %s", REF);
	add_events(here.repo, 10, 40, 5, true);
	assert_sh(tip, here.dir, "git rev-parse %s", REF);
	assert_int_equal(of_surface(here.repo, 0), 10);
}

static void a_walk_can_ask_for_a_kind(void **state)
{
	KL_AUTO(repository_release) struct repository here = repository("kind");
	KL_AUTO(kl_segment_writer_freep) struct kl_segment_writer *writer = NULL;
	KL_AUTO(kl_segments_freep) struct kl_segments *segments = NULL;
	KL_AUTO(kl_event_freep) struct kl_event *found = NULL;
	char id[KL_DIGEST_HEX];

	assert_ok(kl_segment_writer_open(&writer, here.repo, WORKLOAD, "a"));
	for (int i = 0; i < 30; i++) {
		KL_AUTO(kl_event_freep)
		struct kl_event *event = event_at(i, 3, i % 3 ? "gate" : "probe");

		snprintf(id, sizeof(id), "%s", event->id);
		assert_ok(kl_segment_writer_add(writer, event, NULL));
		assert_ok(kl_segment_writer_flush(writer));
	}
	assert_int_equal(walked(here.repo, "probe"), 10);
	assert_ok(kl_segment_writer_seal(writer, NULL));
	assert_int_equal(walked(here.repo, "probe"), 10);
	assert_int_equal(walked(here.repo, "gate"), 20);
	assert_ok(kl_segments_open(&segments, here.repo));
	id[10] = '\0';
	assert_ok(kl_segments_find_id(&found, segments, id));
	assert_int_equal(kl_segments_find_id(&found, segments, "000000000"), KL_ENOTFOUND);
}

static void a_log_that_is_full_becomes_a_segment(void **state)
{
	KL_AUTO(repository_release) struct repository here = repository("full");

	add_events(here.repo, 0, (int)KL_SEGMENT_MAX_LINES + 100, 1000, false);
	assert_sh("1", here.dir, "git rev-list --count %s", REF);
	add_events(here.repo, 0, 0, 1, true);
	assert_int_equal(walked(here.repo, NULL), KL_SEGMENT_MAX_LINES + 100);
	assert_int_equal(of_surface(here.repo, 5), 66);
}

/* The trees of candidates are kept alive, though no commit has them. */
static void candidates_are_kept(void **state)
{
	KL_AUTO(repository_release) struct repository here = repository("trees");
	KL_AUTO(kl_segment_writer_freep) struct kl_segment_writer *writer = NULL;
	KL_AUTO(kl_event_freep) struct kl_event *event = event_at(1, 1, "gate");
	KL_AUTO(kl_freep) char *hex = sh_text(here.dir, "echo other >a.txt; git add a.txt; "
							"git write-tree; git reset -q --hard");
	git_oid tree, missing;

	assert_ok(kl_oid_parse(&tree, hex));
	assert_ok(kl_segment_writer_open(&writer, here.repo, WORKLOAD, "a"));
	memset(&missing, 7, sizeof(missing));
	assert_true(kl_segment_writer_add(writer, event, &missing) < 0);
	assert_ok(kl_segment_writer_add(writer, event, &tree));
	assert_string_equal(event->tree, hex);
	assert_ok(kl_segment_writer_seal(writer, NULL));
	sh(here.dir, "git reflog expire --expire=now --all; git gc -q --prune=now");
	assert_sh("other", here.dir, "git cat-file blob %s:a.txt", hex);
	assert_int_equal(walked(here.repo, NULL), 1);
}

/* --- processes that are killed, and several at once --------------------------------------- */

/* Write event by event in a child, and tell each that is on disk. */
static pid_t start_writer(const char *dir, int from, int tell)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	for (int i = from;; i++) {
		KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;

		if (kl_repo_open_at(&repo, dir) < 0)
			_exit(1);
		add_events(repo, i, i + 1, 3, i % 5 == 0);
		if (write(tell, &i, sizeof(i)) != sizeof(i))
			_exit(0);
	}
}

static void nothing_is_lost_when_writers_are_killed(void **state)
{
	KL_AUTO(repository_release) struct repository here = repository("killed");
	KL_AUTO(kl_map_release) struct kl_map told = KL_MAP_INIT;
	int ends[2];
	pid_t child[2];

	assert_int_equal(pipe(ends), 0);
	for (int i = 0; i < 2; i++)
		child[i] = start_writer(here.dir, i * 100000, ends[1]);
	for (int i = 0; i < 40; i++) {
		char key[16];
		int number;

		assert_int_equal(read(ends[0], &number, sizeof(number)), sizeof(number));
		snprintf(key, sizeof(key), "%d", number);
		kl_map_put(&told, key, key);
	}
	for (int i = 0; i < 2; i++) {
		kill(child[i], SIGKILL);
		assert_int_equal(waitpid(child[i], NULL, 0), child[i]);
	}
	assert_true(walked(here.repo, NULL) >= 40);
	/* half of a line, as a writer leaves it that is killed while it writes */
	sh(here.dir, "printf '{\"class\":null,\"kind' >>.git/klineage/campaign/topk/a.jsonl");
	assert_true(walked(here.repo, NULL) >= 40);
	add_events(here.repo, 1000, 1001, 1, true);
	assert_true(walked(here.repo, NULL) >= 41);
	for (size_t i = 0; i < told.n; i++) {
		KL_AUTO(kl_event_freep)
		struct kl_event *event = event_at(atoi(told.e[i].key), 3, "gate");
		KL_AUTO(kl_event_freep) struct kl_event *found = NULL;
		KL_AUTO(kl_segments_freep) struct kl_segments *segments = NULL;

		assert_ok(kl_segments_open(&segments, here.repo));
		assert_ok(kl_segments_find_id(&found, segments, event->id));
	}
	close(ends[0]);
	close(ends[1]);
}

/* A writer that was killed between the move of the ref and the removal of the log. */
static void a_log_that_is_sealed_already_does_no_harm(void **state)
{
	KL_AUTO(repository_release) struct repository here = repository("sealed");
	KL_AUTO(kl_freep) char *tip = NULL;

	add_events(here.repo, 0, 20, 4, false);
	sh(here.dir, "cp .git/klineage/campaign/topk/a.jsonl log");
	add_events(here.repo, 0, 0, 1, true);
	tip = sh_text(here.dir, "git rev-parse %s", REF);
	sh(here.dir, "mv log .git/klineage/campaign/topk/a.jsonl");
	assert_int_equal(walked(here.repo, NULL), 20);
	add_events(here.repo, 0, 0, 1, true);
	assert_sh(tip, here.dir, "git rev-parse %s", REF);
	assert_int_equal(walked(here.repo, NULL), 20);
}

static void names_are_checked(void **state)
{
	KL_AUTO(repository_release) struct repository here = repository("names");
	KL_AUTO(kl_segment_writer_freep) struct kl_segment_writer *writer = NULL;
	KL_AUTO(kl_event_freep) struct kl_event *event = event_at(1, 1, "gate");

	assert_int_equal(kl_segment_writer_open(&writer, here.repo, "..", "a"), KL_EINVALID);
	assert_int_equal(kl_segment_writer_open(&writer, here.repo, WORKLOAD, "a/b"), KL_EINVALID);
	assert_int_equal(kl_segment_writer_open(&writer, here.repo, WORKLOAD, ""), KL_EINVALID);
	assert_ok(kl_segment_writer_open(&writer, here.repo, "other", "a"));
	assert_int_equal(kl_segment_writer_add(writer, event, NULL), KL_EINVALID);
	assert_non_null(strstr(kl_error_last(), "is for workload 'topk', not 'other'"));
}

/* --- files that are not as they should be ---------------------------------------------- */

struct flaws {
	char first[400];
	size_t line;
};

static void keep_flaw(const char *path, size_t line, const char *what, void *payload)
{
	struct flaws *flaws = payload;

	if (!*flaws->first) {
		snprintf(flaws->first, sizeof(flaws->first), "%s", what);
		flaws->line = line;
	}
}

/* Check a file under the name that it should have, or under another one. */
static struct flaws check_file(const char *workload, const struct kl_buf *file, const char *surface,
			       const char *path)
{
	struct flaws flaws = { .line = 0 };
	struct kl_segment_check check = { .flaw = keep_flaw, .payload = &flaws };
	char name[KL_SEGMENT_PATH];

	kl_segment_path(name, file, surface);
	kl_segment_check(&check, workload, path ? path : name, file->ptr, file->len);
	assert_int_equal(check.flaws > 0, *flaws.first != '\0');
	return flaws;
}

struct sample {
	struct kl_strvec text;
	struct kl_segment_line line[8];
	struct kl_buf file;
};

static struct sample sample_file(size_t n)
{
	struct sample sample = { .file = KL_BUF_INIT };

	for (size_t i = 0; i < n; i++) {
		KL_AUTO(kl_event_freep) struct kl_event *event = event_at((int)i, 1, "gate");

		kl_strvec_take(&sample.text, line_of(event));
		assert_ok(kl_segment_line_read(&sample.line[i], NULL, sample.text.v[i],
					       strlen(sample.text.v[i]), WORKLOAD));
	}
	assert_int_equal(kl_segment_sort(sample.line, n), n);
	kl_segment_write(&sample.file, WORKLOAD, sample.line, n);
	return sample;
}

static void sample_release(struct sample *sample)
{
	kl_strvec_release(&sample->text);
	kl_buf_release(&sample->file);
}

#define assert_flaw(found, number, what)                                        \
	do {                                                                    \
		struct flaws kl_flaws_ = found;                                 \
		if (!strstr(kl_flaws_.first, what))                             \
			fail_msg("'%s' is not in '%s'", what, kl_flaws_.first); \
		assert_int_equal(kl_flaws_.line, number);                       \
	} while (0)

static void flaws_are_named_by_line(void **state)
{
	KL_AUTO(sample_release) struct sample sample = sample_file(6);
	const char *surface = sample.line[0].surface;
	KL_AUTO(kl_buf_release) struct kl_buf other = KL_BUF_INIT;
	struct kl_segment_line swapped = sample.line[2];
	char *at;

	assert_flaw(check_file(WORKLOAD, &sample.file, surface, NULL), 0, "");
	assert_flaw(check_file(WORKLOAD, &sample.file, surface, "ab/c.jsonl"), 0, "not its digest");
	assert_flaw(check_file("other", &sample.file, surface, NULL), 1, "names workload 'topk'");
	/* out of order */
	sample.line[2] = sample.line[3];
	sample.line[3] = swapped;
	kl_segment_write(&other, WORKLOAD, sample.line, 6);
	assert_flaw(check_file(WORKLOAD, &other, surface, NULL), 4, "out of order");
	/* a repeated line */
	kl_buf_clear(&other);
	sample.line[2] = sample.line[3] = swapped;
	kl_segment_write(&other, WORKLOAD, sample.line, 6);
	assert_flaw(check_file(WORKLOAD, &other, surface, NULL), 5, "repeated");
	/* a changed event */
	kl_buf_clear(&other);
	kl_buf_add(&other, sample.file.ptr, sample.file.len);
	at = strstr(other.ptr, "\"number\":3");
	at[9] = '9';
	assert_flaw(check_file(WORKLOAD, &other, surface, NULL), 5, "does not match its id");
	/* NUL */
	at[9] = '\0';
	assert_flaw(check_file(WORKLOAD, &other, surface, NULL), 5, "");
}

static void what_is_cut_off_is_seen(void **state)
{
	KL_AUTO(sample_release) struct sample sample = sample_file(4);

	for (size_t len = 0; len < sample.file.len; len++) {
		struct kl_buf cut = { .ptr = sample.file.ptr, .len = len };
		struct flaws flaws = check_file(WORKLOAD, &cut, sample.line[0].surface, NULL);

		assert_true(*flaws.first);
	}
}

/* Any bytes: no crash, and only the one right form is accepted. */
static void any_change_is_seen(void **state)
{
	KL_AUTO(sample_release) struct sample sample = sample_file(5);
	struct kl_rng rng;

	kl_rng_seed(&rng, 15);
	for (int i = 0; i < 3000; i++) {
		size_t at = (size_t)kl_rng_below(&rng, sample.file.len);
		char old = sample.file.ptr[at];
		struct kl_segment file = { 0 };

		sample.file.ptr[at] = (char)kl_rng_below(&rng, 256);
		if (!kl_segment_open(&file, WORKLOAD, sample.file.ptr, sample.file.len))
			kl_segment_release(&file);
		if (sample.file.ptr[at] != old)
			assert_true(
				*check_file(WORKLOAD, &sample.file, sample.line[0].surface, NULL)
					 .first);
		sample.file.ptr[at] = old;
	}
}

/* Lines that are no events of the campaign: readers skip them, and find those beside them. */
static void bad_lines_hide_nothing(void **state)
{
	KL_AUTO(repository_release) struct repository here = repository("bad");
	KL_AUTO(kl_freep) char *deep = kl_calloc(1, 200001);
	KL_AUTO(kl_buf_release) struct kl_buf file = KL_BUF_INIT;
	KL_AUTO(sample_release) struct sample sample = sample_file(3);
	KL_AUTO(kl_event_freep) struct kl_event *foreign = event_at(9, 1, "gate");
	KL_AUTO(kl_freep) char *foreign_line = NULL;
	struct kl_segment_line line[6] = { sample.line[0], sample.line[1], sample.line[2] };
	char path[KL_SEGMENT_PATH], *full;

	memset(deep, '[', 200000);
	foreign->workload = "elsewhere";
	kl_event_seal(foreign);
	foreign_line = line_of(foreign);
	for (int i = 3; i < 6; i++)
		line[i] = sample.line[2];
	line[3].text = deep;
	line[3].len = 200000;
	line[4].text = foreign_line;
	line[4].len = strlen(foreign_line);
	line[5].text = "{\"v\":1,\"v\":1,\"kind\":\"gate\"}";
	line[5].len = strlen(line[5].text);
	kl_segment_write(&file, WORKLOAD, line, 6);
	kl_segment_path(path, &file, sample.line[0].surface);
	assert_flaw(check_file(WORKLOAD, &file, sample.line[0].surface, NULL), 5, "");
	full = kl_fs_join(here.dir, "file");
	assert_ok(kl_fs_put(full, file.ptr, file.len, 0644));
	free(full);
	sh(here.dir,
	   "blob=$(git hash-object -w file) && rm file && "
	   "dir=$(printf '100644 blob %%s\\t%%s\\n' $blob %s | git mktree) && "
	   "top=$(printf '040000 tree %%s\\t%.2s\\n' $dir | git mktree) && "
	   "git update-ref %s $(git commit-tree -m x $top)",
	   path + 3, path, REF);
	assert_int_equal(walked(here.repo, NULL), 3);
	assert_int_equal(of_surface(here.repo, 0), 3);
}

/* A ref that anybody could write: it hides no other campaign. */
static void a_ref_that_is_no_campaign_hides_nothing(void **state)
{
	KL_AUTO(repository_release) struct repository here = repository("refs");

	add_events(here.repo, 0, 10, 1, true);
	sh(here.dir,
	   "git update-ref %sother $(echo x | git hash-object -w --stdin);"
	   "git update-ref %sa/a HEAD; git update-ref %stopk/x HEAD^{tree}",
	   KL_SEGMENT_REFS, KL_SEGMENT_REFS, KL_SEGMENT_REFS);
	assert_int_equal(walked(here.repo, NULL), 10);
	assert_int_equal(of_surface(here.repo, 0), 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found_before_and_after_sealing),
		cmocka_unit_test(repeated_events_are_added_once),
		cmocka_unit_test(a_walk_can_ask_for_a_kind),
		cmocka_unit_test(a_log_that_is_full_becomes_a_segment),
		cmocka_unit_test(candidates_are_kept),
		cmocka_unit_test(nothing_is_lost_when_writers_are_killed),
		cmocka_unit_test(a_log_that_is_sealed_already_does_no_harm),
		cmocka_unit_test(names_are_checked),
		cmocka_unit_test(flaws_are_named_by_line),
		cmocka_unit_test(what_is_cut_off_is_seen),
		cmocka_unit_test(any_change_is_seen),
		cmocka_unit_test(bad_lines_hide_nothing),
		cmocka_unit_test(a_ref_that_is_no_campaign_hides_nothing),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
