// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "ir/types/aval.h"

namespace jaxscope {

/// What a shard_map says to the equations of its body: the mesh's axes in their order, those over which each device's program is its own
/// (of outer shard_maps too), and whether types say over which of them a value varies (check_vma).
struct ManualAxes {
    std::vector<Sym> mesh;
    std::vector<std::int64_t> sizes;  ///< of the mesh's axes
    std::vector<Sym> manual;
    bool check = true;
    friend bool operator==(const ManualAxes&, const ManualAxes&) = default;
};

/// While it lives, this thread transforms the body of such a shard_map.
class ManualScope {
public:
    explicit ManualScope(ManualAxes axes);
    ~ManualScope();
    ManualScope(const ManualScope&) = delete;
    ManualScope& operator=(const ManualScope&) = delete;
    /// Of the innermost one; none: null.
    static const ManualAxes* current();
    /// A number for its content, 0 for none: what is made in one isn't what is made in another (ir/transform_cache.h).
    static std::uint32_t number();

private:
    ManualAxes axes_;
    std::uint32_t number_;
    const ManualScope* outer_;
};

/// The mesh axes over which a value varies, as its type says.
std::vector<Sym> varying_axes(const Aval& aval);
bool varies(const Aval& aval);
/// The type that varies over just these, in the mesh's order where a ManualScope knows it.
AvalRef with_varying(AvalRef aval, std::vector<Sym> axes);
/// Per dimension the axes of a mesh that cut it, as an explicitly sharded type says: `P('x', None)`. Empty: it says nothing.
std::vector<std::vector<Sym>> explicit_spec(const Aval& aval);
AvalRef with_explicit_spec(AvalRef aval, const std::vector<std::vector<Sym>>& dims);
/// Those of `a` and those of `b`; those of `a` that aren't in `b`.
std::vector<Sym> axes_joined(std::vector<Sym> a, const std::vector<Sym>& b);
std::vector<Sym> axes_without(const std::vector<Sym>& a, const std::vector<Sym>& b);

}  // namespace jaxscope
