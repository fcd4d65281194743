// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a function of pmap keeps, and how its arguments are taken.
#include <mutex>
#include <optional>

#include <jaxscope/pmap.h>

#include "devices/device_program.h"
#include "donation/pairing.h"
#include "trace/functions.h"

namespace jaxscope::jax::detail {

/// A call's arguments as the mapped function takes them.
struct MappedCall {
    std::vector<Array> leaves;                ///< the call's, and what filter_pmap adds
    std::vector<std::optional<int>> axes;     ///< per leaf, as written
    std::vector<bool> donated;                ///< per leaf
    std::vector<Sym> names;                   ///< per leaf: `x['w']`
    std::int64_t size = 0;                    ///< of the mapped axis, as the first mapped leaf has it
    sharding::Mesh::Axis axis;                ///< of the mesh: its size is at most as many as there are devices
    std::vector<sharding::Mesh::Axis> outer;  ///< of the pmaps around
    sharding::Mesh mesh() const;
};

/// A sharding in the words that JAX's errors have.
std::string sharding_text(const sharding::Mesh& mesh, const sharding::Spec& spec);

struct PmapEntry {
    const void* type = nullptr;
    PyTreeDef tree;
    std::vector<std::string> keywords;
    Avals avals;
    std::uint64_t axes = 0;                   ///< names of mapped axes that it was traced under
    Traced traced;                            ///< the shard_map of all devices, what jit holds
    sharding::Mesh mesh;                      ///< that one's, with the axes of pmaps inside
    std::vector<sharding::Spec> in, out;      ///< per input and result of it
    std::vector<std::size_t> result_of_leaf;  ///< filter_pmap's results stand in the order of their axes
    std::shared_ptr<const ::jaxscope::Program> program;
    DonationReport donation;
    std::unique_ptr<ShardedExecutable> executable;
    std::mutex running;
    void* prototype = nullptr;
    void (*drop)(void*) = nullptr;
    PmapEntry() = default;
    PmapEntry(const PmapEntry&) = delete;
    PmapEntry& operator=(const PmapEntry&) = delete;
    ~PmapEntry() {
        if (prototype) drop(prototype);
    }
};

class PmapState {
public:
    std::atomic<int> refs{1};
    PmapOptions options;
    Where where;
    struct Rules {
        bool filter = false;        ///< filter_pmap's: everything that is no array is static, in the words of Equinox
        bool own_function = false;  ///< the first argument is the function object itself
        bool donate = false, warn = true;
    } rules;
    std::vector<int> donated;      ///< numbers among the arguments that aren't static
    std::recursive_mutex tracing;  ///< guards what follows, held while a trace is made
    std::vector<std::shared_ptr<PmapEntry>> entries;
};

/// Throws what JAX throws of arguments, axes and devices before it traces.
MappedCall mapped_call(const PmapState& state, const Call& call);
/// The axis of each result. Throws where `out_axes` is no prefix.
std::vector<std::optional<int>> result_axes(const PmapState& state, const PyTreeDef& results);
/// Refused by filter_pmap: axes that no result has.
void check_result_axes(const PmapState& state, const std::vector<std::optional<int>>& axes, const Avals& results);
/// How an array lies whose mapped axis this is, as JAX has it: axes from the end count as the first one.
sharding::Spec mapped_spec(std::optional<int> axis, Sym name);

/// Axes of the pmaps whose functions this thread traces, from the outside in.
std::vector<sharding::Mesh::Axis>& pmaps_around();

}  // namespace jaxscope::jax::detail
