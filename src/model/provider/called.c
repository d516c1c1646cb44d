/* SPDX-License-Identifier: Apache-2.0 */
/* called - the provider `table`, whose replies a function of the caller makes */
#include <string.h>

#include "base/error.h"
#include "model/provider/ops.h"

#define BYTES_PER_TOKEN 4

static int called_open(struct kl_provider *provider)
{
	return provider->answer ?
		       0 :
		       kl_error(KL_EUSAGE, "only a search with a table has the provider 'table'");
}

static int64_t count_tokens(size_t bytes)
{
	return (int64_t)(bytes / BYTES_PER_TOKEN) + 1;
}

static int64_t request_tokens(const struct kl_provider_request *request)
{
	size_t bytes = 0;

	for (size_t i = 0; i < request->nsystem; i++)
		bytes += strlen(request->system[i]);
	for (size_t i = 0; i < request->nmessage; i++)
		bytes += strlen(request->message[i].text);
	return count_tokens(bytes);
}

static int called_send(struct kl_reply *out, struct kl_provider *provider,
		       const struct kl_provider_request *request,
		       const struct kl_request_context *context,
		       const struct kl_provider_watch *watch)
{
	int err;

	if (!context->about)
		return kl_error(KL_EINVALID,
				"the provider 'table' answers only what a search asks");
	if ((err = provider->answer(&out->text, context->about, provider->payload)) < 0)
		return err;
	out->stop = KL_STOP_END;
	out->usage.known = true;
	out->usage.input = request_tokens(request);
	out->usage.output = count_tokens(strlen(out->text));
	return kl_provider_heard(watch, (int64_t)strlen(out->text), &out->usage);
}

const struct kl_provider_ops kl_provider_called = {
	.name = "table",
	.blind = true,
	.open = called_open,
	.body = kl_provider_plain_body,
	.send = called_send,
};
