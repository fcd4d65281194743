// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ir/types/attr.h"
#include "ir/types/aval.h"

namespace jaxscope {

/// While it lives, this thread derives from a program whose types say how that mesh cuts them: JAX then gives zeros, ones and results of
/// transposition a sharding of their own. None: types say nothing.
class TypeMeshScope {
public:
    explicit TypeMeshScope(const Attr& mesh);
    ~TypeMeshScope();
    TypeMeshScope(const TypeMeshScope&) = delete;
    TypeMeshScope& operator=(const TypeMeshScope&) = delete;

private:
    const Attr* outer_;
};

/// Does a TypeMeshScope with a mesh live?
bool types_have_mesh();
/// The sharding that cuts as this type says, over that mesh: a parameter of equations. None where there is no mesh.
Attr explicit_sharding(const Aval& aval);
/// The axes of a mesh that types speak of: `axis_types=(Explicit, Auto)` in its text.
std::vector<Sym> explicit_axes(const Attr& mesh);
/// The type, cut as the parameter says along those axes; `aval` itself for None.
AvalRef cut_by(AvalRef aval, const Attr& sharding);

}  // namespace jaxscope
