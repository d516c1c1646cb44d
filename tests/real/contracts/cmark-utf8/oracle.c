/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.h"

int oracle(const uint8_t *str, int32_t str_len, int32_t *dst)
{
	static const int32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	int length = str[0] < 0x80 ? 1 : str[0] < 0xc2 ? 0 : str[0] < 0xe0 ? 2 : str[0] < 0xf0 ? 3 : str[0] < 0xf5 ? 4 : 0;
	int32_t code = length > 1 ? str[0] & (0x7f >> length) : str[0];

	*dst = -1;
	if (!length || length > str_len)
		return -1;
	for (int i = 1; i < length; i++) {
		if (str[i] >> 6 != 2)
			return -1;
		code = code << 6 | (str[i] & 0x3f);
	}
	if (code < least[length] || (code >= 0xd800 && code < 0xe000) || code >= 0x110000)
		return -1;
	*dst = code;
	return length;
}
