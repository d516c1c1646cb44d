/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/gate_retract.h"

#include "base/error.h"
#include "cmd/cli/listing.h"
#include "cmd/cli/out.h"

/*
 * Return why no other clone follows the retraction; the caller frees the text. NULL: clones that
 * trust the signer follow it.
 */
static char *why_alone(const struct kl_retraction *done)
{
	if (kl_retraction_is_followed(done))
		return NULL;
	if (done->unsigned_)
		return kl_asprintf("the retraction is not signed: %s", done->unsigned_);
	if (done->own.sig.state != KL_SIGN_GOOD)
		return kl_strdup("no list of allowed signers names the key that signed the "
				 "retraction");
	if (done->word.sig.state != KL_SIGN_GOOD)
		return kl_asprintf("no allowed signer signed the event (%s)",
				   kl_word_name(done->word.of));
	return kl_asprintf("the event is signed by %s", done->word.sig.who);
}

static void print_json(const struct kl_retraction *done, const char *alone)
{
	KL_AUTO(json_decrefp) json_t *value = json_object();
	const struct kl_event *made = done->retraction;

	kl_json_set_str(value, "schema", "klineage.retract/1");
	kl_json_set_str(value, "event", done->event->id);
	kl_json_set_str(value, "trust", kl_word_name(done->word.of));
	kl_json_set_str(value, "retraction", made ? made->id : NULL);
	kl_json_set_str(value, "signer",
			made && done->own.sig.state == KL_SIGN_GOOD ? done->own.sig.who : NULL);
	kl_json_set_int(value, "notes", (int64_t)done->notes);
	kl_json_set_int(value, "campaigns", (int64_t)done->campaigns);
	kl_json_set_int(value, "cached", (int64_t)done->cached);
	kl_json_set_str(value, "alone", made ? alone : NULL);
	kl_listing_put(value);
}

/* Print where the event was: in notes, in campaigns, in the cache. */
static void print_places(const struct kl_retraction *done)
{
	const char *between = "in ";

	if (done->notes) {
		printf("%s%zu note%s", between, done->notes, done->notes == 1 ? "" : "s");
		between = " and in ";
	}
	if (done->campaigns) {
		printf("%s%zu campaign%s", between, done->campaigns,
		       done->campaigns == 1 ? "" : "s");
		between = " and in ";
	}
	if (done->cached || (!done->notes && !done->campaigns))
		printf("%sthe cache", between);
	printf(")\n");
}

static void print_text(const struct kl_retraction *done)
{
	const struct kl_event *event = done->event;
	const char *class_ = kl_event_class(event);

	printf("retracted: ");
	kl_out_line(stdout, event->workload);
	printf(": %s%s", kl_verdict_name(event->verdict), *class_ ? " " : "");
	kl_out_line(stdout, class_);
	printf("  (event %.12s, ", event->id);
	print_places(done);
	if (done->retraction && done->own.sig.state == KL_SIGN_GOOD) {
		printf("  signed by ");
		kl_out_line(stdout, done->own.sig.who);
		putchar('\n');
	}
}

int kl_gate_retract(struct kl_repo *repo, const struct kl_retraction_opts *opts, bool json)
{
	KL_AUTO(kl_retraction_release) struct kl_retraction done = { 0 };
	KL_AUTO(kl_freep) char *alone = NULL;
	int err = kl_retract(&done, repo, opts);

	if (err < 0)
		return err;
	alone = why_alone(&done);
	if (json)
		print_json(&done, alone);
	else
		print_text(&done);
	if (done.retraction && alone)
		fprintf(stderr, "git-klineage: only this clone follows the retraction: %s\n",
			alone);
	return 0;
}
