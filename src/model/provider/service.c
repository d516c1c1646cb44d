/* SPDX-License-Identifier: Apache-2.0 */
#include "model/provider/service.h"

#include <ctype.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/fs.h"
#include "model/provider/url.h"
#include "text/name.h"

#define SHIPPED "templates/providers.yaml"
#define MAX_FILE ((size_t)1 << 20)

/* --- the table ------------------------------------------------------------------------- */

static bool is_member(const char *text, size_t len)
{
	return len <= 64 && *text && !text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_.")];
}

/*
 * Return true if `text` can be the name of an environment variable with a key. Only names that
 * base/environment.h recognizes are valid, so that git and ssh-keygen do not get the variable.
 */
static bool is_key_variable(const char *text, size_t len)
{
	return len <= 64 && kl_name_is_ident(text) && kl_environment_is_key(text);
}

static const struct kl_string_type member = { "a member of a request", is_member, NULL };
static const struct kl_string_type key_variable = {
	"an environment variable whose name ends in _API_KEY, _API_TOKEN, _AUTH_TOKEN or _BEDROCK",
	is_key_variable,
	NULL,
};

static const char *const protocols[] = { "messages", "chat", "responses", NULL };
static const char *const auths[] = { "bearer", "x-api-key", "api-key", "none", NULL };
static const char *const caches[] = { "none", "key", "marks", NULL };
static const char *const places[] = { "body", "url", NULL };

/* clang-format off */
#define AT(name) offsetof(struct kl_service, name)
static const struct kl_field fields[] = {
	KL_STRING_FIELD("name", KL_KEY | KL_NEEDED, AT(name), &kl_string_slug),
	KL_WORD_FIELD("protocol", KL_NEEDED, AT(protocol), protocols),
	KL_STRING_FIELD("url", KL_NEEDED, AT(url), &kl_string_line),
	KL_STRING_FIELD("path", KL_NEEDED, AT(path), &kl_string_line),
	KL_VALUES_FIELD("query", 0, AT(query), &kl_texts_value, 1, 8),
	KL_WORD_FIELD("auth", KL_NEEDED, AT(auth), auths),
	KL_STRING_FIELD("key", 0, AT(key), &key_variable),
	KL_VALUES_FIELD("headers", 0, AT(headers), &kl_texts_value, 1, 8),
	KL_STRING_FIELD("tokens", KL_NEEDED, AT(tokens), &member),
	KL_STRING_FIELD("tokens-elsewhere", 0, AT(tokens_elsewhere), &member),
	KL_BOOL_FIELD("stream-usage", 0, AT(stream_usage)),
	KL_WORD_FIELD("model-in", 0, AT(model_in), places),
	KL_STRING_FIELD("usage", KL_NEEDED, AT(usage), &kl_string_slug),
	KL_WORD_FIELD("cache", KL_NEEDED, AT(cache), caches),
	KL_STRING_FIELD("cache-models", 0, AT(cache_models), &kl_string_line),
	KL_STRING_FIELD("effort", 0, AT(effort), &member),
	KL_VALUES_FIELD("efforts", 0, AT(efforts), &kl_texts_value, 1, 16),
	KL_STRING_FIELD("tier", 0, AT(tier), &member),
	KL_STRING_FIELD("body", 0, AT(body), &kl_string_line),
	KL_FIELDS_END
};
/* clang-format on */

static const struct kl_schema service_schema = {
	.what = "a provider",
	.size = sizeof(struct kl_service),
	.field = fields,
};

struct table {
	int64_t version;
	struct {
		struct kl_dialect *v;
		size_t n, alloc;
	} dialects;
	struct {
		struct kl_service *v;
		size_t n, alloc;
	} services;
};

/* clang-format off */
static const struct kl_field table_fields[] = {
	KL_INT_FIELD("klineage-providers", KL_NEEDED, offsetof(struct table, version), 1, 1),
	KL_MAP_FIELD("dialects", KL_NEEDED, offsetof(struct table, dialects), &kl_dialect_schema, 0, 64),
	KL_MAP_FIELD("providers", KL_NEEDED, offsetof(struct table, services), &service_schema, 0, 256),
	KL_FIELDS_END
};
/* clang-format on */

static const struct kl_schema table_schema = {
	.what = "a list of providers",
	.size = sizeof(struct table),
	.field = table_fields,
};

static void table_release(struct table *table)
{
	kl_schema_release(table, &table_schema);
}

static int load_table(struct table *table)
{
	KL_AUTO(kl_freep) char *path = NULL;
	int err = kl_fs_share(&path, SHIPPED);

	kl_schema_clear(table, &table_schema);
	return err < 0 ? err : kl_schema_load(table, &table_schema, path, MAX_FILE);
}

void kl_service_release(struct kl_service *service)
{
	kl_schema_release(service, &service_schema);
	kl_schema_release(&service->dialect, &kl_dialect_schema);
	json_decref(service->more);
	free(service->key_command);
	free(service->key_setting);
	free(service->base);
	*service = (struct kl_service){ 0 };
}

static const struct kl_service *find_service(const struct table *table, const char *name)
{
	for (size_t i = 0; i < table->services.n; i++)
		if (!strcmp(table->services.v[i].name, name))
			return &table->services.v[i];
	return NULL;
}

/* --- the configuration ------------------------------------------------------------------- */

static const char *read_config(struct kl_repo *repo, const char *name, const char *key)
{
	KL_AUTO(kl_freep) char *full = kl_asprintf("klineage.provider.%s.%s", name, key);

	return repo ? kl_repo_config(repo, full) : NULL;
}

/*
 * Return a configured value as YAML: if the field is a map, "name=value name=value" becomes a map;
 * any other value becomes a scalar.
 */
static struct kl_yaml *config_node(const struct kl_field *field, const char *value)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec words = KL_STRVEC_INIT;
	struct kl_yaml *map;

	if (field->kind != KL_FIELD_VALUE)
		return kl_yaml_new_plain(value);
	map = kl_yaml_new_map();
	kl_strvec_split(&words, value, " \t\n");
	for (size_t i = 0; i < words.n; i++) {
		char *eq = strchr(words.v[i], '=');

		if (eq)
			*eq = '\0';
		kl_yaml_put(map, words.v[i], kl_yaml_new_plain(eq ? eq + 1 : ""));
	}
	return map;
}

/* Replace the value of a field. An empty value makes an optional field absent. */
static int change_field(struct kl_service *service, const struct kl_field *field, const char *name,
			const char *value)
{
	KL_AUTO(kl_freep) char *where = kl_asprintf("config klineage.provider.%s.%s", name,
						    field->key);
	KL_AUTO(kl_yaml_freep) struct kl_yaml *node = config_node(field, value);

	kl_schema_clear_field(service, field);
	if (!*value && !(field->flags & KL_NEEDED))
		return 0;
	return kl_schema_read_value((char *)service + field->at, where, field, node);
}

static int apply_config(struct kl_service *service, struct kl_repo *repo, const char *name)
{
	free(service->name);
	service->name = kl_strdup(name);
	for (const struct kl_field *field = fields + 1; field->key; field++) {
		const char *value = read_config(repo, name, field->key);
		int err = value ? change_field(service, field, name, value) : 0;

		if (err < 0)
			return err;
	}
	return 0;
}

/* Find the row that klineage.provider.<name>.like names; if that is not set, the row `name`. */
static int find_row(const struct kl_service **out, const struct table *table, struct kl_repo *repo,
		    const char *name)
{
	const char *like = read_config(repo, name, "like");
	KL_AUTO(kl_buf_release) struct kl_buf known = KL_BUF_INIT;

	*out = find_service(table, like ? like : name);
	if (*out)
		return 0;
	for (size_t i = 0; i < table->services.n; i++)
		kl_buf_addf(&known, "%s, ", table->services.v[i].name);
	if (like)
		return kl_error(KL_EINVALID,
				"config klineage.provider.%s.like: there is no provider '%s'", name,
				like);
	return kl_error(KL_EINVALID, "unknown provider '%s' (available: %sexec, replay)", name,
			known.ptr);
}

/* --- placeholders in texts ----------------------------------------------------------------- */

static bool is_plain(const char *value)
{
	return *value && strlen(value) <= 128 &&
	       !value[strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-_.")];
}

/*
 * Find the value of a placeholder such as {resource}. The value must consist of plain characters,
 * so that it cannot change the server of the URL.
 */
static int find_value(const char **out, const struct kl_service *service, struct kl_repo *repo,
		      const char *name)
{
	static const char *const keys[] = { "klineage.chat.resource", "klineage.chat.region",
					    "klineage.chat.project", "klineage.chat.version" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(keys); i++) {
		const char *key = keys[i];

		if (strcmp(strrchr(key, '.') + 1, name))
			continue;
		*out = repo ? kl_repo_config(repo, key) : NULL;
		if (!*out)
			return kl_error(KL_EINVALID, "the provider '%s' needs config %s",
					service->name, key);
		if (!is_plain(*out))
			return kl_error(KL_EINVALID,
					"config %s: '%.80s' has characters other than letters, "
					"digits, '-', '_' and '.'",
					key, *out);
		return 0;
	}
	return kl_error(KL_EINVALID, "the provider '%s' has the unknown placeholder {%s}",
			service->name, name);
}

static void add_encoded(struct kl_buf *out, const char *text)
{
	for (const unsigned char *ch = (const unsigned char *)text; *ch; ch++)
		if (isalnum(*ch) || strchr("-_.~@:", *ch))
			kl_buf_addch(out, (char)*ch);
		else
			kl_buf_addf(out, "%%%02X", *ch);
}

/*
 * Append a text with its placeholders filled in. `model` is NULL if the text has no placeholder for
 * it.
 */
static int fill_text(struct kl_buf *out, const struct kl_service *service, struct kl_repo *repo,
		     const char *text, const char *model)
{
	while (*text) {
		size_t n = strcspn(text, "{"), len;
		KL_AUTO(kl_freep) char *name = NULL;
		const char *value = "";
		int err;

		kl_buf_add(out, text, n);
		text += n;
		if (!*text)
			break;
		len = strcspn(text, "}");
		name = kl_strndup(text + 1, len - 1);
		text += len + (text[len] == '}');
		if (model && !strcmp(name, "model")) {
			add_encoded(out, model);
			continue;
		}
		if ((err = find_value(&value, service, repo, name)) < 0)
			return err;
		kl_buf_adds(out, value);
	}
	return 0;
}

/* --- the address ------------------------------------------------------------------------- */

/*
 * Set *out to true if the user's URL `theirs` is on another server than the service's own URL, or
 * if the value of a placeholder in the service's URL is missing.
 */
static int is_elsewhere(bool *out, const struct kl_service *service, struct kl_repo *repo,
			const struct kl_url *theirs)
{
	KL_AUTO(kl_buf_release) struct kl_buf own = KL_BUF_INIT;
	KL_AUTO(kl_url_release) struct kl_url ours = { 0 };
	int err = fill_text(&own, service, repo, service->url, NULL);

	*out = true;
	if (err < 0) {
		kl_error_clear();
		return 0;
	}
	if ((err = kl_url_parse(&ours, own.ptr)) < 0)
		return kl_error_in(err, "provider '%s'", service->name);
	*out = strcmp(ours.origin, theirs->origin) != 0;
	return 0;
}

/* Append the path of the service's URL, with its placeholders filled in. */
static int add_own_path(struct kl_buf *out, const struct kl_service *service, struct kl_repo *repo)
{
	const char *authority = strstr(service->url, "://");
	const char *path = authority ? strchr(authority + 3, '/') : NULL;

	return path ? fill_text(out, service, repo, path, NULL) : 0;
}

/*
 * Make the base URL from a URL that the user gives. If the given URL has no path, the path of the
 * service's own URL is added: "http://localhost:8000" becomes ".../v1".
 */
static int take_url(struct kl_service *service, struct kl_repo *repo, const char *given)
{
	KL_AUTO(kl_url_release) struct kl_url theirs = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf base = KL_BUF_INIT;
	int err;

	if ((err = kl_url_parse(&theirs, given)) < 0)
		return kl_error_in(err, "klineage.chat.url");
	if ((err = is_elsewhere(&service->elsewhere, service, repo, &theirs)) < 0)
		return err;
	kl_buf_adds(&base, theirs.base);
	if (!strcmp(theirs.base, theirs.origin) && (err = add_own_path(&base, service, repo)) < 0)
		return err;
	service->base = kl_buf_detach(&base);
	return 0;
}

static int find_base(struct kl_service *service, struct kl_repo *repo, const char *given)
{
	KL_AUTO(kl_buf_release) struct kl_buf own = KL_BUF_INIT;
	KL_AUTO(kl_url_release) struct kl_url ours = { 0 };
	int err;

	if (given)
		return take_url(service, repo, given);
	if ((err = fill_text(&own, service, repo, service->url, NULL)) < 0)
		return err;
	if ((err = kl_url_parse(&ours, own.ptr)) < 0)
		return kl_error_in(err, "provider '%s'", service->name);
	service->base = kl_buf_detach(&own);
	return 0;
}

int kl_service_target(char **out, const struct kl_service *service, struct kl_repo *repo,
		      const char *model)
{
	KL_AUTO(kl_buf_release) struct kl_buf path = KL_BUF_INIT;
	KL_AUTO(kl_url_release) struct kl_url url = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf target = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *joined = NULL;
	int err;

	if ((err = fill_text(&path, service, repo, service->path, model)) < 0 ||
	    (err = kl_url_parse(&url, service->base)) < 0)
		return err;
	joined = kl_url_join(&url, path.ptr);
	kl_buf_adds(&target, joined);
	for (size_t i = 0; i < service->query.n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf value = KL_BUF_INIT;

		if ((err = fill_text(&value, service, repo, service->query.v[i].text, model)) < 0)
			return err;
		kl_buf_adds(&target, i ? "&" : "?");
		add_encoded(&target, service->query.v[i].name);
		kl_buf_addch(&target, '=');
		add_encoded(&target, value.ptr);
	}
	*out = kl_buf_detach(&target);
	return 0;
}

const char *kl_service_key_prefix(const struct kl_service *service)
{
	static const char *const prefix[] = {
		[KL_AUTH_BEARER] = "authorization: Bearer ",
		[KL_AUTH_X_API_KEY] = "x-api-key: ",
		[KL_AUTH_API_KEY] = "api-key: ",
		[KL_AUTH_NONE] = NULL,
	};

	return prefix[service->auth];
}

int kl_service_effort(const char **word, const struct kl_service *service, const char *effort)
{
	int at = kl_texts_find(&service->efforts, effort);

	if (!service->effort)
		return kl_error(KL_EINVALID,
				"config klineage.chat.effort: the provider '%s' has no setting for "
				"it; use klineage.chat.extra",
				service->name);
	if (service->efforts.n && at < 0)
		return kl_error(
			KL_EINVALID,
			"config klineage.chat.effort: the provider '%s' does not support '%s'",
			service->name, effort);
	*word = at < 0 ? effort : service->efforts.v[at].text;
	return 0;
}

/* --- opening --------------------------------------------------------------------------- */

static int find_dialect(struct kl_service *service, const struct table *table)
{
	for (size_t i = 0; i < table->dialects.n; i++)
		if (!strcmp(table->dialects.v[i].name, service->usage)) {
			kl_schema_copy(&service->dialect, &table->dialects.v[i],
				       &kl_dialect_schema);
			return 0;
		}
	return kl_error(KL_EINVALID, "provider '%s': there is no dialect '%s'", service->name,
			service->usage);
}

/*
 * Find the command that prints the key: the command of this row, or else the command of all rows.
 * An empty value means that there is no command.
 */
static void find_key_command(struct kl_service *service, struct kl_repo *repo)
{
	KL_AUTO(kl_freep) char *own = kl_asprintf("klineage.provider.%s.key-command",
						  service->name);
	const char *setting = own, *command = repo ? kl_repo_config(repo, own) : NULL;

	if (!command && repo) {
		setting = "klineage.chat.keyCommand";
		command = kl_repo_config(repo, setting);
	}
	if (!command || !*command)
		return;
	service->key_command = kl_strdup(command);
	service->key_setting = kl_strdup(setting);
}

static int parse_body(struct kl_service *service)
{
	int err;

	if (!service->body)
		return 0;
	err = kl_json_parse(&service->more, service->body, strlen(service->body));
	if (!err && !json_is_object(service->more))
		err = kl_error(KL_EINVALID, "not a JSON object");
	return err < 0 ? kl_error_in(err, "provider '%s': body", service->name) : 0;
}

static int pick_tokens(struct kl_service *service, struct kl_repo *repo)
{
	const char *set = repo ? kl_repo_config(repo, "klineage.chat.tokenField") : NULL;
	const char *word = service->elsewhere && service->tokens_elsewhere ?
				   service->tokens_elsewhere :
				   service->tokens;
	char *copy;

	if (set && *set && service->protocol == KL_PROTOCOL_CHAT) {
		if (strcmp(set, "max_tokens") && strcmp(set, "max_completion_tokens"))
			return kl_error(KL_EINVALID,
					"klineage.chat.tokenField is '%s', not max_tokens or "
					"max_completion_tokens",
					set);
		word = set;
	}
	copy = kl_strdup(word);
	free(service->tokens);
	service->tokens = copy;
	return 0;
}

int kl_service_open(struct kl_service *out, struct kl_repo *repo, const char *name, const char *url)
{
	KL_AUTO(table_release) struct table table = { 0 };
	const struct kl_service *row;
	int err = load_table(&table);

	*out = (struct kl_service){ 0 };
	if (err < 0 || (err = find_row(&row, &table, repo, name)) < 0)
		return err;
	kl_schema_copy(out, row, &service_schema);
	if ((err = apply_config(out, repo, name)) < 0 || (err = find_dialect(out, &table)) < 0 ||
	    (err = parse_body(out)) < 0 || (err = find_base(out, repo, url)) < 0)
		return err;
	find_key_command(out, repo);
	return pick_tokens(out, repo);
}
