/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PROVIDER_ROWS_H
#define KL_PROVIDER_ROWS_H

/*
 * provider_rows - every row of templates/providers.yaml: what is sent to it, and a usage object, as
 * its provider documents both.
 */
#include "model/provider/message.h"

/* clang-format off */
#define U(in, out, read, w5, w1) { true, in, out, read, w5, w1 }
static const struct row {
	const char *name;
	const char *path;   /* with the values below for resource, region, project and version */
	const char *header; /* of the key, and what precedes it there */
	const char *version; /* anthropic-version, or NULL */
	const char *tail;   /* of the body, after the texts */
	const char *line;   /* of the script: a reply with a usage as documented */
	struct kl_usage usage;
	int64_t permille; /* of the price */
} rows[] = {
#define MARK ",\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"5m\"}}]}"
#define MESSAGES_TAIL MARK "],\"max_tokens\":1000,\"stream\":true}"
#define ANT_USAGE "\"usage_start\":{\"input_tokens\":2095,\"cache_creation_input_tokens\":2051,\"cache_read_input_tokens\":2051," \
	"\"cache_creation\":{\"ephemeral_5m_input_tokens\":51,\"ephemeral_1h_input_tokens\":2000},\"output_tokens\":1," \
	"\"service_tier\":\"standard\",\"inference_geo\":\"not_available\"},\"usage_as\":{\"output_tokens\":503}"
	{ "anthropic", "/v1/messages", "x-api-key", "2023-06-01", MESSAGES_TAIL, "\"usage_start\":{\"input_tokens\":2095,"
	  "\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":0,\"output_tokens\":1,\"inference_geo\":\"us\"},"
	  "\"usage_as\":{\"output_tokens\":503}", U(2095, 503, 0, 0, 0), 1100 },
	{ "foundry", "/anthropic/v1/messages", "api-key", "2023-06-01", MESSAGES_TAIL, ANT_USAGE, U(2095, 503, 2051, 51, 2000), 1000 },
	{ "vertex-anthropic", "/v1/projects/p-1/locations/eu-1/publishers/anthropic/models/test-model-1:streamRawPredict",
	  "authorization", NULL, MARK "],\"max_tokens\":1000,\"stream\":true,\"anthropic_version\":\"vertex-2023-10-16\"}", ANT_USAGE,
	  U(2095, 503, 2051, 51, 2000), 1000 },
	{ "bedrock-anthropic", "/anthropic/v1/messages", "authorization", "2023-06-01", MESSAGES_TAIL, ANT_USAGE,
	  U(2095, 503, 2051, 51, 2000), 1000 },
	{ "openrouter-anthropic", "/api/v1/messages", "authorization", "2023-06-01", MESSAGES_TAIL, ANT_USAGE,
	  U(2095, 503, 2051, 51, 2000), 1000 },
#define COMPLETION "],\"max_completion_tokens\":1000,\"stream\":true,\"stream_options\":{\"include_usage\":true}}"
#define PLAIN "],\"max_tokens\":1000,\"stream\":true,\"stream_options\":{\"include_usage\":true}}"
#define KEYED(tokens) "],\"" tokens "\":1000,\"stream\":true,\"prompt_cache_key\":\"k-1\",\"stream_options\":{\"include_usage\":true}}"
	{ "openai", "/v1/chat/completions", "authorization", NULL, KEYED("max_tokens"),
	  "\"around\":{\"service_tier\":\"flex\"},\"usage_as\":{\"prompt_tokens\":2006,\"completion_tokens\":300,\"total_tokens\":2306,"
	  "\"prompt_tokens_details\":{\"cached_tokens\":1920,\"cache_write_tokens\":80,\"audio_tokens\":0},"
	  "\"completion_tokens_details\":{\"reasoning_tokens\":120,\"audio_tokens\":0}}", U(6, 300, 1920, 80, 0), 500 },
	{ "azure", "/openai/v1/chat/completions", "api-key", NULL, KEYED("max_completion_tokens"),
	  "\"usage_as\":{\"prompt_tokens\":2006,\"completion_tokens\":300,\"total_tokens\":2306,"
	  "\"prompt_tokens_details\":{\"cached_tokens\":1920,\"audio_tokens\":0}}", U(86, 300, 1920, 0, 0), 1000 },
	{ "azure-classic", "/openai/deployments/test-model-1/chat/completions?api-version=2024-10-21", "api-key", NULL, COMPLETION,
	  "\"usage_as\":{\"prompt_tokens\":2006,\"completion_tokens\":300,\"total_tokens\":2306}", U(2006, 300, 0, 0, 0), 1000 },
	/* reasoning is counted in the total alone */
	{ "gemini", "/v1beta/openai/chat/completions", "authorization", NULL, PLAIN,
	  "\"usage_as\":{\"prompt_tokens\":600,\"completion_tokens\":10,\"total_tokens\":910}", U(600, 310, 0, 0, 0), 1000 },
	{ "vertex", "/v1/projects/p-1/locations/eu-1/endpoints/openapi/chat/completions", "authorization", NULL, PLAIN,
	  "\"usage_as\":{\"prompt_tokens\":600,\"completion_tokens\":10,\"total_tokens\":910,"
	  "\"completion_tokens_details\":{\"reasoning_tokens\":300}}", U(600, 310, 0, 0, 0), 1000 },
	{ "bedrock", "/openai/v1/chat/completions", "authorization", NULL, COMPLETION,
	  "\"usage_as\":{\"prompt_tokens\":600,\"completion_tokens\":10,\"total_tokens\":610}", U(600, 10, 0, 0, 0), 1000 },
#define REASONED "\"max_output_tokens\":1000,\"stream\":true"
	{ "openai-responses", "/v1/responses", "authorization", NULL, "]," REASONED ",\"prompt_cache_key\":\"k-1\",\"store\":false}",
	  "\"around\":{\"service_tier\":\"default\"},\"usage_as\":{\"input_tokens\":2006,\"input_tokens_details\":{\"cached_tokens\":1920},"
	  "\"output_tokens\":300,\"output_tokens_details\":{\"reasoning_tokens\":120},\"total_tokens\":2306}", U(86, 300, 1920, 0, 0),
	  1000 },
	{ "bedrock-responses", "/openai/v1/responses", "authorization", NULL, "]," REASONED ",\"store\":false}",
	  "\"usage_as\":{\"input_tokens\":600,\"output_tokens\":10,\"total_tokens\":610}", U(600, 10, 0, 0, 0), 1000 },
	{ "xai", "/v1/responses", "authorization", NULL, "]," REASONED ",\"prompt_cache_key\":\"k-1\",\"store\":false}",
	  "\"usage_as\":{\"input_tokens\":125,\"output_tokens\":48,\"total_tokens\":173,\"input_tokens_details\":{\"cached_tokens\":98},"
	  "\"output_tokens_details\":{\"reasoning_tokens\":0}}", U(27, 48, 98, 0, 0), 1000 },
	{ "xai-chat", "/v1/chat/completions", "authorization", NULL, COMPLETION,
	  "\"usage_as\":{\"prompt_tokens\":6000,\"completion_tokens\":100,\"total_tokens\":6900,\"prompt_tokens_details\":"
	  "{\"text_tokens\":6000,\"cached_tokens\":98},\"completion_tokens_details\":{\"reasoning_tokens\":800}}", U(5902, 900, 98, 0, 0), 1000 },
	{ "openrouter", "/api/v1/chat/completions", "authorization", NULL, "],\"max_tokens\":1000,\"stream\":true}",
	  "\"usage_as\":{\"completion_tokens\":2,\"completion_tokens_details\":{\"reasoning_tokens\":0},\"cost\":0.95,"
	  "\"cost_details\":{\"upstream_inference_cost\":19},\"prompt_tokens\":194,\"prompt_tokens_details\":{\"cached_tokens\":0,"
	  "\"cache_write_tokens\":100,\"audio_tokens\":0},\"total_tokens\":196}", U(94, 2, 0, 100, 0), 1000 },
	{ "mistral", "/v1/chat/completions", "authorization", NULL, "],\"max_tokens\":1000,\"stream\":true,\"prompt_cache_key\":\"k-1\"}",
	  "\"usage_as\":{\"prompt_tokens\":2000,\"completion_tokens\":77,\"total_tokens\":2077,"
	  "\"prompt_tokens_details\":{\"cached_tokens\":1984}}", U(16, 77, 1984, 0, 0), 1000 },
	{ "deepseek", "/chat/completions", "authorization", NULL, PLAIN,
	  "\"usage_as\":{\"prompt_tokens\":2000,\"completion_tokens\":77,\"total_tokens\":2077,\"prompt_cache_hit_tokens\":1920,"
	  "\"prompt_cache_miss_tokens\":80,\"completion_tokens_details\":{\"reasoning_tokens\":40}}", U(80, 77, 1920, 0, 0), 1000 },
	{ "zai", "/api/paas/v4/chat/completions", "authorization", NULL, "],\"max_tokens\":1000,\"stream\":true}",
	  "\"usage_as\":{\"prompt_tokens\":2000,\"completion_tokens\":77,\"total_tokens\":2077,"
	  "\"prompt_tokens_details\":{\"cached_tokens\":1500}}", U(500, 77, 1500, 0, 0), 1000 },
	{ "vllm", "/v1/chat/completions", "authorization", NULL, PLAIN,
	  "\"usage_as\":{\"prompt_tokens\":2000,\"completion_tokens\":77,\"total_tokens\":2077,\"prompt_tokens_details\":null}",
	  U(2000, 77, 0, 0, 0), 1000 },
	{ "sglang", "/v1/chat/completions", "authorization", NULL, PLAIN,
	  "\"usage_as\":{\"prompt_tokens\":2000,\"completion_tokens\":77,\"total_tokens\":2077,\"prompt_tokens_details\":"
	  "{\"cached_tokens\":1999}}", U(1, 77, 1999, 0, 0), 1000 },
	{ "llamacpp", "/v1/chat/completions", "authorization", NULL,
	  "],\"max_tokens\":1000,\"stream\":true,\"cache_prompt\":true,\"stream_options\":{\"include_usage\":true}}",
	  "\"usage_as\":{\"prompt_tokens\":2000,\"completion_tokens\":77,\"total_tokens\":2077}", U(2000, 77, 0, 0, 0), 1000 },
	{ "ollama", "/v1/chat/completions", "authorization", NULL, PLAIN,
	  "\"usage_as\":{\"prompt_tokens\":2000,\"completion_tokens\":77,\"total_tokens\":2077}", U(2000, 77, 0, 0, 0), 1000 },
};
/* clang-format on */

#endif
