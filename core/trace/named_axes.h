// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a function is traced under: names that vmap gives to axes (JAX's axis environment), and the precision of products that ask for none.
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
/// The precision of products that ask for none ("": none); the thread's.
std::string& default_precision();
/// A number for the axes in scope, the precision and disable_jit, 0 for none of them: traces that were made under others aren't the same.
std::uint64_t trace_context();
/// To be called wherever one of them changes.
void context_changed();

}  // namespace jaxscope::jax::detail
