// SPDX-License-Identifier: Apache-2.0
#pragma once
// A device's program cut at its collectives. In: a flattened jaxpr. Out: steps in order. Never here: threads, arrays.
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "ir/jaxpr.h"
#include "ir/primitive.h"
#include "jit/jit.h"
#include "lax/collectives/collectives.h"
#include "sharding/mesh.h"

namespace jaxscope {

struct DeviceSteps;

/// What so many devices compute together.
struct Meeting {
    GroupProgram group;
    std::shared_ptr<Executable> executable;
};

/// What devices do between two points at which they wait for each other.
struct DeviceStep {
    enum class Kind : std::uint8_t { Compute, Meet, Place, Scan, While, Cond } kind;
    std::vector<Atom> in;
    std::vector<Var> out;
    std::vector<Var> last;                                 ///< variables that nothing reads after this step
    std::optional<Op> op;                                  ///< of all but Compute
    JaxprPtr jaxpr;                                        ///< Compute: of `in` to `out`
    std::vector<std::shared_ptr<Executable>> executables;  ///< Compute: one a device, each with its own arena
    bool looks = false;                                    ///< Compute: something in it only looks at values
    std::vector<std::size_t> with;                         ///< While, Cond in which devices meet: of each of the mesh, the first of those
                                                           ///< that it meets there, who all go the same way. Empty: nobody meets
    std::vector<std::vector<std::int64_t>> groups;         ///< Meet: positions along `axes` that meet apart from each other
    std::map<std::size_t, Meeting> meetings;               ///< Meet: by how many meet
    std::vector<Sym> axes;                                 ///< Meet, Place
    SourceRef at;                                          ///< where its (last) equation comes from
    std::vector<DeviceSteps> bodies;                       ///< Scan: the body; While: condition, body; Cond: the branches
};
struct DeviceSteps {
    JaxprPtr jaxpr;
    std::vector<DeviceStep> steps;
};

/// Whom `device` meets in a step of kind Meet, itself among them, in the order in which the members stand.
std::vector<std::size_t> group_of(const sharding::Mesh& mesh, const DeviceStep& step, std::size_t device);

/// Compiles, for so many devices of this process. Throws as DeviceExecutable::compile.
DeviceSteps cut_into_steps(const JaxprPtr& body, const sharding::Mesh& mesh, std::size_t here, bool debug_prints);

}  // namespace jaxscope
