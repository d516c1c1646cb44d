/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CARD_CARD_CHECK_H
#define KL_CARD_CARD_CHECK_H

#include "text/yaml.h"

/*
 * card_check - checks what must hold between the fields of a card, beyond what its tables
 * (shape.h) say of each. Inside src/card only; rows are in the order of the file when these are
 * asked.
 */
int kl_check_carrier(const void *obj, const char *name, const struct kl_yaml *at);
int kl_check_pre(const void *obj, const char *name, const struct kl_yaml *at);
int kl_check_evidence(const void *obj, const char *name, const struct kl_yaml *at);
int kl_check_control(const void *obj, const char *name, const struct kl_yaml *at);
int kl_check_trial(const void *obj, const char *name, const struct kl_yaml *at);
int kl_check_card(const void *obj, const char *name, const struct kl_yaml *at);

#endif
