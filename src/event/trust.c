/* SPDX-License-Identifier: Apache-2.0 */
#include "event/trust.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void kl_trust_release(struct kl_trust *t)
{
	for (size_t i = 0; i < t->n; i++) {
		kl_event_free(t->v[i].event);
		kl_signed_release(&t->v[i].sig);
	}
	free(t->v);
	*t = (struct kl_trust){ 0 };
}

void kl_trust_add_event(struct kl_trust *t, size_t tag, struct kl_event *event, bool own)
{
	KL_GROW(t->v, t->n + 1, t->alloc);
	t->v[t->n++] = (struct kl_trust_line){ .tag = tag, .event = event, .own = own };
}

void kl_trust_add(struct kl_trust *t, size_t tag, const char *text, size_t len, bool own)
{
	for (const char *s = text, *end = text + len; s < end;) {
		const char *nl = memchr(s, '\n', (size_t)(end - s));
		size_t n = (size_t)((nl ? nl : end) - s);
		struct kl_event *e = NULL;

		if (n && !kl_event_parse(&e, s, n))
			kl_trust_add_event(t, tag, e, own);
		else
			kl_error_clear();
		s += n + 1;
	}
}

static bool line_counts(const struct kl_trust_line *l, bool required)
{
	if (l->sig.state == KL_SIGN_BAD)
		return l->own;
	return !required || l->own || l->sig.state == KL_SIGN_GOOD || kl_event_is_fail(l->event);
}

int kl_trust_judge(struct kl_trust *t, struct kl_repo *r)
{
	KL_AUTO(kl_freep) struct kl_event **event = kl_calloc(t->n + 1, sizeof(*event));
	KL_AUTO(kl_freep) struct kl_signed *sig = kl_calloc(t->n + 1, sizeof(*sig));
	int err = kl_repo_config_bool(&t->required, r, "klineage.requireSigned", false);

	for (size_t i = 0; i < t->n; i++)
		event[i] = t->v[i].event;
	if (!err)
		err = kl_sign_check_events(sig, r, event, t->n);
	for (size_t i = 0; i < t->n; i++) {
		struct kl_trust_line *l = &t->v[i];

		kl_signed_release(&l->sig);
		l->sig = sig[i];
		l->counts = !err && line_counts(l, t->required);
	}
	return err;
}

void kl_trust_fold(struct kl_fold *out, const struct kl_trust *t, size_t tag, const char *surface,
		   const char *contract)
{
	KL_AUTO(kl_freep) struct kl_event **event = kl_calloc(t->n + 1, sizeof(*event));
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].tag == tag && t->v[i].counts)
			event[n++] = t->v[i].event;
	kl_fold_events(out, event, n, surface, contract);
}

int kl_trust_filter(struct kl_buf *out, struct kl_repo *r, const char *text, size_t len)
{
	KL_AUTO(kl_trust_release) struct kl_trust t = { 0 };
	int err;

	kl_trust_add(&t, 0, text, len, false);
	if ((err = kl_trust_judge(&t, r)) < 0)
		return err;
	for (size_t i = 0; i < t.n; i++) {
		if (t.v[i].sig.state == KL_SIGN_BAD)
			continue;
		kl_event_write(out, t.v[i].event);
		kl_buf_addch(out, '\n');
	}
	return 0;
}
