#pragma once
#include <string_view>

namespace jaxscope {

/// JAX's name of a primitive in 0.10.2, given the one of an older version (0.4.30 on): `pjit` is `jit`, `checkpoint` is `remat2`.
constexpr std::string_view normalised_primitive(std::string_view name) {
    if (name == "pjit" || name == "xla_call") return "jit";
    if (name == "checkpoint" || name == "remat") return "remat2";
    return name;
}

}  // namespace jaxscope
