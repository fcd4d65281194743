#pragma once
// How a user's function of trees is handed to core: one erased object per call. In: a callable and its arguments. Out: flat leaves, a flat
// function, descriptions of both trees. Never here: what is done with the call (jit.h, autodiff.h, ...).
#include <jaxscope/pytree.h>

namespace jaxscope::jax {

/// A keyword argument: `f(x, kw("mask", m))` passes `m` at this place and calls it "mask" wherever arguments are named.
template <class T>
struct Keyword {
    const char* name;
    T value;
};
template <class T>
Keyword<std::decay_t<T>> kw(const char* name, T&& value) {
    return {name, static_cast<T&&>(value)};
}

namespace detail {

/// An argument that isn't made of arrays: its value joins the tree, and it must be static.
template <class T>
struct StaticArg {
    T value{};
    friend bool operator==(const StaticArg&, const StaticArg&) = default;
};
template <class T>
inline constexpr bool is_static<StaticArg<T>> = true;
template <class T>
inline constexpr bool is_static_arg = false;
template <class T>
inline constexpr bool is_static_arg<StaticArg<T>> = true;

template <class T>
struct Unkeyed {
    using type = T;
};
template <class T>
struct Unkeyed<Keyword<T>> {
    using type = T;
};
/// What an argument is kept as: a number as an Array where the function takes one, other values without arrays as StaticArg.
template <class A, bool NumbersAreArrays>
struct KeptAs {
    using D = typename Unkeyed<std::decay_t<A>>::type;
    static auto pick() {
        if constexpr (Number<D> && NumbersAreArrays)
            return Array();
        else if constexpr (std::is_convertible_v<D, const char*>)
            return StaticArg<std::string>();
        else if constexpr (Number<D> || std::is_enum_v<D> || Text<D>)
            return StaticArg<D>();
        else if constexpr (is_tree<D>())
            return std::type_identity<D>();
        else
            static_assert(!sizeof(D),
                          "T is no pytree: it has constructors, private members or bases; add JAXSCOPE_PYTREE(T, member, ...) or "
                          "wrap it in Static<>");
    }
    template <class T>
    struct Id {
        using type = T;
    };
    template <class T>
    struct Id<std::type_identity<T>> {
        using type = T;
    };
    using type = typename Id<decltype(pick())>::type;
};
template <class T>
const T& given(const T& v) {
    return v;
}
template <class T>
const T& given(const StaticArg<T>& v) {
    return v.value;
}
template <class A>
const auto& unkeyed(const A& a) {
    if constexpr (std::is_same_v<A, typename Unkeyed<A>::type>)
        return a;
    else
        return a.value;
}

/// One call of a function, erased.
class Call {
public:
    /// The function with other leaves; appends the leaves of its result.
    virtual void run(const Array* leaves, std::vector<Array>& out) = 0;
    virtual Description arguments() const = 0;  ///< of the tuple of arguments
    virtual Description results() const = 0;    ///< after `run`
    virtual void* take_results(void (**drop)(void*)) = 0;
    std::vector<Array> leaves;  ///< of the arguments, in order
    std::vector<std::size_t> leaves_of_arg;
    std::vector<const char*> keywords;  ///< per argument its name if it came by kw, else null
    std::vector<bool> static_args;      ///< per argument: has it no arrays?
    const void* type = nullptr;         ///< the same for calls of one type
    const char* name = nullptr;
    Where where;

protected:
    ~Call() = default;
};

template <class F, class... A>
class CallOf final : public Call {
    static constexpr bool kNumbers = std::is_invocable_v<const F&, const typename KeptAs<A, true>::type&...>;
    template <class T>
    static auto plain() {
        return std::type_identity<std::remove_cvref_t<decltype(given(std::declval<const T&>()))>>();
    }

public:
    template <class T>
    using Kept =
        typename KeptAs<T, std::is_invocable_v<const F&, const typename decltype(plain<typename KeptAs<A, true>::type>())::type&...>>::type;
    using Args = std::tuple<Kept<A>...>;
    using Result = std::remove_cvref_t<std::invoke_result_t<const F&, const typename decltype(plain<Kept<A>>())::type&...>>;

    explicit CallOf(const F& f, const A&... a) : f_(f), args_(keep<Kept<A>>(a)...) {
        static const char tag = 0;
        type = &tag;
        const auto one = [&](const auto& arg) {
            const std::size_t before = leaves.size();
            each_leaf(arg, [&](const Array& leaf) { leaves.push_back(leaf); });
            leaves_of_arg.push_back(leaves.size() - before);
            static_args.push_back(is_static_arg<std::remove_cvref_t<decltype(arg)>>);
        };
        std::apply([&](const auto&... arg) { (one(arg), ...); }, args_);
        (keywords.push_back(keyword(a)), ...);
    }
    ~CallOf() { delete result_; }
    CallOf(const CallOf&) = delete;
    CallOf& operator=(const CallOf&) = delete;

    void run(const Array* in, std::vector<Array>& out) override {
        Args args(args_);
        std::apply([&](auto&... arg) { (each_leaf(arg, [&](Array& leaf) { leaf = *in++; }), ...); }, args);
        delete result_;
        result_ = nullptr;
        result_ = new Result(std::apply([&](const auto&... arg) { return f_(given(arg)...); }, args));
        each_leaf(*result_, [&](Array& leaf) { out.push_back(leaf); });
    }
    Description arguments() const override { return description(args_); }
    Description results() const override { return description(*result_); }
    void* take_results(void (**drop)(void*)) override {
        *drop = [](void* p) { delete static_cast<Result*>(p); };
        return std::exchange(result_, nullptr);
    }
    const Result& result() const { return *result_; }
    /// Argument `I` with other leaves.
    template <std::size_t I>
    auto arg_like(const Array*& leaves_in) const {
        auto out = std::get<I>(args_);
        each_leaf(out, [&](Array& leaf) { leaf = *leaves_in++; });
        return out;
    }

private:
    template <class K, class T>
    static K keep(const T& v) {
        const auto& a = unkeyed(v);
        if constexpr (is_static_arg<K>)
            return K{a};
        else
            return K(a);
    }
    template <class T>
    static const char* keyword(const Keyword<T>& k) {
        return k.name;
    }
    template <class T>
    static const char* keyword(const T&) {
        return nullptr;
    }
    const F& f_;
    Args args_;
    Result* result_ = nullptr;
};
template <class F, class... A>
CallOf(const F&, const A&...) -> CallOf<F, A...>;

template <class T>
T with_leaves(const T& prototype, const Array*& leaves) {
    T out(prototype);
    each_leaf(out, [&](Array& leaf) { leaf = *leaves++; });
    return out;
}
/// A function kept by value: functions as pointers.
template <class F>
using Stored = std::decay_t<F>;

template <class T>
inline constexpr bool is_pair = false;
template <class T, class U>
inline constexpr bool is_pair<std::pair<T, U>> = true;

}  // namespace detail
}  // namespace jaxscope::jax
