/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/fs.h"
#include "base/tar.h"
#include "worker/report.h"
#include "worker/unpack.h"

/* --- a bundle of one job, in parts that a test may spoil ----------------------------- */

struct parts {
	char object[80], job[80]; /* names */
	struct kl_buf doc, manifest;
	json_t *entry, *files;
};

static json_t *file_json(const char *name, const char *data, size_t len)
{
	json_t *facts = json_object();
	char hex[KL_SHA256_HEX];

	kl_sha256_hex(hex, data, len);
	kl_json_set_str(facts, "name", name);
	kl_json_set_str(facts, "sha256", hex);
	kl_json_set_int(facts, "size", (int64_t)len);
	return facts;
}

static void make(struct parts *parts, const char *candidate, const char *pool)
{
	char hex[KL_SHA256_HEX];
	KL_AUTO(json_decrefp) json_t *doc = json_object();

	*parts = (struct parts){ .doc = KL_BUF_INIT, .manifest = KL_BUF_INIT };
	kl_sha256_hex(hex, "object", 6);
	snprintf(parts->object, sizeof(parts->object), "files/%s", hex);
	kl_json_set_str(doc, "schema", "klineage.job/2");
	kl_json_set_str(doc, "truth", parts->object);
	kl_json_set_str(doc, "candidate", candidate ? candidate : parts->object);
	kl_json_set_str(doc, "pool", pool ? pool : "pools/0123456789abcdef");
	kl_json_canonical(&parts->doc, doc);
	kl_sha256_hex(hex, parts->doc.ptr, parts->doc.len);
	snprintf(parts->job, sizeof(parts->job), "jobs/%s.json", hex);
	parts->entry = json_pack("{s:s,s:s,s:s,s:s}", "workload", "w", "surface", "s", "contract",
				 "c", "job", parts->job);
	parts->files = json_array();
	json_array_append_new(parts->files, file_json(parts->object, "object", 6));
	json_array_append_new(parts->files, file_json(parts->job, parts->doc.ptr, parts->doc.len));
}

static void seal(struct parts *parts)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *member = NULL;
	char hex[KL_SHA256_HEX];

	kl_json_canonical(&text, parts->entry);
	kl_sha256_hex(hex, text.ptr, text.len);
	kl_json_set_str(parts->entry, "digest", hex);
	member = json_pack("{s:s,s:O,s:[O]}", "schema", "klineage.bundle/1", "files", parts->files,
			   "jobs", parts->entry);
	kl_json_canonical(&parts->manifest, member);
}

static void release(struct parts *parts)
{
	kl_buf_release(&parts->doc);
	kl_buf_release(&parts->manifest);
	json_decref(parts->entry);
	json_decref(parts->files);
}

static void pack(struct kl_buf *out, const struct parts *parts)
{
	kl_tar_add(out, parts->object, "object", 6);
	kl_tar_add(out, parts->job, parts->doc.ptr, parts->doc.len);
	kl_tar_add(out, "manifest.json", parts->manifest.ptr, parts->manifest.len);
	kl_tar_end(out);
}

static int unpack(struct kl_unpacked *out, const struct kl_buf *bytes)
{
	KL_AUTO(kl_fs_tempdir_cleanup) char *dir = NULL;

	assert_ok(kl_fs_tempdir(&dir, "klineage-test"));
	return kl_unpack(out, bytes->ptr, bytes->len, dir);
}

static int try_parts(struct parts *parts)
{
	KL_AUTO(kl_buf_release) struct kl_buf bytes = KL_BUF_INIT;
	KL_AUTO(kl_unpacked_release) struct kl_unpacked unpacked = { NULL };

	seal(parts);
	pack(&bytes, parts);
	return unpack(&unpacked, &bytes);
}

static void a_bundle_is_unpacked(void **state)
{
	KL_AUTO(kl_fs_tempdir_cleanup) char *dir = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf bytes = KL_BUF_INIT;
	KL_AUTO(kl_unpacked_release) struct kl_unpacked unpacked = { NULL };
	KL_AUTO(json_decrefp) json_t *job = NULL;
	KL_AUTO(kl_freep) char *object = NULL;
	KL_AUTO(release) struct parts parts;

	make(&parts, NULL, NULL);
	seal(&parts);
	pack(&bytes, &parts);
	assert_ok(kl_fs_tempdir(&dir, "klineage-test"));
	assert_ok(kl_unpack(&unpacked, bytes.ptr, bytes.len, dir));
	assert_int_equal(json_array_size(unpacked.jobs), 1);
	assert_ok(kl_unpack_job(&job, json_array_get(unpacked.jobs, 0), dir));
	object = kl_fs_join(dir, parts.object);
	assert_string_equal(kl_json_str_or(job, "candidate", ""), object);
	assert_true(kl_fs_exists(object));
}

static void jobs_name_nothing_but_what_is_in_the_bundle(void **state)
{
	static const char *const bad[] = {
		"/etc/passwd",
		"../../etc/passwd",
		"files/../../x",
		"files/abc",
		"manifest.json",
		"files/0000000000000000000000000000000000000000000000000000000000000000",
		"files/0000000000000000000000000000000000000000000000000000000000000000/../../../x",
	};
	static const char *const bad_pool[] = {
		"/tmp/x",        "../x",
		"pools/../../x", "pools/0123456789abcdef/..",
		"pools/",        "files/0123456789abcdef",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++) {
		KL_AUTO(release) struct parts parts;

		make(&parts, bad[i], NULL);
		assert_error(KL_EINVALID, "object", try_parts(&parts));
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(bad_pool); i++) {
		KL_AUTO(release) struct parts parts;

		make(&parts, NULL, bad_pool[i]);
		assert_error(KL_EINVALID, "pool", try_parts(&parts));
	}
}

static void the_manifest_says_what_is_there(void **state)
{
	KL_AUTO(release) struct parts fewer, other, job, digest;

	make(&fewer, NULL, NULL);
	json_array_remove(fewer.files, 0);
	assert_error(KL_EINVALID, "files differ from those", try_parts(&fewer));
	make(&other, NULL, NULL);
	kl_json_set_int(json_array_get(other.files, 0), "size", 7);
	assert_error(KL_EINVALID, "files differ from those", try_parts(&other));
	make(&job, NULL, NULL);
	kl_json_set_str(job.entry, "job", job.object);
	assert_error(KL_EINVALID, "which is not in the bundle", try_parts(&job));
	make(&digest, NULL, NULL);
	seal(&digest);
	kl_json_set_str(digest.entry, "surface", "changed");
	{
		KL_AUTO(kl_buf_release) struct kl_buf bytes = KL_BUF_INIT;
		KL_AUTO(kl_unpacked_release) struct kl_unpacked unpacked = { NULL };
		KL_AUTO(json_decrefp) json_t *member = json_pack("{s:s,s:O,s:[O]}", "schema",
								 "klineage.bundle/1", "files",
								 digest.files, "jobs",
								 digest.entry);

		kl_buf_clear(&digest.manifest);
		kl_json_canonical(&digest.manifest, member);
		pack(&bytes, &digest);
		assert_error(KL_EINVALID, "does not match its digest", unpack(&unpacked, &bytes));
	}
}

static void any_byte_that_is_changed_is_seen(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf bytes = KL_BUF_INIT;
	KL_AUTO(release) struct parts parts;

	make(&parts, NULL, NULL);
	seal(&parts);
	pack(&bytes, &parts);
	/* every seventh, for the sake of the disk */
	for (size_t i = 3; i < bytes.len; i += 7) {
		KL_AUTO(kl_unpacked_release) struct kl_unpacked unpacked = { NULL };
		int err;

		bytes.ptr[i] ^= 0x04;
		err = unpack(&unpacked, &bytes);
		bytes.ptr[i] ^= 0x04;
		/*
		 * the manifest's own words may change and still be words: then the name of the
		 * bundle does
		 */
		if (!err) {
			char hex[KL_SHA256_HEX];

			kl_sha256_hex(hex, parts.manifest.ptr, parts.manifest.len);
			assert_string_not_equal(hex, unpacked.digest);
		} else {
			assert_int_equal(err, KL_EINVALID);
		}
	}
}

/* --- the results ------------------------------------------------------------------------ */

static void add(struct kl_report *report, const char *job)
{
	KL_AUTO(json_decrefp) json_t *line = json_object();

	kl_json_set_str(line, "job", job);
	kl_json_set_str(line, "result", "fine");
	assert_ok(kl_report_add(report, line));
}

/*
 * wherever a worker was killed, the next one has all whole lines, and its file ends as the first's
 * would
 */
static void a_report_goes_on_wherever_it_was_cut(void **state)
{
	KL_AUTO(kl_fs_tempdir_cleanup) char *dir = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf whole = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *path = NULL;

	assert_ok(kl_fs_tempdir(&dir, "klineage-test"));
	path = kl_fs_join(dir, "results");
	for (size_t cut = 0; !whole.len || cut <= whole.len; cut++) {
		KL_AUTO(kl_report_release) struct kl_report report = KL_REPORT_INIT;
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

		if (whole.len)
			assert_ok(kl_fs_put(path, whole.ptr, cut, 0600));
		assert_ok(kl_report_open(&report, path, "b"));
		assert_int_equal(report.ended, whole.len && cut == whole.len);
		if (!kl_report_has(&report, "1"))
			add(&report, "1");
		if (!kl_report_has(&report, "2"))
			add(&report, "2");
		assert_ok(kl_report_end(&report, NULL));
		assert_ok(kl_fs_read(&text, path, 1 << 20));
		if (!whole.len)
			kl_buf_add(&whole, text.ptr, text.len);
		assert_string_equal(text.ptr, whole.ptr);
	}
}

static void one_worker_at_a_time(void **state)
{
	KL_AUTO(kl_fs_tempdir_cleanup) char *dir = NULL;
	KL_AUTO(kl_report_release) struct kl_report left = KL_REPORT_INIT;
	KL_AUTO(kl_report_release) struct kl_report right = KL_REPORT_INIT;
	KL_AUTO(kl_freep) char *path = NULL;

	assert_ok(kl_fs_tempdir(&dir, "klineage-test"));
	path = kl_fs_join(dir, "results");
	assert_ok(kl_report_open(&left, path, "b"));
	assert_error(KL_EBUSY, "another", kl_report_open(&right, path, "b"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bundle_is_unpacked),
		cmocka_unit_test(jobs_name_nothing_but_what_is_in_the_bundle),
		cmocka_unit_test(the_manifest_says_what_is_there),
		cmocka_unit_test(any_byte_that_is_changed_is_seen),
		cmocka_unit_test(a_report_goes_on_wherever_it_was_cut),
		cmocka_unit_test(one_worker_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
