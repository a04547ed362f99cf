/* SPDX-License-Identifier: Apache-2.0 */
/* A converted model requests the operator under these names. TMO_REGION is the default name, for an operator that runs several groups. With `--op-per
 * group`, each group becomes a separate operator with one of the other three names. One registration is enough for all four names. */
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
