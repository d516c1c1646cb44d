/* SPDX-License-Identifier: Apache-2.0 */
#include "event/signature.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/par.h"
#include "base/tasks.h"
#include "event/signature_cache.h"

#define MAX_SIG 16384

const char *kl_sign_state_name(enum kl_sign_state state)
{
	static const char *const names[] = { "unsigned", "good", "unknown key", "bad",
					     "unchecked" };

	return names[state];
}

void kl_signed_release(struct kl_signed *result)
{
	free(result->who);
	free(result->why);
	*result = (struct kl_signed){ 0 };
}

/* One signature to check. */
struct question {
	const struct kl_keygen *keygen;
	const struct kl_sign_claim *claim;
	const char *allowed, *revoked; /* files with keys; NULL if there is none */
	const char *sig;               /* file with the signature */
	/* signer of the previous claim, tried first; NULL if there is none */
	const char *guess;
	/* option -Overify-time=...; "" if the key must be valid now */
	char when[48];
};

static int run_keygen(struct kl_buf *out, const struct question *question, const char *command,
		      const char *principal)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec args = KL_STRVEC_INIT;
	bool find = !strcmp(command, "find-principals"), verify = !strcmp(command, "verify");

	kl_strvec_pushv(&args, (const char *const[]){ "-Y", command, "-s", question->sig, NULL });
	if (!find)
		kl_strvec_pushv(&args, (const char *const[]){ "-n", KL_SIGN_NAMESPACE, NULL });
	if (find || verify)
		kl_strvec_pushv(&args, (const char *const[]){ "-f", question->allowed, NULL });
	if (verify)
		kl_strvec_pushv(&args, (const char *const[]){ "-I", principal, NULL });
	if (verify && question->revoked)
		kl_strvec_pushv(&args, (const char *const[]){ "-r", question->revoked, NULL });
	if ((find || verify) && *question->when)
		kl_strvec_push(&args, question->when);
	return kl_keygen_run(out, question->keygen, (const char *const *)args.v,
			     find ? NULL : question->claim->text, find ? 0 : question->claim->len);
}

/* Return the fingerprint in "... with ED25519 key SHA256:abc", or NULL; the caller frees. */
static char *print_of(const char *output)
{
	const char *at = strstr(output, "SHA256:");

	return at ? kl_strndup(at, strcspn(at, " \n")) : NULL;
}

static int not_good(struct kl_signed *out, int err, const char *output)
{
	out->state = err ? KL_SIGN_BAD : KL_SIGN_UNKNOWN;
	if (err)
		out->why = kl_strdup(kl_error_last());
	else
		out->who = print_of(output);
	kl_error_clear();
	return 0;
}

/* Check a signature that no listed signer made: if it is valid, an unknown key made it. */
static int check_unlisted(struct kl_signed *out, const struct question *question)
{
	KL_AUTO(kl_buf_release) struct kl_buf output = KL_BUF_INIT;
	int err = run_keygen(&output, question, "check-novalidate", NULL);

	return err < 0 && err != KL_ENO ? err : not_good(out, err, output.ptr);
}

/*
 * Check whether this signer made the signature. ssh-keygen does not report that a key is revoked,
 * so if verification fails, verify again without the revocation list: success means that the key is
 * revoked. Return KL_ENO if the signer did not make the signature.
 */
static int check_signer(struct kl_signed *out, const struct question *question,
			const char *principal)
{
	KL_AUTO(kl_buf_release) struct kl_buf output = KL_BUF_INIT;
	struct question again = *question;
	int err = run_keygen(&output, question, "verify", principal);

	if (!err) {
		out->state = KL_SIGN_GOOD;
		out->who = kl_strdup(principal);
	}
	if (err != KL_ENO || !question->revoked)
		return err;
	again.revoked = NULL;
	err = run_keygen(&output, &again, "verify", principal);
	if (!err) {
		out->state = KL_SIGN_BAD;
		out->why = kl_asprintf("the key of %.100s is revoked", principal);
	}
	return err;
}

/*
 * Find the possible signers, then verify against each, as git does. If no signer matches, check
 * whether the signature is valid at all.
 */
static int answer_question(struct kl_signed *out, const struct question *question)
{
	KL_AUTO(kl_buf_release) struct kl_buf names = KL_BUF_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec principals = KL_STRVEC_INIT;
	int err = question->guess ? check_signer(out, question, question->guess) : KL_ENO;

	if (err != KL_ENO)
		return err;
	err = question->allowed ? run_keygen(&names, question, "find-principals", NULL) : KL_ENO;
	if (err < 0 && err != KL_ENO)
		return err;
	if (!err)
		kl_strvec_split(&principals, names.ptr, "\n");
	for (size_t i = 0; i < principals.n; i++)
		if ((err = check_signer(out, question, principals.v[i])) != KL_ENO)
			return err;
	return check_unlisted(out, question);
}

/*
 * Convert "2026-11-20T10:00:00Z" to an ssh-keygen option that accepts a key that was valid at that
 * time. Return false if `time` has another form; the key must then be valid now.
 */
static bool set_when(struct question *question, const char *time)
{
	char digits[16];
	size_t n = 0;

	question->when[0] = '\0';
	if (!kl_clock_is_iso(time))
		return false;
	for (; *time; time++)
		if (*time >= '0' && *time <= '9')
			digits[n++] = *time;
	digits[n] = '\0';
	snprintf(question->when, sizeof(question->when), "-Overify-time=%s", digits);
	return true;
}

/* Do not cache the check of a claim without a time: its result depends on the current time. */
static bool can_be_cached(const struct kl_sign_claim *claim)
{
	return kl_clock_is_iso(claim->time);
}

/* Data that all claims of one kl_sign_check() share. */
struct checking {
	struct kl_signers *signers;
	const char *allowed; /* file with the lists of signers; NULL if there is none */
	const char *dir;     /* directory for files with signatures */
};

static int check_claim(struct kl_signed *out, const struct checking *checking, const char *file,
		       const struct kl_sign_claim *claim, const char *guess)
{
	struct question question = { .keygen = kl_signers_keygen(checking->signers),
				     .claim = claim,
				     .allowed = checking->allowed,
				     .revoked = kl_signers_revoked(checking->signers),
				     .sig = file,
				     .guess = guess };
	int err;

	*out = (struct kl_signed){ 0 };
	if (strlen(claim->sig) > MAX_SIG) {
		out->state = KL_SIGN_BAD;
		out->why = kl_asprintf("the signature is too long: %zu bytes", strlen(claim->sig));
		return 0;
	}
	set_when(&question, claim->time);
	if ((err = kl_fs_put(file, claim->sig, strlen(claim->sig), 0600)) < 0)
		return err;
	err = answer_question(out, &question);
	if (err != KL_ECANNOT)
		return err;
	out->state = KL_SIGN_UNCHECKED;
	out->why = kl_strdup(kl_error_last());
	kl_error_clear();
	return 0;
}

/* The claims of one task: every `step`-th claim, starting with claim[from]. */
struct share {
	const struct checking *checking;
	struct kl_signed *const *out;
	const struct kl_sign_claim *const *claim;
	size_t from, step, n;
};

static int check_share(void *ctx)
{
	const struct share *share = ctx;
	KL_AUTO(kl_freep) char *file = kl_asprintf("%s/%zu", share->checking->dir, share->from);
	const char *last = NULL;
	int err = 0;

	for (size_t i = share->from; i < share->n && !err; i += share->step) {
		err = check_claim(share->out[i], share->checking, file, share->claim[i], last);
		if (share->out[i]->state == KL_SIGN_GOOD)
			last = share->out[i]->who;
	}
	return err;
}

static int check_all(const struct checking *checking, struct kl_signed *const *out,
		     const struct kl_sign_claim *const *claim, size_t n)
{
	size_t ntasks = kl_par_width() < n ? kl_par_width() : n;
	KL_AUTO(kl_freep) struct kl_task *task = kl_calloc(ntasks, sizeof(*task));
	KL_AUTO(kl_freep) struct share *share = kl_calloc(ntasks, sizeof(*share));
	int err = 0;

	for (size_t i = 0; i < ntasks; i++) {
		share[i] = (struct share){ checking, out, claim, i, ntasks, n };
		task[i] = (struct kl_task){ .run = check_share, .ctx = &share[i] };
	}
	kl_tasks_run(task, ntasks);
	for (size_t i = 0; i < ntasks && !err; i++)
		err = kl_task_result(&task[i]);
	kl_tasks_release(task, ntasks);
	return err;
}

/* Check claims that the cache does not have, and add the results to the cache. */
static int check_new(struct kl_signature_cache *cache, struct kl_signers *signers,
		     struct kl_signed *const *out, const struct kl_sign_claim *const *claim,
		     size_t n)
{
	KL_AUTO(kl_fs_tempdir_cleanup) char *dir = NULL;
	struct checking checking = { .signers = signers };
	int err;

	if ((err = kl_fs_tempdir(&dir, "klineage-sign")) < 0 ||
	    (err = kl_signers_path(&checking.allowed, signers)) < 0)
		return err;
	checking.dir = dir;
	if ((err = check_all(&checking, out, claim, n)) < 0)
		return err;
	for (size_t i = 0; i < n; i++)
		if (can_be_cached(claim[i]))
			kl_signature_cache_put(cache, claim[i], out[i]);
	kl_signature_cache_save(cache);
	return 0;
}

int kl_sign_check(struct kl_signed *out, struct kl_signers *signers,
		  const struct kl_sign_claim *claim, size_t n)
{
	KL_AUTO(kl_signature_cache_release) struct kl_signature_cache cache = { 0 };
	KL_AUTO(kl_freep) const struct kl_sign_claim **open = kl_calloc(n + 1, sizeof(*open));
	KL_AUTO(kl_freep) struct kl_signed **to = kl_calloc(n + 1, sizeof(*to));
	size_t nopen = 0;
	bool have_cache = false;

	for (size_t i = 0; i < n; i++) {
		out[i] = (struct kl_signed){ 0 };
		if (!*claim[i].sig)
			continue;
		if (!have_cache)
			kl_signature_cache_open(&cache, signers);
		have_cache = true;
		if (can_be_cached(&claim[i]) && kl_signature_cache_get(&out[i], &cache, &claim[i]))
			continue;
		open[nopen] = &claim[i];
		to[nopen++] = &out[i];
	}
	return nopen ? check_new(&cache, signers, to, open, nopen) : 0;
}

struct kl_sign_claim kl_sign_claim_of(const struct kl_event *event)
{
	return (struct kl_sign_claim){
		.text = event->id,
		.len = strlen(event->id),
		.sig = event->sig,
		.time = event->time,
	};
}

int kl_sign_verify(char **principal, struct kl_signers *signers, const void *text, size_t len,
		   const char *sig)
{
	const struct kl_sign_claim claim = { .text = text, .len = len, .sig = sig, .time = "" };
	KL_AUTO(kl_signed_release) struct kl_signed result = { 0 };
	int err;

	if (kl_signers_none(signers))
		return kl_error(KL_ECANNOT,
				"neither gpg.ssh.allowedSignersFile nor klineage.signers is set");
	if ((err = kl_sign_check(&result, signers, &claim, 1)) < 0)
		return err;
	switch (result.state) {
	case KL_SIGN_GOOD:
		*principal = kl_steal(&result.who);
		return 0;
	case KL_SIGN_UNCHECKED:
		return kl_error(KL_ECANNOT, "%s", result.why);
	case KL_SIGN_UNKNOWN:
		return kl_error(KL_EINVALID,
				"the signer's key is not in a list of allowed signers");
	case KL_SIGN_NONE:
		return kl_error(KL_EINVALID, "the signature is empty");
	default:
		return kl_error(KL_EINVALID, "bad signature: %s", result.why);
	}
}
