// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names that vmap gives to axes, while a function under it is traced (JAX's axis environment).
#include <cstdint>
#include <string>

namespace jaxscope::jax::detail {

class NamedAxisScope {
public:
    NamedAxisScope(std::string name, std::int64_t size);  ///< an empty name: nobody asks for it
    ~NamedAxisScope();
    NamedAxisScope(const NamedAxisScope&) = delete;
    NamedAxisScope& operator=(const NamedAxisScope&) = delete;

private:
    std::uint64_t outer_;
};
/// -1: no axis in scope has that name.
std::int64_t size_of_axis(const std::string& name);
/// A number for the axes in scope: traces that were made under others aren't the same.
std::uint64_t axes_in_scope();

}  // namespace jaxscope::jax::detail
