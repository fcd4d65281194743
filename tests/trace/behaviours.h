#pragma once
// What the tests of the behaviours share: texts of errors, residuals without their places, counts in jaxprs.
#include <gtest/gtest.h>
#include <jaxscope/jax.h>

#include "trace/error_of.h"

namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
namespace lax = jax::lax;
namespace policies = jax::policies;
using jax::Array;

using Lines = std::vector<std::string>;

inline std::string without_place(const std::string& source) {
    return source.substr(0, source.rfind("from ", 0) == 0 ? std::string::npos : source.find(" from "));
}
/// What is saved, without places: "from the argument x", "output of sin", "named 'h'".
template <class F, class... A>
Lines saved(const F& f, const A&... a) {
    Lines out;
    for (const jax::SavedResidual& r : jax::saved_residuals(f, {.arg_names = {"x", "y", "z"}}, a...))
        out.push_back(without_place(r.source));
    return out;
}
/// The same with types, as print_saved_residuals writes them.
template <class F, class... A>
Lines printed(const F& f, const Lines& names, const A&... a) {
    Lines out;
    for (const jax::SavedResidual& r : jax::saved_residuals(f, {.arg_names = names}, a...))
        out.push_back(r.aval + " " + without_place(r.source));
    return out;
}
inline jax::CheckpointOptions under(jax::Policy p) { return {.policy = std::move(p)}; }
inline std::size_t count(const std::string& text, const std::string& what) {
    std::size_t n = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
}
/// How often these primitives stand in what `f` traces to.
template <class F, class... A>
std::vector<std::size_t> counts(const Lines& primitives, const F& f, const A&... a) {
    const std::string text = jax::make_jaxpr(f)(a...).str();
    std::vector<std::size_t> out;
    for (const std::string& p : primitives) out.push_back(count(text, "= " + p + " ") + count(text, "= " + p + "["));
    return out;
}
/// The jaxpr of the backward pass alone.
template <class F, class... A>
std::string backward(const F& f, const A&... a) {
    auto [y, f_vjp] = jax::vjp(f, a...);
    return jax::make_jaxpr(f_vjp)(y).str();
}
inline Array twice_sin(const Array& x) { return jnp::sin(jnp::sin(x)); }
