/* SPDX-License-Identifier: Apache-2.0 */
/* mcp_arguments - checks the arguments of a call, and makes the command line from them */
#include <regex.h>
#include <string.h>

#include "base/error.h"
#include "cmd/mcp/mcp_param.h"
#include "cmd/mcp/mcp_tool.h"

static int wrong_type(const struct kl_mcp_param *param, const char *type)
{
	return kl_error(KL_EINVALID, "'%s' is not %s", param->name, type);
}

static bool is_among(const char *word, const char *words)
{
	size_t n = strlen(word);

	for (const char *at = words; n && (at = strstr(at, word)); at++)
		if ((at == words || at[-1] == '|') && (!at[n] || at[n] == '|'))
			return true;
	return false;
}

static int check_text(const struct kl_mcp_param *param, const json_t *value)
{
	const char *text = json_string_value(value);
	regex_t re;
	bool ok;

	if (!text)
		return wrong_type(param, "a string");
	if (strlen(text) > (size_t)param->max)
		return kl_error(KL_EINVALID, "'%s' is longer than %lld bytes", param->name,
				(long long)param->max);
	if (regcomp(&re, param->pattern, REG_EXTENDED | REG_NOSUB))
		KL_BUG("invalid pattern of '%s'", param->name);
	ok = !regexec(&re, text, 0, NULL, 0);
	regfree(&re);
	return ok ? 0 :
		    kl_error(KL_EINVALID, "'%s' does not match %s", param->name, param->pattern);
}

static int check_words(const struct kl_mcp_param *param, const json_t *value)
{
	size_t i;
	json_t *word;

	if (!json_array_size(value) || json_array_size(value) > 16)
		return wrong_type(param, "a list of words");
	json_array_foreach(value, i, word)
		if (!is_among(json_is_string(word) ? json_string_value(word) : "", param->words))
			return kl_error(KL_EINVALID, "'%s' must be a list of these: %s",
					param->name, param->words);
	return 0;
}

static int check_value(const struct kl_mcp_param *param, const json_t *value)
{
	switch (param->kind) {
	case KL_MCP_TEXT:
		return check_text(param, value);
	case KL_MCP_WORD:
		if (!is_among(json_is_string(value) ? json_string_value(value) : "", param->words))
			return kl_error(KL_EINVALID, "'%s' must be one of these: %s", param->name,
					param->words);
		return 0;
	case KL_MCP_WORDS:
		return check_words(param, value);
	case KL_MCP_BOOL:
		return json_is_boolean(value) ? 0 : wrong_type(param, "true or false");
	case KL_MCP_INT:
		if (json_is_integer(value) && json_integer_value(value) >= param->min &&
		    json_integer_value(value) <= param->max)
			return 0;
		return kl_error(KL_EINVALID, "'%s' is not an integer from %lld to %lld",
				param->name, (long long)param->min, (long long)param->max);
	case KL_MCP_EDITS:
		return json_is_array(value) ? 0 : wrong_type(param, "a list of edits");
	case KL_MCP_TRAITS:
		return json_is_object(value) ? 0 : wrong_type(param, "an object");
	}
	return 0;
}

static const struct kl_mcp_param *find_param(const struct kl_mcp_tool *tool, const char *name)
{
	for (const struct kl_mcp_param *param = tool->param; param->name; param++)
		if (!strcmp(param->name, name))
			return param;
	return NULL;
}

static int check_args(const struct kl_mcp_tool *tool, const json_t *args)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)args, key, value) {
		const struct kl_mcp_param *param = find_param(tool, key);
		int err = param ? check_value(param, value) :
				  kl_error(KL_EINVALID, "%s does not take an argument '%.60s'",
					   tool->name, key);

		if (err < 0)
			return err;
	}
	for (const struct kl_mcp_param *param = tool->param; param->name; param++)
		if (param->required && !json_object_get(args, param->name))
			return kl_error(KL_EINVALID, "'%s' is missing", param->name);
	return 0;
}

static void push_option(struct kl_strvec *argv, const struct kl_mcp_param *param,
			const json_t *value)
{
	size_t i;
	json_t *word;
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	switch (param->kind) {
	case KL_MCP_BOOL:
		kl_strvec_pushf(argv, "--%s%s", json_is_true(value) ? "" : "no-", param->option);
		return;
	case KL_MCP_INT:
		kl_strvec_pushf(argv, "--%s=%lld", param->option,
				(long long)json_integer_value(value));
		return;
	case KL_MCP_WORDS:
		json_array_foreach(value, i, word)
			kl_buf_addf(&buf, "%s%s", i ? "," : "", json_string_value(word));
		kl_strvec_pushf(argv, "--%s=%s", param->option, buf.ptr);
		return;
	default:
		kl_strvec_pushf(argv, "--%s=%s", param->option, json_string_value(value));
	}
}

int kl_mcp_tool_argv(struct kl_strvec *argv, const struct kl_mcp_tool *tool, const json_t *args,
		     bool read_only)
{
	int err = check_args(tool, args);

	if (err < 0)
		return err;
	kl_strvec_pushv(argv, tool->argv);
	for (const struct kl_mcp_param *param = tool->param; param->name; param++)
		if (param->option && json_object_get(args, param->name))
			push_option(argv, param, json_object_get(args, param->name));
	if (tool->more)
		tool->more(argv, args, read_only);
	if (tool->flags & KL_MCP_DOCUMENT)
		return 0;
	kl_strvec_push(argv, "--");
	for (const struct kl_mcp_param *param = tool->param; param->name; param++)
		if (!param->option && json_is_string(json_object_get(args, param->name)))
			kl_strvec_push(argv, json_string_value(json_object_get(args, param->name)));
	return 0;
}
