/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "lineage/import.h"
#include "rewrite/pass/cocci.h"
#include "rewrite/pass/tokenpass.h"
#include "text/mail.h"
#include "walk/step.h"

/*
 * What comes as a patch: a mail with a diff, its trailers, a semantic patch, a
 * source that token passes are to edit.
 */

/* what was read and written once reads the same ever after */
static void check_mail(const char *text, size_t len)
{
	KL_AUTO(kl_mail_release) struct kl_mail mail = { 0 }, again = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT, twice = KL_BUF_INIT;
	KL_AUTO(kl_step_release) struct kl_step step = { 0 };
	int64_t time = 0;
	int offset = 0;
	size_t n;

	if (kl_mail_parse(&mail, "m", text, len) < 0)
		return;
	kl_import_date(&time, &offset, mail.date);
	kl_step_parse(&step, "m", mail.message);
	n = strlen(mail.diff);
	if (n && mail.diff[n - 1] != '\n')
		return;
	kl_mail_write(&buf, NULL, mail.from, 0, 0, mail.message, mail.diff);
	MUST(kl_mail_parse(&again, "again", buf.ptr, buf.len) == 0);
	kl_mail_write(&twice, NULL, again.from, 0, 0, again.message, again.diff);
	MUST(!strcmp(twice.ptr, buf.ptr));
	MUST(!strcmp(again.diff, mail.diff));
}

static char *take(const char **list, const char *end)
{
	const char *cut = memchr(*list, 1, end - *list);
	char *out = kl_strndup(*list, (cut ? cut : end) - *list);

	*list = cut ? cut + 1 : end;
	return out;
}

/* a step made of any words survives a mail, and its trailers are its own */
static void check_step(const char *text, const char *end)
{
	KL_AUTO(kl_step_release) struct kl_step step = { 0 }, back = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf message = KL_BUF_INIT, mail = KL_BUF_INIT;
	KL_AUTO(kl_mail_release) struct kl_mail other = { 0 };

	step.kind = text < end ? (enum kl_step_kind)(*text & 3) : KL_STEP_BACK;
	step.number = step.kind == KL_STEP_ROOT ? 0 : 7;
	step.text = take(&text, end);
	step.locus = take(&text, end);
	step.mechanism = take(&text, end);
	step.action = kl_strdup("untile");
	step.class_ = kl_strdup("fault");
	step.derivation = kl_strdup("inverse");
	kl_step_message(&message, &step);
	kl_mail_write(&mail, NULL, "A <a@b>", 0, 0, message.ptr, "");
	MUST(kl_mail_parse(&other, "step", mail.ptr, mail.len) == 0);
	MUST(!strcmp(other.message, message.ptr));
	MUST(kl_step_parse(&back, "step", other.message) == 0);
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
	KL_AUTO(kl_ctokens_release) struct kl_ctokens tokens = { 0 };
	KL_AUTO(kl_tiles_release) struct kl_tiles tiles = { 0 };

	kl_ctoken_lex(&tokens, text, len);
	for (size_t i = 0; i < tokens.n; i++)
		MUST(tokens.t[i].len && tokens.t[i].off + tokens.t[i].len <= len);
	kl_tokenpass_tiles(&tiles, &tokens);
	for (size_t at = 0; at < KL_ARRAY_SIZE(pass); at++) {
		KL_AUTO(kl_cedits_release) struct kl_cedits cedits = { 0 };
		KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;

		kl_tokenpass_find(pass[at])->find(&cedits, &tokens);
		kl_cedits_apply(&out, &tokens, &cedits, NULL, NULL);
		MUST(cedits.n || (out.len == len && !memcmp(out.ptr, text, len)));
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
