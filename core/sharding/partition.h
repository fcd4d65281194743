// SPDX-License-Identifier: Apache-2.0
#pragma once
// From a program and where its inputs lie to the program of each device (SPMD). In: a closed jaxpr, a mesh, specs of inputs and results as
// far as they are known. Out: a jaxpr over local shapes with collectives by axis names, the same for all devices; what it sends, and what
// couldn't be cut. Never here: threads, memory (core/devices runs it).
#include <optional>
#include <string>
#include <vector>

#include "ir/jaxpr.h"
#include "sharding/mesh.h"

namespace jaxscope::sharding {

/// A meeting of devices that the partitioner put in, or that a shard_map holds.
struct CollectiveUse {
    const Primitive* kind = nullptr;      ///< all_gather, psum, ...
    AxisNames axes;                       ///< along which devices meet
    std::int64_t members;                 ///< of one group
    std::int64_t bytes;                   ///< that a device sends, once; in a loop, each time round
    std::int64_t times = 1;               ///< how often it is met in one run; 0: nobody knows, it stands in a while loop
    const Primitive* asked_by = nullptr;  ///< of the equation that needs it; the collective itself where it stands in a shard_map
    SourceRef source;
};
/// A place where more moves, or is kept, than the user may expect.
struct Finding {
    enum class Kind : std::uint8_t {
        ComputedWhole,  ///< no rule cuts this dimension: gathered, computed by every device, cut again
        Padded,         ///< sizes that don't divide: the devices' parts are padded
        NotHonoured,    ///< a result that was to be cut and doesn't divide: JAX returns it whole, on every device, in silence
    } kind;
    const Primitive* primitive = nullptr;
    SourceRef source;
    AvalRef aval;
    std::string spec;    ///< how the value lay, or was to lie
    std::int64_t bytes;  ///< gathered, or kept as padding, by each device
};
const char* kind_name(Finding::Kind kind);

/// What an equation makes, and how it lies.
struct PlacedValue {
    const Primitive* maker = nullptr;
    ParamsRef params;
    SourceRef source;
    AvalRef aval;  ///< of the whole value
    Spec spec;
    bool fixed = false;   ///< somebody said so
    bool filled = false;  ///< one number everywhere, that only elementwise equations read: nobody keeps it
};

struct PartitionRequest {
    JaxprPtr program;
    Mesh mesh;
    std::vector<std::optional<Spec>> in, out;  ///< none: as propagation has it; may be empty
};
struct Partitioned {
    Mesh mesh;
    JaxprPtr body;  ///< of one device
    std::vector<Spec> in, out;
    Avals in_avals, out_avals;  ///< of the whole values
    std::vector<CollectiveUse> collectives;
    std::vector<Finding> findings;
    std::vector<PlacedValue> values;  ///< results of the program's equations and of its loops' bodies, in their order
};
/// A program whose equations name other meshes than `mesh` is expressed over one that all of them are coarser than (one_mesh.h). Throws
/// Error{NoRule} that names the equation where there is none.
Partitioned partition(const PartitionRequest& request);

}  // namespace jaxscope::sharding
