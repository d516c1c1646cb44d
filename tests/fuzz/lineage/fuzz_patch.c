/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "lineage/import.h"
#include "rewrite/cocci.h"
#include "rewrite/tokenpass.h"
#include "text/mail.h"
#include "walk/step.h"

/*
 * What comes as a patch: a mail with a diff, its trailers, a semantic patch, a
 * source that token passes are to edit.
 */

/* what was read and written once reads the same ever after */
static void check_mail(const char *text, size_t len)
{
	KL_AUTO(kl_mail_release) struct kl_mail m = { 0 }, again = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT, twice = KL_BUF_INIT;
	KL_AUTO(kl_step_release) struct kl_step step = { 0 };
	int64_t time = 0;
	int offset = 0;
	size_t n;

	if (kl_mail_parse(&m, "m", text, len) < 0)
		return;
	kl_import_date(&time, &offset, m.date);
	kl_step_parse(&step, "m", m.message);
	n = strlen(m.diff);
	if (n && m.diff[n - 1] != '\n')
		return;
	kl_mail_write(&b, NULL, m.from, 0, 0, m.message, m.diff);
	MUST(kl_mail_parse(&again, "again", b.ptr, b.len) == 0);
	kl_mail_write(&twice, NULL, again.from, 0, 0, again.message, again.diff);
	MUST(!strcmp(twice.ptr, b.ptr));
	MUST(!strcmp(again.diff, m.diff));
}

static char *take(const char **s, const char *end)
{
	const char *cut = memchr(*s, 1, end - *s);
	char *out = kl_strndup(*s, (cut ? cut : end) - *s);

	*s = cut ? cut + 1 : end;
	return out;
}

/* a step made of any words survives a mail, and its trailers are its own */
static void check_step(const char *s, const char *end)
{
	KL_AUTO(kl_step_release) struct kl_step step = { 0 }, back = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf message = KL_BUF_INIT, mail = KL_BUF_INIT;
	KL_AUTO(kl_mail_release) struct kl_mail m = { 0 };

	step.kind = s < end ? (enum kl_step_kind)(*s & 3) : KL_STEP_BACK;
	step.number = step.kind == KL_STEP_ROOT ? 0 : 7;
	step.text = take(&s, end);
	step.locus = take(&s, end);
	step.mechanism = take(&s, end);
	step.action = kl_strdup("untile");
	step.class_ = kl_strdup("fault");
	step.derivation = kl_strdup("inverse");
	kl_step_message(&message, &step);
	kl_mail_write(&mail, NULL, "A <a@b>", 0, 0, message.ptr, "");
	MUST(kl_mail_parse(&m, "step", mail.ptr, mail.len) == 0);
	MUST(!strcmp(m.message, message.ptr));
	MUST(kl_step_parse(&back, "step", m.message) == 0);
	MUST(back.kind == step.kind && back.number == step.number);
	MUST(step.kind == KL_STEP_ROOT || !strcmp(back.action, "untile"));
	MUST(step.kind != KL_STEP_REJECTED || !strcmp(back.class_, "fault"));
}

/* edits stay inside the text, and a pass that found nothing changes nothing */
static void check_source(const char *text, size_t len)
{
	static const char *const pass[] = { "drop-unroll",    "drop-ivdep",  "drop-restrict",
					    "drop-attribute", "drop-expect", "plain-store",
					    "unaligned",      "split-fma" };
	KL_AUTO(kl_ctokens_release) struct kl_ctokens c = { 0 };
	KL_AUTO(kl_tiles_release) struct kl_tiles tiles = { 0 };

	kl_ctoken_lex(&c, text, len);
	for (size_t i = 0; i < c.n; i++)
		MUST(c.t[i].len && c.t[i].off + c.t[i].len <= len);
	kl_tokenpass_tiles(&tiles, &c);
	for (size_t p = 0; p < KL_ARRAY_SIZE(pass); p++) {
		KL_AUTO(kl_cedits_release) struct kl_cedits e = { 0 };
		KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;

		kl_tokenpass_find(pass[p])->find(&e, &c);
		kl_cedits_apply(&out, &c, &e, NULL, NULL);
		MUST(e.n || (out.len == len && !memcmp(out.ptr, text, len)));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	KL_AUTO(kl_freep) char *text = kl_strndup((const char *)data, size);
	size_t len = strlen(text);

	check_mail((const char *)data, size);
	check_step(text, text + len);
	check_source(text, len);
	kl_cocci_audit("p.cocci", (const char *)data, size);
	kl_error_clear();
	return 0;
}
