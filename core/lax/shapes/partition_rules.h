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
/// What is taken as a whole from the operand, the indices' own dimensions, and those in which each row has indices of its own. Rows of a
/// table that devices have parts of: each picks its own, and they are added up.
PartitionRule partition_gather(const Op& op);
/// What is put as a whole into the operand, and dimensions in which each row has indices of its own. Sums of what devices have parts of are
/// added up.
PartitionRule partition_scatter(const Op& op);

}  // namespace jaxscope
