// SPDX-License-Identifier: Apache-2.0
#pragma once
// jax.jit, jax.make_jaxpr, jax.eval_shape.
#include <jaxscope/function.h>

namespace jaxscope::jax {

struct JitOptions {
    Argnums donate_argnums = {}, static_argnums = {};
    Argnames donate_argnames = {}, static_argnames = {}, arg_names = {};
    const char* name = "<unnamed function>";
    Flag keep_unused = false;
    Flag inline_ = false;
    /// What keeps recomputation of differentiated checkpoints apart from the first computation: "barrier", or "while", "cond", JAX's of
    /// 2023.
    const char* remat_lowering = "barrier";
    detail::NoSuchOption donate_argnum = {}, donate_argname = {}, static_argnum = {}, static_argname = {}, donate = {}, argnames = {};
};
struct MakeJaxprOptions {
    Argnames arg_names = {};
    const char* name = "<unnamed function>";
    detail::NoSuchOption static_argnums = {}, argnames = {};
};

/// jax.disable_jit: while it lives, what this thread calls runs without jit, each operation by itself and in turn; so do the bodies of
/// lax's scan, and of while_loop, fori_loop, cond and switch_ where what they decide by is known. Nothing is donated. pmap and what is
/// compiled already run as ever.
class disable_jit {
public:
    explicit disable_jit(Flag disable = true);
    ~disable_jit();
    disable_jit(const disable_jit&) = delete;
    disable_jit& operator=(const disable_jit&) = delete;

private:
    bool before_;
};

namespace detail {
class JitState;
class JitHandle {
public:
    /// `function`: what tells one that holds nothing, or null.
    JitHandle(const JitOptions& options, const Where& where, int arity = -1, const void* function = nullptr);
    JitHandle(const JitHandle& o) noexcept;
    JitHandle& operator=(const JitHandle& o) noexcept;
    ~JitHandle();
    JitState& operator*() const { return *state_; }

private:
    JitState* state_;
};
/// A call that was made before. False: it wasn't, or a function is being traced.
bool jit_again(JitState& state, const CallKey& key, Called& out);
/// Any call; remembered by `key`.
Called jit_call(JitState& state, Call& call, const CallKey& key);
struct TracedProgram;
}  // namespace detail

/// A traced function; prints as JAX's.
class Jaxpr {
public:
    Jaxpr(const Jaxpr& o) noexcept;
    Jaxpr& operator=(const Jaxpr& o) noexcept;
    ~Jaxpr();
    std::string str() const;
    std::string str_with_sources() const;
    std::size_t num_equations() const;
    const detail::TracedProgram& program() const { return *program_; }
    explicit Jaxpr(detail::TracedProgram* p) : program_(p) {}

private:
    detail::TracedProgram* program_;
};
std::ostream& operator<<(std::ostream& out, const Jaxpr& j);

struct MemoryAnalysis {
    std::int64_t argument_size_in_bytes, output_size_in_bytes, alias_size_in_bytes, temp_size_in_bytes, peak_size_in_bytes;
};

/// What running the program costs by its equations: operations, and bytes that they read and write, each equation by itself.
struct CostAnalysis {
    double flops, bytes_accessed;
};

/// A leaf of the arguments: its path, its type, and whether it is donated. Prints as JAX's ArgInfo.
struct ArgInfo {
    std::string path, aval;
    bool weak_type = false, donated = false;
    std::string str() const;
};
/// What is known of a lowered call: `in_tree` is that of a pair, arguments by position and by name, without the static ones.
struct CallInfo {
    PyTreeDef in_tree, out_tree;
    std::vector<ArgInfo> args;
    std::vector<int> donate_argnums;
    /// JAX's `args_info`: the tree of ArgInfos.
    std::string str() const;
};

namespace detail {
void lower(JitState& state, Call& call, bool told);
CallInfo call_info(JitState& state, Call& call);
/// What the call gives, its arrays ShapeDtypeStructs.
Called shapes_of(JitState& state, Call& call);
CostAnalysis cost_analysis(JitState& state, Call& call);
Jaxpr make_jaxpr(Call& call, const MakeJaxprOptions& options);
Jaxpr jit_program(JitState& state, Call& call);
MemoryAnalysis memory_analysis(JitState& state, Call& call);
std::string donation_report(JitState& state);
std::string donation_report(JitState& state, Call& call);
std::vector<std::string> retraces(JitState& state);
void clear_cache(JitState& state);
/// Throws JAX's sentences where a call isn't of the types that another one was compiled for.
void check_compiled(JitState& state, Call& compiled, Call& given);
}  // namespace detail

namespace detail {
/// An argument that is kept for later: a text between quotes as text.
template <class T>
using Held = std::conditional_t<std::is_array_v<T>, std::string, T>;
}  // namespace detail
template <bool Filter, class F, class... A>
class Compiled;
/// What has been lowered for given arguments.
template <bool Filter, class F, class... A>
class Lowered {
public:
    /// Traces the call now, as JAX lowers it now. `told`: with the warning of donations that can't be used.
    Lowered(const F& f, detail::JitHandle state, const std::tuple<A...>& a, bool told = true) : f_(f), state_(std::move(state)), args_(a) {
        with_call([&](auto& call) { detail::lower(*state_, call, told); });
    }
    std::string as_text() const {
        return with_call([&](auto& call) { return detail::jit_program(*state_, call).str(); });
    }
    Jaxpr jaxpr() const {
        return with_call([&](auto& call) { return detail::jit_program(*state_, call); });
    }
    Lowered lower() const { return *this; }  ///< of what `trace` gave
    Compiled<Filter, F, A...> compile() const { return {f_, state_, args_}; }
    CallInfo args_info() const {
        return with_call([&](auto& call) { return detail::call_info(*state_, call); });
    }
    PyTreeDef in_tree() const { return args_info().in_tree; }
    PyTreeDef out_tree() const { return args_info().out_tree; }
    std::vector<int> donate_argnums() const { return args_info().donate_argnums; }
    /// The results, of which only the types are known: their arrays are ShapeDtypeStructs.
    auto out_info() const {
        return with_call([&]<class C>(C& call) {
            detail::Called done = detail::shapes_of(*state_, call);
            return C::filled(done.prototype, done.leaves.data());
        });
    }
    MemoryAnalysis memory_analysis() const { return compile().memory_analysis(); }
    CostAnalysis cost_analysis() const {
        return with_call([&](auto& call) { return detail::cost_analysis(*state_, call); });
    }

protected:
    template <class... G>
    using CallWith = std::conditional_t<Filter, detail::FilterCallOf<F, G...>, detail::CallOf<F, G...>>;
    template <class G>
    auto with_call(G&& g) const {
        return std::apply(
            [&](const auto&... a) {
                CallWith<A...> call(f_, a...);
                return g(call);
            },
            args_);
    }
    F f_;
    detail::JitHandle state_;
    std::tuple<A...> args_;
};

namespace detail {
template <class C, class F, class... A>
auto run_jitted(JitState& state, const F& f, const A&... a) {
    if constexpr (!C::callable) {
        return C(f, a...).result();
    } else {
        CallKey key(C::tag());
        std::vector<Array> made;
        C::write(key, made, a...);
        Called r;
        if (jit_again(state, key, r)) return C::filled(r.prototype, r.leaves.data());
        C call(f, a...);
        r = jit_call(state, call, key);
        return C::filled(r.prototype, r.leaves.data());
    }
}
}  // namespace detail

/// A program for arguments of the types that it was compiled for, static ones among them. Others are refused.
template <bool Filter, class F, class... A>
class Compiled : public Lowered<Filter, F, A...> {
    using Base = Lowered<Filter, F, A...>;

public:
    Compiled(const F& f, detail::JitHandle state, const std::tuple<A...>& a) : Base(f, std::move(state), a) {}
    template <class... G>
    auto operator()(const G&... a) const {
        using C = typename Base::template CallWith<G...>;
        C given(this->f_, a...);
        this->with_call([&](auto& call) { detail::check_compiled(*this->state_, call, given); });
        return detail::run_jitted<C>(*this->state_, this->f_, a...);
    }
    MemoryAnalysis memory_analysis() const {
        return this->with_call([&](auto& call) { return detail::memory_analysis(*this->state_, call); });
    }
};

namespace detail {
/// Number of parameters where a callable tells it: function pointers and lambdas without `auto`; else -1.
template <class F>
struct Arity {
    static constexpr int value = -1;
};
template <class F>
requires requires { typename F::Transformed; }
struct Arity<F> : Arity<typename F::Transformed> {};
template <class F>
requires requires { &F::operator(); }
struct Arity<F> : Arity<decltype(&F::operator())> {};
template <class R, class... A>
struct Arity<R (*)(A...)> {
    static constexpr int value = sizeof...(A);
};
template <class C, class R, class... A>
struct Arity<R (C::*)(A...) const> : Arity<R (*)(A...)> {};
template <class C, class R, class... A>
struct Arity<R (C::*)(A...)> : Arity<R (*)(A...)> {};
}  // namespace detail

template <class F>
class Jitted {
public:
    using Transformed = F;
    Jitted(F f, const JitOptions& options, const Where& where)
        : f_(std::move(f)), state_(options, where, detail::Arity<F>::value, detail::identity_of(f_)) {}
    template <class... A>
    auto operator()(const A&... a) const {
        return detail::run_jitted<detail::CallOf<F, A...>>(*state_, f_, a...);
    }
    template <class... A>
    Lowered<false, F, detail::Held<A>...> lower(const A&... a) const {
        return {f_, state_, std::tuple<detail::Held<A>...>(a...)};
    }
    /// What is known of a call before it is lowered: the same, and `jaxpr()`.
    template <class... A>
    auto trace(const A&... a) const {
        return lower(a...);
    }
    template <class... A>
    auto eval_shape(const A&... a) const {
        return Lowered<false, F, detail::Held<A>...>(f_, state_, std::tuple<detail::Held<A>...>(a...), false).out_info();
    }
    /// Forgets all traces and what was compiled: the next call traces again.
    void clear_cache() const { detail::clear_cache(*state_); }
    /// What became of the donated arguments in the calls so far, by argument path.
    std::string donation_report() const { return detail::donation_report(*state_); }
    /// The same for one call that isn't run: what would be refused, too.
    template <class A, class... More>
    std::string donation_report(const A& a, const More&... more) const {
        detail::CallOf<F, A, More...> call(f_, a, more...);
        return detail::donation_report(*state_, call);
    }
    /// Why each trace was made.
    std::vector<std::string> retraces() const { return detail::retraces(*state_); }
    detail::JitState& state() const { return *state_; }
    const F& function() const { return f_; }

private:
    F f_;
    detail::JitHandle state_;
};
template <class F>
Jitted<detail::Stored<F>> jit(F&& f, const JitOptions& options = {}, Where where = {}) {
    return Jitted<detail::Stored<F>>(static_cast<F&&>(f), options, where);
}

template <class F>
auto make_jaxpr(F&& f, MakeJaxprOptions options = {}, Where where = {}) {
    return [f = detail::Stored<F>(static_cast<F&&>(f)), options = std::move(options), where](const auto&... a) {
        detail::CallOf call(f, a...);
        call.where = where;
        return detail::make_jaxpr(call, options);
    };
}

}  // namespace jaxscope::jax
