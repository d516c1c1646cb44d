/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All events of the notes, read once and kept: the same as reading each note, whoever made the file,
 * from whatever.
 */
#include "base/fs.h"
#include "base/map.h"
#include "base/mapfile.h"
#include "base/rng.h"
#include "event/event_index_parts.h"
#include "event_lib.h"
#include "scratch.h"

struct fixture {
	char *dir;
	struct kl_repo *r;
	git_oid *commit;
	size_t n;
};

static void fixture_release(struct fixture *fixture)
{
	kl_repo_free(fixture->r);
	free(fixture->dir);
	free(fixture->commit);
}

static struct fixture fixture(const char *name, int n)
{
	struct fixture other = { .dir = scratch_dir(name) };
	git_oid head;

	sh(other.dir,
	   "git init -q -b main .; awk 'BEGIN { for (i = 1; i <= %d; i++) printf \"commit refs/heads/main\\n"
	   "committer C <c@d> %%d +0000\\ndata 1\\nx\\n\", i }' | git fast-import --quiet",
	   n);
	assert_ok(kl_repo_open_at(&other.r, other.dir));
	head = oid_of(other.dir, "main");
	assert_ok(kl_repo_touching(&other.commit, &other.n, other.r, &head, NULL, 0, (size_t)n));
	return other;
}

static char *event_line(struct kl_rng *rng)
{
	static const char *const verdict[] = { "pass", "pass", "fail" };
	struct kl_buf line = KL_BUF_INIT;
	char digest[2][KL_DIGEST_HEX], time[24];
	json_t *entry = json_object();

	for (int i = 0; i < 2; i++) {
		uint64_t value = kl_rng_below(rng, 3);

		kl_digest_hex(digest[i], &value, sizeof(value));
	}
	snprintf(time, sizeof(time), "2026-01-01T00:00:%02dZ", (int)kl_rng_below(rng, 60));
	kl_json_set_int(entry, "v", 1);
	kl_json_set_str(entry, "kind", "gate");
	kl_json_set_str(entry, "time", time);
	kl_json_set_str(entry, "surface", digest[0]);
	kl_json_set_str(entry, "contract", digest[1]);
	kl_json_set_str(entry, "verdict", verdict[kl_rng_below(rng, 3)]);
	kl_json_set(entry, "platform",
		    json_pack("{s:s}", "id", kl_rng_below(rng, 2) ? "cpu/a" : "cpu/b"));
	if (kl_rng_below(rng, 2))
		kl_json_set(entry, "profile",
			    json_pack("{s:i,s:[{s:s,s:i,s:i,s:i}]}", "ns",
				      (int)kl_rng_below(rng, 9999), "vs", "what", "parent",
				      "ratio_ppm", 2000000, "lo_ppm", 1900000, "hi_ppm", 2100000));
	seal_doc(entry);
	kl_json_canonical(&line, entry);
	json_decref(entry);
	return kl_buf_detach(&line);
}

static void add_some(struct fixture *fixture, struct kl_rng *rng, size_t n)
{
	struct kl_note_line *line = kl_calloc(n, sizeof(*line));

	for (size_t i = 0; i < n; i++) {
		line[i].commit = fixture->commit[kl_rng_below(rng, fixture->n)];
		line[i].line = event_line(rng);
	}
	assert_ok(kl_notes_add(fixture->r, KL_NOTES_GATE, line, n));
	for (size_t i = 0; i < n; i++)
		free((char *)line[i].line);
	free(line);
}

static void hex_of(char out[65], const uint8_t *bytes)
{
	for (int i = 0; i < 32; i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

struct check {
	struct kl_repo *r;
	struct kl_event_index *f;
	size_t events;
};

/* Find the entry of a line among those of its commit. */
static const struct kl_event_index_entry *entry_of(const struct check *check, size_t first,
						   size_t n, size_t at)
{
	for (size_t i = 0; i < n; i++) {
		const struct kl_event_index_entry *entry = &check->f->event[first + i];

		if (entry->at == at)
			return entry;
	}
	return NULL;
}

static void check_entry(const struct check *check, const struct kl_event_index_entry *entry,
			const struct kl_event *event)
{
	KL_AUTO(kl_event_freep) struct kl_event *whole = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf left = KL_BUF_INIT, right = KL_BUF_INIT;
	char hex[65];

	assert_non_null(entry);
	hex_of(hex, entry->id);
	assert_string_equal(event->id, hex);
	hex_of(hex, entry->surface);
	assert_string_equal(event->surface, hex);
	assert_string_equal(event->time, entry->time);
	assert_ok(kl_event_index_read(&whole, check->r, entry));
	kl_event_write(&left, whole);
	kl_event_write(&right, event);
	assert_string_equal(left.ptr, right.ptr);
}

/* Return the number of a commit's entries, which follow each other, and the position of the first. */
static size_t entries_of(size_t *first, const struct kl_event_index *index, const git_oid *commit)
{
	size_t n = 0;

	for (size_t i = 0; i < index->head->events; i++) {
		if (memcmp(&index->event[i].commit, commit, sizeof(*commit)))
			continue;
		if (!n++)
			*first = i;
		assert_int_equal(i, *first + n - 1);
	}
	return n;
}

/* each event of a note has an entry, and the note's commit has no others */
static int check_note(const git_oid *commit, const char *text, size_t len, void *payload)
{
	struct check *check = payload;
	size_t first = 0, n = entries_of(&first, check->f, commit), events = 0;

	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t line = end ? (size_t)(end - (text + at)) : len - at;
		KL_AUTO(kl_event_freep) struct kl_event *event = NULL;

		if (line && !kl_event_parse(&event, text + at, line)) {
			check_entry(check, entry_of(check, first, n, at), event);
			events++;
		}
		at += line + 1;
	}
	assert_int_equal(events, n);
	check->events += n;
	return 0;
}

static void check_all(struct fixture *fixture)
{
	struct check check = { .r = fixture->r };

	assert_ok(kl_event_index_open(&check.f, fixture->r, KL_NOTES_GATE));
	assert_ok(kl_notes_each(fixture->r, KL_NOTES_GATE, check_note, &check));
	assert_int_equal(check.events, check.f->head->events);
	for (size_t i = 1; i < check.events; i++) {
		const struct kl_event_index_entry *left = kl_event_index_by_surface(check.f, i - 1),
						  *right = kl_event_index_by_surface(check.f, i);
		int depth = memcmp(left->surface, right->surface, 32);

		if (!depth)
			depth = memcmp(left->contract, right->contract, 32);
		assert_true(depth < 0 || (!depth && strcmp(left->time, right->time) <= 0));
	}
	kl_event_index_free(check.f);
}

#define NOTES "git notes --ref klineage/gate list | cut -d' ' -f1 | sort"

/* Open the index while the blobs of the notes that are listed in the file `old` are missing. */
static int open_without_old(struct fixture *fixture)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL; /* has opened no pack yet */
	struct kl_event_index *event_index = NULL;
	int err;

	sh(fixture->dir, "for pack in .git/objects/pack/*.pack; do"
			 " test -e \"$pack\" || continue;"
			 " mv \"$pack\" old.pack && rm -f \"${pack%%.pack}\".* &&"
			 " git unpack-objects -q <old.pack && rm -f old.pack || exit 1; done");
	sh(fixture->dir,
	   "mkdir hidden && " NOTES " | comm -12 old - | uniq >gone && while read -r id; do "
	   "mv \".git/objects/$(printf %%.2s \"$id\")/${id#??}\" hidden/$id || exit 1; "
	   "done <gone");
	assert_ok(kl_repo_open_at(&repo, fixture->dir));
	err = kl_event_index_open(&event_index, repo, KL_NOTES_GATE);
	kl_event_index_free(event_index);
	sh(fixture->dir,
	   "while read -r id; do "
	   "mv hidden/$id \".git/objects/$(printf %%.2s \"$id\")/${id#??}\" || exit 1; "
	   "done <gone && rmdir hidden");
	return err;
}

static void same_as_reading(void **state)
{
	KL_AUTO(fixture_release) struct fixture other = fixture("reading", 300);
	struct kl_rng rng;

	kl_rng_seed(&rng, 1);
	check_all(&other); /* no notes at all */
	add_some(&other, &rng, 500);
	check_all(&other);
	/* a few more: the other notes are copied from the older index, and not read */
	sh(other.dir, NOTES " >old && test $(wc -l <old) -gt 100");
	add_some(&other, &rng, 3);
	assert_ok(open_without_old(&other));
	check_all(&other);
	sh(other.dir, "rm .git/klineage/cache/events-*");
	assert_true(open_without_old(&other) < 0);
	kl_error_clear();
	check_all(&other);
	/* an event that names another, one with blanks in it, and a signed twin, on one commit */
	{
		KL_AUTO(kl_freep) char *first = event_line(&rng);
		KL_AUTO(json_decrefp) json_t *entry = NULL, *twin = NULL;
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		struct kl_note_line line[3] = { { other.commit[3], first },
						{ other.commit[3], NULL },
						{ other.commit[3], NULL } };
		KL_AUTO(kl_freep) char *spaced = NULL;

		assert_ok(kl_json_parse(&entry, first, strlen(first)));
		twin = json_deep_copy(entry);
		kl_json_set_str(twin, "sig", "a signature");
		kl_json_canonical(&text, twin);
		kl_json_set(entry, "inverse",
			    json_pack("{s:s}", "state", kl_json_str_or(entry, "id", "")));
		seal_doc(entry);
		spaced = json_dumps(entry, JSON_SORT_KEYS);
		line[1].line = spaced;
		line[2].line = text.ptr;
		assert_ok(kl_notes_add(other.r, KL_NOTES_GATE, line, 3));
		check_all(&other);
	}
	/* lines of git's own making are skipped as ever */
	sh(other.dir, "git notes --ref klineage/gate append -m nonsense main~1");
	check_all(&other);
}

static void damaged_is_made_anew(void **state)
{
	static const char *const damage[] = {
		"printf X | dd of=$f bs=1 seek=400 conv=notrunc",
		"printf X | dd of=$f bs=1 seek=9 conv=notrunc",
		"printf X | dd of=$f bs=1 seek=50 conv=notrunc",
		"truncate -s 1000 $f",
		"echo x >>$f",
		": >$f",
	};
	KL_AUTO(fixture_release) struct fixture other = fixture("damage", 20);
	struct kl_rng rng;

	kl_rng_seed(&rng, 2);
	add_some(&other, &rng, 40);
	check_all(&other);
	for (size_t i = 0; i < KL_ARRAY_SIZE(damage); i++) {
		sh(other.dir, "f=$(ls .git/klineage/cache/events-*.index); { %s; } 2>/dev/null",
		   damage[i]);
		check_all(&other);
	}
	for (int i = 0; i < 6; i++) {
		add_some(&other, &rng, 1);
		check_all(&other);
	}
	assert_sh("3", other.dir, "ls .git/klineage/cache/events-*.index | wc -l");
}

/* Whoever wrote the file, and even if its checksum is right, an accepted index can be queried. */
static void hostile(void **state)
{
	KL_AUTO(fixture_release) struct fixture other = fixture("hostile", 20);
	KL_AUTO(kl_buf_release) struct kl_buf whole = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *path = NULL, *name = NULL;
	size_t taken = 0, refused = 0, head = sizeof(struct kl_mapfile_head);
	struct kl_rng rng;

	kl_rng_seed(&rng, 4);
	add_some(&other, &rng, 40);
	check_all(&other);
	name = sh_text(other.dir, "ls .git/klineage/cache/events-*.index");
	path = kl_asprintf("%s/%s", other.dir, name);
	assert_ok(kl_fs_read(&whole, path, SIZE_MAX / 2));
	for (int round = 0; round < 400; round++) {
		KL_AUTO(kl_event_index_freep) struct kl_event_index *event_index = NULL;
		KL_AUTO(kl_buf_release) struct kl_buf bad = KL_BUF_INIT, now = KL_BUF_INIT;

		kl_buf_add(&bad, whole.ptr, whole.len);
		for (uint64_t n = 1 + kl_rng_below(&rng, 3); n; n--) {
			uint32_t word = (uint32_t)kl_rng_below(
				&rng, kl_rng_below(&rng, 2) ? 50 : UINT32_MAX);
			size_t from = head +
				      4 * (size_t)kl_rng_below(
						  &rng, round % 4 ? (whole.len - head) / 4 : 8);

			memcpy(bad.ptr + from, &word, sizeof(word));
		}
		kl_mapfile_end(&bad);
		assert_ok(kl_fs_write(path, bad.ptr, bad.len));
		assert_ok(kl_event_index_open(&event_index, other.r, KL_NOTES_GATE));
		assert_ok(kl_fs_read(&now, path, SIZE_MAX / 2));
		if (now.len == bad.len && !memcmp(now.ptr, bad.ptr, bad.len))
			taken++;
		else
			refused++;
		for (size_t i = 0; i < event_index->head->events; i++) {
			KL_AUTO(kl_event_freep) struct kl_event *event = NULL;

			/* a place that is none is said to be none */
			if (kl_event_index_read(&event, other.r,
						kl_event_index_by_surface(event_index, i)) < 0)
				kl_error_clear();
		}
	}
	assert_true(taken > 20 && refused > 20);
}

static void by_surface(void **state)
{
	KL_AUTO(fixture_release) struct fixture other = fixture("surface", 30);
	KL_AUTO(kl_event_index_freep) struct kl_event_index *event_index = NULL;
	struct kl_rng rng;
	size_t first, n, all = 0;
	char digest[2][KL_DIGEST_HEX];

	kl_rng_seed(&rng, 3);
	add_some(&other, &rng, 60);
	assert_ok(kl_event_index_open(&event_index, other.r, KL_NOTES_GATE));
	for (uint64_t step = 0; step < 3; step++)
		for (uint64_t column = 0; column < 3; column++) {
			kl_digest_hex(digest[0], &step, sizeof(step));
			kl_digest_hex(digest[1], &column, sizeof(column));
			n = kl_event_index_of_surface(&first, event_index, digest[0], digest[1]);
			all += n;
			for (size_t i = 0; i < n; i++) {
				KL_AUTO(kl_event_freep) struct kl_event *event = NULL;

				assert_ok(kl_event_index_read(
					&event, other.r,
					kl_event_index_by_surface(event_index, first + i)));
				assert_true(kl_event_is_for(event, digest[0], digest[1]));
			}
		}
	assert_int_equal(all, event_index->head->events);
	assert_int_equal(kl_event_index_of_surface(&first, event_index, "no digest", digest[1]), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_as_reading),
		cmocka_unit_test(damaged_is_made_anew),
		cmocka_unit_test(hostile),
		cmocka_unit_test(by_surface),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
