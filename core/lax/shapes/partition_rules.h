// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "lax/partition.h"

namespace jaxscope {

// How what moves elements is cut for devices: which of its dimensions keep their size.
PartitionRule partition_broadcast_in_dim(const Op& op);
/// Dimensions that stay, and the outermost ones of those that are merged or split, where the parts divide both.
PartitionRule partition_reshape(const Op& op);
PartitionRule partition_squeeze(const Op& op);
PartitionRule partition_transpose(const Op& op);
PartitionRule partition_rev(const Op& op);
PartitionRule partition_iota(const Op& op);
PartitionRule partition_pad(const Op& op);
PartitionRule partition_concatenate(const Op& op);
PartitionRule partition_slice(const Op& op);
PartitionRule partition_dynamic_slice(const Op& op);
PartitionRule partition_dynamic_update_slice(const Op& op);
/// What is taken as a whole from the operand, and the indices' own dimensions.
PartitionRule partition_gather(const Op& op);

}  // namespace jaxscope
