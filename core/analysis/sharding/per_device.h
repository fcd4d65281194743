// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs over several devices as their devices see them. In: a program and what is to be planned. Out: the program of one device, and
// how values lie. Never here: figures of it, which are Inspection's stages.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"
#include "sharding/partition.h"

namespace jaxscope {

/// The program of one device of several. All figures of memory are its where it is there.
struct PerDevice {
    std::shared_ptr<const sharding::Partitioned> program;  ///< null: there is one device, or `why_global`
    std::string why_global;                                ///< why a program over several devices couldn't be cut
    explicit operator bool() const { return program != nullptr; }
};

/// `step`: what is planned and run of `program`; `own_results`: its results are the program's.
PerDevice per_device(const Program& program, const JaxprPtr& step, bool own_results);

/// How each of `values` of `forward` lies, where the function's inputs lie as `in` says.
std::vector<sharding::Spec> specs_of_values(const Jaxpr& forward, const sharding::Mesh& mesh, std::vector<std::optional<sharding::Spec>> in,
                                            const std::vector<Atom>& values);

/// What a device sends in one run; what stands in while loops counts once.
std::int64_t sent_bytes(const sharding::Partitioned& cut);

/// `f32[8,4]`: what each device has of a value.
std::string local_text(AvalRef whole, const sharding::NamedSharding& sharding);

}  // namespace jaxscope
