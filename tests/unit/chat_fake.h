/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CHAT_FAKE_H
#define KL_CHAT_FAKE_H

/*
 * chat_fake - a pretended provider in the place of src/model/provider/provider.c: it answers at
 * once, charges by a price list of its own, and writes each charge as a line into a file before it
 * answers, as a real one's bookkeeping would.
 */
#include <fcntl.h>
#include <unistd.h>

#include "base/rng.h"
#include "model/provider/key.h"
#include "model/provider/provider.h"
#include "scratch.h"

/* nano-dollars a token: what a test configures as 'input=3 output=15' */
#define FAKE_IN 3000
#define FAKE_OUT 15000

enum fake_way {
	FAKE_GOOD,
	FAKE_SILENT,  /* charges, answers, does not say what it used */
	FAKE_REFUSED, /* an error that cost nothing, and says so */
	FAKE_BUSY,    /* the same for the first `times` requests, and it can pass */
	FAKE_CUT,     /* charges, then breaks off without a word of usage, for good */
	FAKE_BROKEN,  /* the same for the first `times` requests, and it can pass */
	FAKE_EMPTY,   /* charges, says what for, has no text */
	FAKE_ABSURD,  /* says that it used less than nothing */
};

static struct {
	char *till;      /* "<phase> <turn> <key> <nano> <charge>" a line */
	char charge[24]; /* the last one's name; in the reply if `name_charge` */
	bool name_charge;
	enum fake_way way;
	int64_t out; /* tokens of a reply; 0: all that were allowed */
	bool unmetered;
	char *last; /* the request it saw last, all texts in order */
	int asked, times;
	bool at_once;         /* asks for no pause before the next attempt */
	int64_t max_tokens;   /* of the last request */
	void (*before)(void); /* called when the request has come, before it is charged */
	void (*after)(void);  /* called when it has been charged, before it is answered */
} fake;

struct kl_provider {
	bool metered;
};

int kl_provider_open(struct kl_provider **out, struct kl_repo *repo,
		     const struct kl_provider_opts *opts)
{
	*out = kl_calloc(1, sizeof(**out));
	(*out)->metered = !fake.unmetered;
	return 0;
}

void kl_provider_free(struct kl_provider *provider)
{
	free(provider);
}

const char *kl_provider_name(const struct kl_provider *provider)
{
	return "fake";
}

bool kl_provider_metered(const struct kl_provider *provider)
{
	return provider->metered;
}

bool kl_provider_blind(const struct kl_provider *provider)
{
	return true;
}

int kl_provider_body(struct kl_buf *out, size_t *prefix, const struct kl_provider *provider,
		     const struct kl_provider_request *request)
{
	kl_buf_addf(out, "%s\n", request->model);
	for (size_t i = 0; i < request->nsystem; i++)
		kl_buf_addf(out, "S:%s\n", request->system[i]);
	for (size_t i = 0; i < request->nmessage; i++)
		kl_buf_addf(out, "%s:%s\n", request->message[i].assistant ? "A" : "U",
			    request->message[i].text);
	return 0;
}

static void fake_charge(const struct kl_request_context *context, int64_t nano)
{
	KL_AUTO(kl_freep) char *line = NULL;
	char key[KL_DIGEST_HEX];
	int fd = open(fake.till, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

	kl_provider_key(key, context->key, context->turn + 1);
	snprintf(fake.charge, sizeof(fake.charge), "c%016llx",
		 (unsigned long long)kl_rng_os_seed());
	line = kl_asprintf("%s %zu %s %lld %s\n", context->phase, context->turn, key,
			   (long long)nano, fake.charge);
	if (fd < 0 || write(fd, line, strlen(line)) != (ssize_t)strlen(line))
		abort();
	close(fd);
}

static int fake_answer(struct kl_reply *out, const struct kl_provider_request *request,
		       const struct kl_request_context *context,
		       const struct kl_provider_watch *watch)
{
	if (fake.way == FAKE_CUT || (fake.way == FAKE_BROKEN && fake.asked <= fake.times)) {
		out->failure.transient = fake.way == FAKE_BROKEN;
		return kl_error(KL_EIO, "the connection broke");
	}
	if (fake.way == FAKE_EMPTY) {
		out->stop = KL_STOP_REFUSAL;
		out->flaw = KL_FLAW_REFUSAL;
	}
	out->text = kl_asprintf("reply %zu of %s to: %s%s", context->turn, context->phase,
				request->message[request->nmessage - 1].text,
				fake.name_charge ? fake.charge : "");
	out->model = kl_strdup("fake-1");
	return watch->heard((int64_t)strlen(out->text), &out->usage, watch->payload) ?
		       kl_error(KL_EINTR, "interrupted") :
		       0;
}

int kl_provider_send(struct kl_reply *out, struct kl_provider *provider,
		     const struct kl_provider_request *request,
		     const struct kl_request_context *context,
		     const struct kl_provider_watch *watch)
{
	KL_AUTO(kl_buf_release) struct kl_buf body = KL_BUF_INIT;
	int64_t in, tokens = fake.out && fake.out < request->max_tokens ? fake.out :
									  request->max_tokens;

	*out = (struct kl_reply){ .failure.after_ms = fake.at_once ? 0 : -1 };
	fake.asked++;
	fake.max_tokens = request->max_tokens;
	kl_provider_body(&body, NULL, provider, request);
	in = (int64_t)body.len; /* the dearest that tokens can be */
	free(fake.last);
	fake.last = kl_buf_detach(&body);
	if (fake.way == FAKE_REFUSED || (fake.way == FAKE_BUSY && fake.asked <= fake.times)) {
		out->usage.known = true;
		out->failure.transient = fake.way == FAKE_BUSY;
		return kl_error(KL_EIO, "529: overloaded");
	}
	if (fake.before)
		fake.before();
	fake_charge(context, in * FAKE_IN + tokens * FAKE_OUT);
	if (fake.after)
		fake.after();
	out->usage = (struct kl_usage){
		.known = fake.way != FAKE_SILENT && fake.way != FAKE_CUT &&
			 (fake.way != FAKE_BROKEN || fake.asked > fake.times),
		.input = fake.way == FAKE_ABSURD ? -5 : in,
		.output = tokens,
	};
	return fake_answer(out, request, context, watch);
}

/** What was charged in all, and how often. */
static __attribute__((unused)) int64_t fake_charged(size_t *times)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int64_t sum = 0;

	*times = 0;
	if (!kl_fs_exists(fake.till))
		return 0;
	assert_ok(kl_fs_read(&text, fake.till, (size_t)256 << 20));
	for (char *string = text.ptr; *string; string = strchr(string, '\n') + 1) {
		char *blank = strchr(string, ' ');

		blank = strchr(strchr(blank + 1, ' ') + 1, ' ');
		sum += atoll(blank + 1);
		++*times;
	}
	return sum;
}

#endif
