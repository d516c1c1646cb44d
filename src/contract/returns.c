/* SPDX-License-Identifier: Apache-2.0 */
/* returns - reads what a kernel returns: an output of one element, after all arguments */
#include <string.h>

#include "contract/parts.h"

static int read_dtype(void *at, const char *file, const struct kl_field *field,
		      const struct kl_yaml *node)
{
	enum kl_dtype *dtype = at;
	bool is_bool;
	int err = kl_contract_dtype_read(dtype, &is_bool, file, field, node);

	/* compilers do not agree on how to pass these types */
	if (!err && (*dtype == KL_F16 || *dtype == KL_BF16))
		return kl_yaml_error(file, node, "a value cannot be returned as %s",
				     kl_dtype_name(*dtype));
	return err;
}

static const struct kl_value_type dtype_value = { .read = read_dtype };

static const struct kl_field fields[] = {
	KL_VALUE_FIELD("dtype", KL_NEEDED, offsetof(struct kl_arg, dtype), &dtype_value),
	KL_FIELDS_END,
};
static const struct kl_schema schema = {
	"'returns'", sizeof(struct kl_arg), fields, NULL, NULL, NULL,
};

static int read_returns(void *at, const char *file, const struct kl_field *field,
			const struct kl_yaml *node)
{
	struct kl_contract *contract = at;
	const struct kl_expr_names names = kl_contract_names(contract);
	struct kl_arg arg = { .kind = KL_ARG_OUT, .naxes = 1, .returned = true };
	int err;

	if (!contract->entry)
		return kl_yaml_error(
			file, node,
			"a %s kernel cannot return a value; use an argument of kind 'out'",
			contract->language->title);
	if (contract->nargs == KL_MAX_ARGS)
		return kl_yaml_error(file, node,
				     "a kernel that returns a value can have at most %d arguments",
				     KL_MAX_ARGS - 1);
	if (kl_contract_arg(contract, KL_RETURNED) >= 0)
		return kl_yaml_error(file, node,
				     "no argument can have the name '%s', which names the value "
				     "that the kernel returns",
				     KL_RETURNED);
	if ((err = kl_schema_read(&arg, &schema, file, node)) < 0 ||
	    (err = kl_expr_parse(&arg.shape[0], "1", &names, KL_EXPR_NUMBER, NULL)) < 0)
		return err;
	arg.name = kl_strdup(KL_RETURNED);
	arg.shape_text[0] = kl_strdup("1");
	contract->arg[contract->nargs++] = arg;
	return 0;
}

const struct kl_value_type kl_contract_returns = { .read = read_returns };
