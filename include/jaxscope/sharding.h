// SPDX-License-Identifier: Apache-2.0
#pragma once
// sharded_jit and with_sharding_constraint, as JAX had them (jax/interpreters/sharded_jit.py, December 2021): a function runs on several
// devices at once, each of which has a part of the arrays. Devices are virtual here, threads with memory of their own, and a platform that
// is chosen: `jax::set_virtual_devices(8)`. On plain cpu sharded_jit is refused, as it was.
#include <jaxscope/jit.h>
#include <jaxscope/tree.h>

namespace jaxscope::jax {

/// Into how many parts each dimension is cut: `PartitionSpec{2, 1}`. `none` in its place: every device has the whole array.
class PartitionSpec {
public:
    PartitionSpec() = default;
    PartitionSpec(std::initializer_list<std::int64_t> parts) : parts_(parts) {}
    explicit PartitionSpec(const std::vector<std::int64_t>& parts);
    const std::vector<std::int64_t>& parts() const { return parts_.vector(); }
    std::string str() const;  ///< `PartitionSpec(2, 1)`
    friend bool operator==(const PartitionSpec& a, const PartitionSpec& b) { return a.parts_ == b.parts_; }

private:
    Shape parts_;
};

std::ostream& operator<<(std::ostream& out, const PartitionSpec& p);

/// A PartitionSpec, or none: replicated.
struct Parts {
    PartitionSpec spec = {};
    bool replicated = true;
    Parts(PartitionSpec s) : spec(static_cast<PartitionSpec&&>(s)), replicated(false) {}  // NOLINT(google-explicit-constructor)
    Parts(None) {}                                                                        // NOLINT(google-explicit-constructor)
};
/// One for all leaves below, or tuples, lists and dicts of them: `PartsTree::tuple({PartitionSpec{2, 1}, none})`.
using PartsTree = PrefixTree<Parts>;

/// Virtual devices: how many there are, and how many of them belong to this process (all, where that isn't said). 0: none, plain cpu.
void set_virtual_devices(int devices, int local_devices = -1);
int device_count();
int local_device_count();
/// Does sharded_jit say on stderr what it compiles?
void log_compiles(bool on);

/// The count that all specs of these trees share, 0 where all are replicated. Throws JAX's error where they don't agree.
std::int64_t get_num_partitions(const std::vector<PartsTree>& parts);

/// Shape and type (`ShapeDtypeStruct`, or of any array) that all processes have together, where one has `local_aval` cut into
/// `local_parts` of `global_parts`; and the other way. Throws what JAX asserts: "4 % 3 != 0" for parts that don't divide,
/// "length mismatch: [1, 2, 2]" for another number of dimensions.
Array get_global_aval(const Array& local_aval, const Parts& global_parts, const Parts& local_parts, Where where = {});
Array get_local_aval(const Array& global_aval, const Parts& global_parts, const Parts& local_parts, Where where = {});

/// Per dimension: from, up to.
using ShardIndex = std::vector<std::pair<std::int64_t, std::int64_t>>;
/// What each device has of an array of this shape: the tiles in row-major order of the spec; for `none` all of it, on each of `devices`
/// devices. Throws what JAX asserts: "(3, 2, 0)" where dimension 0 of size 3 isn't cut into 2 even parts.
std::vector<ShardIndex> spec_to_indices(const Shape& shape, const Parts& parts, std::int64_t devices);

struct ShardedJitOptions {
    std::int64_t num_partitions = 0;  ///< 0: as the specs say
    PartsTree local_in_parts = none;  ///< none: as in_parts
    PartsTree local_out_parts = none;
    std::int64_t local_num_partitions = 0;
    std::vector<int> static_argnums = {};
    const char* name = "<unnamed function>";
};

/// What one device has of an array.
struct Shard {
    int device = 0;
    ShardIndex index;
    Array data;
};
/// Of a result of sharded_jit: what each device has, in their order. Any other array lies on device 0.
std::vector<Shard> addressable_shards(const Array& a);
/// How sharded_jit made it: `PartitionSpec(2, 1)`, `None` for a copy on each device; empty for any other array.
std::string sharding_of(const Array& a);

/// Only inside of sharded_jit: says how `x` is to be cut there. Throws where it would run elsewhere.
Array with_sharding_constraint(const Operand& x, const Parts& partitions);

/// What a sharded_jit does with its arguments, by equation and device, for looking at.
struct ShardingReport {
    std::int64_t devices = 0;
    std::string program;                   ///< the jaxpr of one device
    std::vector<std::string> collectives;  ///< "psum over 4 devices: 96 bytes for dot_general"
    std::vector<std::string> findings;
    std::vector<std::int64_t> peak_bytes;  ///< per device, of the last run; empty before one
};

namespace detail {
class ShardedState;
class ShardedHandle {
public:
    ShardedHandle(PartsTree in_parts, PartsTree out_parts, ShardedJitOptions options, const Where& where);
    ShardedHandle(const ShardedHandle& o) noexcept;
    ShardedHandle& operator=(const ShardedHandle& o) noexcept;
    ~ShardedHandle();
    ShardedState& operator*() const { return *state_; }

private:
    ShardedState* state_;
};
Called sharded_call(ShardedState& state, Call& call);
ShardingReport sharding_report(ShardedState& state, Call& call);
}  // namespace detail

template <class F>
class ShardedJitted {
public:
    ShardedJitted(F f, detail::ShardedHandle state) : f_(std::move(f)), state_(std::move(state)) {}
    template <class... A>
    auto operator()(const A&... a) const {
        using C = detail::CallOf<F, A...>;
        C call(f_, a...);
        detail::Called r = detail::sharded_call(*state_, call);
        return C::filled(r.prototype, r.leaves.data());
    }
    template <class... A>
    ShardingReport report(const A&... a) const {
        detail::CallOf<F, A...> call(f_, a...);
        return detail::sharding_report(*state_, call);
    }

private:
    F f_;
    detail::ShardedHandle state_;
};
/// A version of `f` that runs on several devices, cut as the specs say. Keyword arguments are refused.
template <class F>
auto sharded_jit(F&& f, PartsTree in_parts, PartsTree out_parts, ShardedJitOptions options = {}, Where where = {}) {
    return ShardedJitted<detail::Stored<F>>(static_cast<F&&>(f),
                                            detail::ShardedHandle(std::move(in_parts), std::move(out_parts), std::move(options), where));
}

}  // namespace jaxscope::jax
