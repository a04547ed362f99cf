/* SPDX-License-Identifier: Apache-2.0 */
/* A converted model can have custom operators with four names. By default, a custom operator runs a whole region of the model, and its name is
 * TMO_REGION. With the option `--op-per group`, each group of operators becomes a custom operator named TMO_CONV_2D, TMO_FULLY_CONNECTED or
 * TMO_GROUP. The same registration works for all four names. */
#ifndef TMO_NAMES_H_
#define TMO_NAMES_H_

namespace tmo {

constexpr const char *kRegion = "TMO_REGION";
constexpr const char *kConv2D = "TMO_CONV_2D";
constexpr const char *kFullyConnected = "TMO_FULLY_CONNECTED";
constexpr const char *kGroup = "TMO_GROUP";

constexpr const char *kNames[] = {kRegion, kConv2D, kFullyConnected, kGroup};
constexpr unsigned kNameCount = sizeof(kNames) / sizeof(kNames[0]);

}  // namespace tmo

#endif  // TMO_NAMES_H_
