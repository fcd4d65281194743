// SPDX-License-Identifier: Apache-2.0
#pragma once
// Devices that plans are estimated for. Comes in: a name. Goes out: the facts of the device's compiler that the planner reads, each with
// where it is from. Never here: what this machine's own executor needs.
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "ir/types/aval.h"

namespace jaxscope {

struct TargetDevice {
    const char* name;          ///< "tpu:v5p"
    const char* device;        ///< as JAX names it
    std::int64_t memory;       ///< bytes that XLA gives to programs (its out-of-memory text: "of 95.74G hbm")
    std::int64_t lanes;        ///< the last dimension of an array in memory is padded to a multiple of this,
    std::int64_t sublanes;     ///< the one before it to a multiple of this (layouts in XLA's scheduled modules: T(8,128))
    std::int64_t near_memory;  ///< bytes of vector memory in which XLA holds temporaries (color 1 of its buffer assignments)
    bool narrow_products;      ///< products of f32 at default precision read bf16, and what only they read is stored so
    bool fuses_into_products;  ///< element-wise operations run inside the product that reads or makes their values, as XLA:TPU's fusions
                               ///< show
    const char* accuracy;      ///< how far such estimates were off, measured (docs/foresight.md)
    const char* sharded;       ///< the same of one device of a program over several; null: not measured, so not offered
};

std::span<const TargetDevice> target_devices();
/// By name, with or without a topology ("tpu:v5p:2x2x1"). Throws Error{NotFound} that names those that there are.
const TargetDevice& target_device(std::string_view name);

/// Bytes of an array in the device's memory: tiles of the last two dimensions, in the order of dimensions that wastes least.
std::int64_t padded_bytes(const Aval& aval, const TargetDevice& device);
/// The same where the last dimension is known to be `minor`, and the one before it `second`.
std::int64_t padded_bytes(const Aval& aval, const TargetDevice& device, int minor, int second);

}  // namespace jaxscope
