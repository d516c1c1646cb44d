/* SPDX-License-Identifier: Apache-2.0 */
#include "event/trust.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void kl_trust_release(struct kl_trust *trust)
{
	for (size_t i = 0; i < trust->n; i++) {
		kl_event_free(trust->v[i].event);
		kl_signed_release(&trust->v[i].sig);
	}
	free(trust->v);
	*trust = (struct kl_trust){ 0 };
}

void kl_trust_add_event(struct kl_trust *trust, size_t tag, struct kl_event *event, bool own)
{
	KL_GROW(trust->v, trust->n + 1, trust->alloc);
	trust->v[trust->n++] = (struct kl_trust_line){ .tag = tag, .event = event, .own = own };
}

void kl_trust_add(struct kl_trust *trust, size_t tag, const char *text, size_t len, bool own)
{
	for (const char *line = text, *end = text + len; line < end;) {
		const char *nl = memchr(line, '\n', (size_t)(end - line));
		size_t line_len = (size_t)((nl ? nl : end) - line);
		struct kl_event *event = NULL;

		if (line_len && !kl_event_parse(&event, line, line_len))
			kl_trust_add_event(trust, tag, event, own);
		else
			kl_error_clear();
		line += line_len + 1;
	}
}

static bool line_counts(const struct kl_trust_line *line, bool required)
{
	if (line->sig.state == KL_SIGN_BAD)
		return line->own;
	return !required || line->own || line->sig.state == KL_SIGN_GOOD ||
	       kl_event_is_fail(line->event);
}

int kl_trust_judge(struct kl_trust *trust, struct kl_repo *repo)
{
	KL_AUTO(kl_freep) struct kl_event **event = kl_calloc(trust->n + 1, sizeof(*event));
	KL_AUTO(kl_freep) struct kl_signed *sig = kl_calloc(trust->n + 1, sizeof(*sig));
	KL_AUTO(kl_signers_freep) struct kl_signers *signers = NULL;
	int err = kl_repo_config_bool(&trust->required, repo, "klineage.requireSigned", false);

	for (size_t i = 0; i < trust->n; i++)
		event[i] = trust->v[i].event;
	if (!err && trust->n)
		err = kl_signers_open(&signers, repo, NULL);
	if (!err && trust->n)
		err = kl_sign_check_events(sig, signers, event, trust->n);
	for (size_t i = 0; i < trust->n; i++) {
		struct kl_trust_line *line = &trust->v[i];

		kl_signed_release(&line->sig);
		line->sig = sig[i];
		line->counts = !err && line_counts(line, trust->required);
	}
	return err;
}

void kl_trust_fold(struct kl_fold *out, const struct kl_trust *trust, size_t tag,
		   const char *surface, const char *contract)
{
	KL_AUTO(kl_freep) struct kl_event **event = kl_calloc(trust->n + 1, sizeof(*event));
	size_t n = 0;

	for (size_t i = 0; i < trust->n; i++)
		if (trust->v[i].tag == tag && trust->v[i].counts)
			event[n++] = trust->v[i].event;
	kl_fold_events(out, event, n, surface, contract);
}

int kl_trust_filter(struct kl_buf *out, struct kl_repo *repo, const char *text, size_t len)
{
	KL_AUTO(kl_trust_release) struct kl_trust trust = { 0 };
	int err;

	kl_trust_add(&trust, 0, text, len, false);
	if ((err = kl_trust_judge(&trust, repo)) < 0)
		return err;
	for (size_t i = 0; i < trust.n; i++) {
		if (trust.v[i].sig.state == KL_SIGN_BAD)
			continue;
		kl_event_write(out, trust.v[i].event);
		kl_buf_addch(out, '\n');
	}
	return 0;
}
