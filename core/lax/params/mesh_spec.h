// SPDX-License-Identifier: Apache-2.0
#pragma once
// Meshes and partition specs as parameters hold them. What lies where by them: sharding/mesh.h.
#include <string>
#include <vector>

#include "ir/types/attr.h"

namespace jaxscope::sharding {

/// Names of mesh axes; where several split one dimension, the first one is the outermost.
using AxisNames = std::vector<Sym>;

/// A grid of devices with named axes; devices are numbered row-major.
struct Mesh {
    struct Axis {
        Sym name;
        std::int64_t size = 1;
        friend bool operator==(const Axis&, const Axis&) = default;
    };
    std::vector<Axis> axes;
    std::int64_t devices() const;
    /// Throws Error{BadInput} for a name that the mesh hasn't.
    std::int64_t size_of(Sym axis) const;
    /// Product of the sizes of `names`: how many parts they make.
    std::int64_t size_of(const AxisNames& names) const;
    /// Where `device` stands along `names` taken together, the first one outermost.
    std::int64_t position(std::int64_t device, const AxisNames& names) const;
    /// The device that stands at `position` along `names` and elsewhere where `device` does.
    std::int64_t moved(std::int64_t device, const AxisNames& names, std::int64_t position) const;
    friend bool operator==(const Mesh&, const Mesh&) = default;
};

/// Per dimension the axes that split it; dimensions that aren't listed aren't split.
struct Spec {
    std::vector<AxisNames> dims;
    const AxisNames& at(std::size_t dim) const;
    bool replicated() const;
    /// All axes that it uses.
    AxisNames axes() const;
    /// Does it split as `other` does? P('x', None) is P('x').
    bool same(const Spec& other) const;
};

/// `Mesh('x': 2, 'y': 4)`
std::string to_text(const Mesh& mesh);
/// `P('x', None, ('y', 'z'))`
std::string to_text(const Spec& spec);

/// From parameters of captures. Throws Error{BadInput} that says what was expected; dimensions left open (UNCONSTRAINED) count as not
/// split.
Mesh mesh_from(const Attr& attr);
Spec spec_from(const Attr& attr);
/// The parameter for a mesh whose axes are JAX's default, with its text: `Mesh('x': 4, axis_types=(Auto,))`.
Attr mesh_attr(const Mesh& mesh);
/// The parameter for it, with JAX's text: `P('x', None)`, `P('x',)`.
Attr spec_attr(const Spec& spec);

}  // namespace jaxscope::sharding
