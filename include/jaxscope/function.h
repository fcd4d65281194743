// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a user's function of trees is handed to core: one erased object per call. In: a callable and its arguments. Out: flat leaves, a flat
// function, descriptions of both trees. Never here: what is done with the call (jit.h, autodiff.h, ...).
#include <jaxscope/argnums.h>
#include <jaxscope/kept_types.h>

namespace jaxscope::jax {

namespace detail {

/// One call of a function, erased.
class Call {
public:
    /// The function with other leaves; appends the leaves of its result.
    virtual void run(const Array* leaves, std::vector<Array>& out) = 0;
    virtual Description arguments() const = 0;  ///< of the tuple of arguments
    virtual Description results() const = 0;    ///< after `run`; before it null
    virtual void* take_results(void (**drop)(void*)) = 0;
    /// The next argument as it is kept; `is_number`: a number that became an Array.
    void argument(const void* value, const TreeType& of, bool is_static, bool is_number, const char* keyword);
    /// After the last one: leaves stand as JAX flattens a call, first the arguments by position, then those by name in the order of names.
    void arrange();
    /// As the function takes them, which is what JAX makes of a call of a function with rules of its own.
    void arrange_as_taken();
    void arrange(std::vector<std::size_t> wanted);
    /// Per leaf its number if all stood as the function takes them.
    std::vector<std::size_t> leaves_as_taken() const;
    /// Number of leaves before those of an argument.
    std::size_t first_leaf(std::size_t arg) const;
    /// From now on this argument is no leaf: the function is always given the value that it has.
    void fix(std::size_t arg);
    std::vector<Array> leaves;               ///< of the arguments, in `order`
    std::vector<std::size_t> order;          ///< the arguments as their leaves stand
    std::vector<std::size_t> leaves_of_arg;  ///< per argument, as the function takes them; so are the next ones
    std::vector<const char*> keywords;       ///< per argument its name if it came by kw, else null
    std::vector<std::string> leaf_names;     ///< how the leaves are called where that isn't name and path
    std::vector<bool> static_args;           ///< per argument: has it no arrays?
    std::vector<bool> numbers;               ///< per argument: was it a number?
    std::vector<std::vector<Array>> fixed;   ///< per argument what `fix` took
    const void* type = nullptr;              ///< the same for calls of one type
    const char* name = nullptr;
    Where where = Where("", 0, "");

protected:
    /// Other leaves for arguments that are kept at these places.
    void set_arguments(void* const* values, const TreeType* const* types, const Array* in) const;
    Call();
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
};

/// Leaves of the result, and the result of the call that was traced, whose other values are this one's.
struct Called {
    Called();
    Called(Called&& o) noexcept;
    Called& operator=(Called&& o) noexcept;
    ~Called();
    std::vector<Array> leaves;
    const void* prototype = nullptr;
};

/// A call's key: what is found again when a jitted function is called. Its leaves as the function takes them (null: none), and bytes that
/// are the same only for the same tree and static values of calls of one C++ type. Small calls need no heap.
class CallKey {
public:
    explicit CallKey(const void* call_type) : type(call_type) {}
    ~CallKey() {
        if (nodes != own_nodes_) delete[] nodes;
        if (bytes != own_bytes_) delete[] bytes;
    }
    CallKey(const CallKey&) = delete;
    CallKey& operator=(const CallKey&) = delete;

    void value(const void* value, const TreeType& of);
    void fixed(const void* value, const FixedType& of);
    void leaf(const Array& a);
    void number(const Array& a, std::vector<Array>& made);  ///< a number that became an array, which `made` keeps
    static void keep(const Array& a, std::vector<Array>& made);
    void raw(const void* data, std::size_t n);
    void text(std::string_view s);
    void count(std::size_t n);

    const void* type;
    const Node** nodes = own_nodes_;
    unsigned char* bytes = own_bytes_;
    std::size_t num_nodes = 0, num_bytes = 0;
    bool exact = true;  ///< else a value isn't told by bytes: the call is looked for by comparing trees

private:
    std::size_t node_room_ = 128, byte_room_ = 256;
    const Node* own_nodes_[128];
    unsigned char own_bytes_[256];
};
/// The leaves of a later call's result.
void move_leaves(void* value, const TreeType& type, Array* leaves);
/// Its arrays' places stay, without arrays.
void empty_leaves(void* value, const TreeType& type);

template <bool Filter, class F, class Args, bool... ByKeyword>
const void* call_tag() {
    static const char here = 0;
    return &here;
}

template <class T>
inline constexpr bool is_pair = false;
template <class T, class U>
inline constexpr bool is_pair<std::pair<T, U>> = true;
template <class T>
inline constexpr bool is_tuple = false;
template <class... T>
inline constexpr bool is_tuple<std::tuple<T...>> = true;
/// What stands in the place of a call that can't be made: a sentence, and types that nothing else is said of.
template <CallProblem P>
class RefusedCall : public Call {
public:
    using Args = std::tuple<>;
    using Result = Array;
    static constexpr bool callable = false;
    template <class F, class... A>
    explicit RefusedCall(const F&, const A&...) {
        static_assert(P != CallProblem::no_tree, JAXSCOPE_NO_PYTREE);
        static_assert(P != CallProblem::no_equality, "Static<T> needs ==");
        static_assert(P != CallProblem::no_copy, "an argument can't be copied: pass it by a std::shared_ptr, or what it points to");
        static_assert(P != CallProblem::not_callable, "the function can't be called with these arguments");
        static_assert(P != CallProblem::result,
                      "the function returns what is no pytree: return arrays, numbers, or containers and structs of them");
    }
    void run(const Array*, std::vector<Array>&) override {}
    Description arguments() const override { return {}; }
    Description results() const override { return {}; }
    void* take_results(void (**)(void*)) override { return nullptr; }
    const Array& result() const { return result_; }
    static Array filled(const void*, Array*) { return Array(); }
    const Args& given_arguments() const { return args_; }
    template <std::size_t I>
    Array arg_like(const Array*&) const {
        return result_;
    }

private:
    Array result_;
    Args args_;
};

/// A call of `f` with these arguments. Its own types stand in CallOf and FilterCallOf.
template <bool Filter, class F, class... A>
class AnyCall : public Call {
    using Types = KeptTypes<Filter, F, A...>;

public:
    using Args = typename Types::Args;
    static constexpr bool callable = Types::callable;
    using Result = typename Types::Result;

    [[gnu::cold]] explicit AnyCall(const F& f, const A&... a) : f_(f), args_(kept(std::index_sequence_for<A...>(), a...)) {
        type = tag();
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            (argument(&std::get<I>(args_), type_of<std::tuple_element_t<I, Args>>(), is_static_arg<std::tuple_element_t<I, Args>>,
                      is_numbers<typename Unkeyed<A>::type>, keyword_name(a)),
             ...);
        }
        (std::index_sequence_for<A...>());
        arrange();
    }

    /// The same for calls of one type: a function sees what its arguments are kept as, so 2.0, 2.0f and an array's 2.0 are one.
    static const void* tag() { return call_tag<Filter, F, Args, is_keyword<A>...>(); }
    /// Writes the key of a call with these arguments, which aren't copied; `made` keeps what a number became.
    static void write(CallKey& key, std::vector<Array>& made, const A&... a) {
        [&]<std::size_t... I>(std::index_sequence<I...>) { (write_one<std::tuple_element_t<I, Args>>(key, made, a), ...); }
        (std::index_sequence_for<A...>());
    }

    [[gnu::cold]] void run(const Array* in, std::vector<Array>& out) override {
        Args args(args_);
        delete result_;
        result_ = nullptr;
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            void* const values[] = {nullptr, &std::get<I>(args)...};
            const TreeType* const types[] = {nullptr, &type_of<std::tuple_element_t<I, Args>>()...};
            set_arguments(values + 1, types + 1, in);
            const auto run_it = [&]() -> decltype(auto) { return f_(passed<A>(given(std::get<I>(std::as_const(args))), keywords[I])...); };
            if constexpr (std::is_void_v<decltype(run_it())>)
                run_it(), result_ = new Result();
            else
                result_ = new Result(run_it());
        }
        (std::index_sequence_for<A...>());
        append_leaves(result_, type_of<Result>(), out);
    }
    Description arguments() const override { return description<Filter>(args_); }
    Description results() const override { return {result_, &type_of<Result>()}; }
    [[gnu::cold]] void* take_results(void (**drop)(void*)) override {
        *drop = [](void* p) { delete static_cast<Result*>(p); };
        empty_leaves(result_, type_of<Result>());
        return std::exchange(result_, nullptr);
    }
    const Result& result() const { return *result_; }
    /// The result of another call of this type: `leaves` where `prototype`, the traced call's result, has arrays.
    static Result filled(const void* prototype, Array* leaves_in) {
        Result out(*static_cast<const Result*>(prototype));
        move_leaves(&out, type_of<Result>(), leaves_in);
        return out;
    }
    const Args& given_arguments() const { return args_; }
    /// Argument `I` with other leaves.
    template <std::size_t I>
    [[gnu::cold]] auto arg_like(const Array*& leaves_in) const {
        auto out = std::get<I>(args_);
        set_leaves(&out, type_of<decltype(out)>(), leaves_in);
        return out;
    }

protected:
    ~AnyCall() { delete result_; }

private:
    /// What the function gets: what one of ours transformed hears the name, too.
    template <class G, class T>
    static decltype(auto) passed(const T& value, [[maybe_unused]] const char* name) {
        if constexpr (is_keyword<G> && is_transformed<F>)
            return Keyword<T>{name, value};
        else
            return (value);
    }
    template <class T>
    static constexpr const TreeType& type_of() {
        return tree_type<Filter, T>;
    }
    template <class K, class T>
    static void write_one(CallKey& key, std::vector<Array>& made, const T& arg) {
        if (const char* name = keyword_name(arg)) key.text(name);
        const auto& v = unkeyed(arg);
        using V = std::remove_cvref_t<decltype(v)>;
        if constexpr (std::is_same_v<K, V>)
            key.value(&v, type_of<V>());
        else if constexpr (std::is_same_v<V, std::nullopt_t>) {
            const K missing(v);
            key.value(&missing, type_of<K>());
        } else if constexpr (is_leaf<K>) {
            key.number(Array(v), made);
        } else if constexpr (!is_static_arg<K> && !Filter && (is_pair<K> || is_tuple<K>)) {
            const K with_arrays(v);  // a pair or tuple of numbers
            each_leaf(with_arrays, [&](const Array& a) { CallKey::keep(a, made); });
            key.value(&with_arrays, type_of<K>());
        } else if constexpr (std::is_convertible_v<V, const char*>)
            key.text(v);
        else
            key.fixed(&v, fixed_type<V>);
    }
    template <std::size_t... I>
    static Args kept(std::index_sequence<I...>, const A&... a) {
        return Args(keep<std::tuple_element_t<I, Args>>(a)...);
    }
    template <class K, class T>
    static K keep(const T& v) {
        const auto& a = unkeyed(v);
        if constexpr (is_static_arg<K>)
            return K{a};
        else
            return K(a);
    }
    const F& f_;
    Args args_;
    Result* result_ = nullptr;
};
template <bool Filter, class F, class... A>
using CallBase =
    std::conditional_t<KeptTypes<Filter, F, A...>::callable, AnyCall<Filter, F, A...>, RefusedCall<KeptTypes<Filter, F, A...>::problem>>;
template <class F, class... A>
class CallOf final : public CallBase<false, F, A...> {
public:
    using CallBase<false, F, A...>::CallBase;
};
template <class F, class... A>
CallOf(const F&, const A&...) -> CallOf<F, A...>;
template <class F, class... A>
class FilterCallOf final : public CallBase<true, F, A...> {
public:
    using CallBase<true, F, A...>::CallBase;
};
template <class F, class... A>
FilterCallOf(const F&, const A&...) -> FilterCallOf<F, A...>;

/// A tuple of exactly these: std::tuple(pair) would be the pair's members.
template <class... T>
std::tuple<std::remove_cvref_t<T>...> tuple_of(T&&... v) {
    return std::tuple<std::remove_cvref_t<T>...>(static_cast<T&&>(v)...);
}
template <class A, bool NumbersAreArrays>
using GivenAs = std::remove_cvref_t<decltype(given(std::declval<const typename KeptAs<A, NumbersAreArrays>::type&>()))>;
/// Can the function be called with such arguments, each number among them being an array or what it is?
template <class F, class... A>
concept Takes = KeptTypes<false, F, A...>::callable;

/// What tells a function that holds nothing from others; null: one that holds something.
template <class F>
inline constexpr char kFunctionType = 0;
template <class F>
const void* identity_of(const F& f) {
    if constexpr (std::is_pointer_v<F>)
        return reinterpret_cast<const void*>(f);
    else
        return PlainFunction<F> ? &kFunctionType<F> : nullptr;
}

template <class T, bool Filter = false>
T with_leaves(const T& prototype, const Array*& leaves) {
    T out(prototype);
    set_leaves(&out, tree_type<Filter, T>, leaves);
    return out;
}
/// The same of a tree that may hold other values.
template <bool Filter, class T>
T refilled(const T& prototype, const Array*& leaves) {
    return with_leaves<T, Filter>(prototype, leaves);
}
/// The call of a plain transformation, or of a filtered one.
template <bool Filter, class F, class... A>
using CallFor = std::conditional_t<Filter, FilterCallOf<F, A...>, CallOf<F, A...>>;
/// A member function as a function of the object and its arguments.
template <class M>
struct Method {
    M method;
    Method(M m) : method(m) {}  // NOLINT(google-explicit-constructor)
    template <class T, class... A>
    auto operator()(const T& self, const A&... a) const -> decltype((self.*method)(a...)) {
        return (self.*method)(a...);
    }
};
template <class F>
struct StoredAs {
    using type = F;
};
template <class F>
requires std::is_member_function_pointer_v<F>
struct StoredAs<F> {
    using type = Method<F>;
};
/// A function kept by value: functions as pointers.
template <class F>
using Stored = typename StoredAs<std::decay_t<F>>::type;

/// What a function that is differentiated returns: one array, or that and something auxiliary.
template <class R>
inline constexpr bool gives_one_array = is_leaf<typename WithArrays<R>::type> || is_pair<R>;

}  // namespace detail
}  // namespace jaxscope::jax
