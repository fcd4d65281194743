// SPDX-License-Identifier: Apache-2.0
#pragma once
// jax.checkpoint_policies, and callables as policies. In: names, or a function of one application. Out: what checkpoint takes. Never here:
// checkpoint itself.
#include <jaxscope/kept.h>

namespace jaxscope::jax {

/// What a policy of the user's is asked about: one application, all of whose operands are known.
class Application {
public:
    Application(const void* asked, const char* name, std::vector<Array> types);
    std::string primitive;        ///< "sin", "dot_general"
    std::vector<Array> operands;  ///< shapes and types, without elements
    /// A parameter as JAX prints it: `param("name")`; empty where there is none.
    std::string param(const char* name) const;
    const void* asked() const { return asked_; }

private:
    const void* asked_;
};

/// What a policy answers: a bool, `Saveable`, `Recompute`, or `Offloadable("device", "pinned_host")`.
class Verdict {
public:
    enum class Kind : unsigned char { no, yes, recompute, save, offload };
    template <class B>
    requires std::is_same_v<B, bool> Verdict(B save) : kind(save ? Kind::yes : Kind::no) {}  // NOLINT(google-explicit-constructor)
    constexpr explicit Verdict(Kind k) : kind(k) {}
    Kind kind;
    const char *src = "", *dst = "";  ///< of what is offloaded: kept as long as the program runs
};
inline constexpr Verdict Saveable{Verdict::Kind::save}, Recompute{Verdict::Kind::recompute};
Verdict Offloadable(const std::string& src, const std::string& dst);

namespace detail {
class AskedPolicy {
public:
    virtual ~AskedPolicy() = default;
    virtual Verdict ask(const Application& a) const = 0;
};
template <class F>
class AskedFunction final : public AskedPolicy {
public:
    explicit AskedFunction(F f) : f_(std::move(f)) {}
    Verdict ask(const Application& a) const override { return f_(a); }

private:
    F f_;
};
KeptHandle keep_policy(AskedPolicy* policy, const char* name);
}  // namespace detail

/// A policy that has a name of its own.
struct NamedPolicy {
    const char* name;
    Verdict operator()(const Application& a) const;
};
/// A checkpoint policy: a text as `jaxscope policies --policy` takes it, or a callable: `[](const jax::Application& a) { return
/// a.primitive == "dot_general"; }`. The empty one saves nothing.
class Policy {
public:
    Policy() = default;
    template <class T>
    requires std::is_arithmetic_v<T> Policy(T) {  // NOLINT(google-explicit-constructor)
        static_assert(!sizeof(T), "a checkpoint policy is one of jax::policies, text, or a function of a jax::Application");
    }
    Policy(std::string policy);         // NOLINT(google-explicit-constructor)
    Policy(const char* policy);         // NOLINT(google-explicit-constructor)
    Policy(const NamedPolicy& policy);  // NOLINT(google-explicit-constructor)
    template <class F>
    requires(!std::is_same_v<F, Policy> && !std::is_same_v<F, NamedPolicy> && std::is_invocable_v<const F&, const Application&>)
        Policy(F f, const char* name = "<lambda>") {  // NOLINT
        using R = std::invoke_result_t<const F&, const Application&>;
        constexpr bool allowed = std::is_same_v<R, bool> || std::is_convertible_v<R, Verdict>;
        static_assert(
            allowed,
            "a checkpoint policy returns bool, or a Verdict: jax::Recompute, jax::Saveable or jax::Offloadable(source, destination)");
        if constexpr (allowed) callable = detail::keep_policy(new detail::AskedFunction<F>(std::move(f)), name);
    }
    std::string text;
    detail::KeptHandle callable;
    /// What it says of one application.
    Verdict operator()(const Application& a) const;
};
namespace policies {
inline constexpr NamedPolicy everything_saveable{"everything_saveable"}, nothing_saveable{"nothing_saveable"},
    dots_saveable{"dots_saveable"}, checkpoint_dots{"dots_saveable"}, dots_with_no_batch_dims_saveable{"dots_with_no_batch_dims_saveable"},
    checkpoint_dots_with_no_batch_dims{"dots_with_no_batch_dims_saveable"};
Policy save_only_these_names(const std::vector<std::string>& names);
template <class... S>
requires(sizeof...(S) > 0 && (std::is_convertible_v<const S&, std::string> && ...)) Policy save_only_these_names(const S&... names) {
    return save_only_these_names(std::vector<std::string>{names...});
}
Policy save_any_names_but_these(const std::vector<std::string>& names);
template <class... S>
requires(sizeof...(S) > 0 && (std::is_convertible_v<const S&, std::string> && ...)) Policy save_any_names_but_these(const S&... names) {
    return save_any_names_but_these(std::vector<std::string>{names...});
}
Policy save_anything_except_these_names(const std::vector<std::string>& names);
template <class... S>
requires(sizeof...(S) > 0 && (std::is_convertible_v<const S&, std::string> && ...)) Policy
    save_anything_except_these_names(const S&... names) {
    return save_anything_except_these_names(std::vector<std::string>{names...});
}
Policy save_from_both_policies(const Policy& a, const Policy& b);
Policy offload_dot_with_no_batch_dims(const std::string& source, const std::string& destination);
Policy save_and_offload_only_these_names(const std::vector<std::string>& names_which_can_be_saved,
                                         const std::vector<std::string>& names_which_can_be_offloaded, const std::string& offload_src,
                                         const std::string& offload_dst, Where where = {});
}  // namespace policies

}  // namespace jaxscope::jax
