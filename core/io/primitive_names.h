#pragma once
#include <string_view>

namespace jaxscope {

/// JAX's name of a primitive in 0.10.2, given the one of an older version (0.4.30 on): `pjit` is `jit`, `checkpoint` is `remat2`.
constexpr std::string_view normalised_primitive(std::string_view name) {
    if (name == "pjit" || name == "xla_call") return "jit";
    if (name == "checkpoint" || name == "remat") return "remat2";
    if (name == "custom_vjp_call_jaxpr") return "custom_vjp_call";
    return name;
}
/// The same for a parameter of `primitive` (by its name of 0.10.2).
constexpr std::string_view normalised_param(std::string_view primitive, std::string_view name) {
    if (primitive == "custom_jvp_call" && name == "jvp_jaxpr_thunk") return "jvp_jaxpr_fun";
    if (primitive == "custom_vjp_call" && name == "fun_jaxpr") return "call_jaxpr";
    return name;
}

}  // namespace jaxscope
