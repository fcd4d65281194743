// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which types are trees, and what their children are: tuples, vectors, maps, optionals, variants, `Static<T>`, aggregates, and structs that
// say their members (JAXSCOPE_PYTREE). Containers are met by shape, so no container's header is included here.
// In: any such type. Out: its kind, its children in order, the text of a value that is none. Never here: leaves, whole trees (pytree.h).
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <jaxscope/reflect.h>

namespace jaxscope::jax {

/// A value that belongs to the tree instead of being a leaf: changing it traces anew. T needs == ; its text is taken from std::to_string,
/// strings and bools as they are.
template <class T>
struct Static {
    T value{};
    friend bool operator==(const Static&, const Static&) = default;
};

// A sentence that is said in several places: a macro, as a function that says it would be one more line of a compiler's.
#define JAXSCOPE_NO_PYTREE \
    "T is no pytree: it has constructors, private members or bases; add JAXSCOPE_PYTREE(T, member, ...) or wrap it in Static<>"

namespace detail {

// ---- Kinds of nodes

template <class T>
inline constexpr bool is_static = false;
template <class T>
inline constexpr bool is_static<Static<T>> = true;
template <class T>
concept Optional = requires(T t) {
    t.has_value();
    t.emplace(*t);
    t.reset();
};
template <class T>
concept Variant = requires(T t) {
    t.index();
    t.valueless_by_exception();
};
template <class T>
concept Map = requires(T t) {
    typename T::key_type;
    typename T::mapped_type;
    t.begin()->second;
};
template <class T>
concept Sequence = requires(T t) {
    typename T::value_type;
    t.begin();
    t.end();
    t.push_back(*t.begin());
}
&&!requires(T t) { t.c_str(); };
template <class T>
concept FixedArray = requires(T t) {
    t.begin();
    t.data();
    std::tuple_size<T>::value;
};
template <class T>
concept TupleLike = requires {
    std::tuple_size<T>::value;
}
&&!FixedArray<T>;
template <class T>
concept Registered = requires(T& t) {
    jaxscope_members(t, [](auto&...) {});
};
template <class T>
concept Text = std::is_same_v<T, std::string_view> || requires(const T& t) {
    t.c_str();
};
template <class T>
concept Aggregate = std::is_aggregate_v<T> && std::is_class_v<T> && !FixedArray<T>;
template <class T>
inline constexpr bool is_leaf = std::is_base_of_v<Array, T>;

template <class T>
constexpr bool is_tree();
template <class T>
struct Members;  // a pack of member types, for is_tree
template <class T>
constexpr bool is_tree() {
    return is_leaf<T> || is_static<T> || Registered<T> || Optional<T> || Variant<T> || Map<T> || Sequence<T> || FixedArray<T> ||
           TupleLike<T> || Aggregate<T> || std::is_array_v<T>;
}

/// Kinds of a tree's nodes.
enum class TreeKind : unsigned char { leaf, none, tuple, list, dict, custom, fixed };

std::string number_text(long long v);
std::string number_text(unsigned long long v);
std::string number_text(double v);
std::string number_text(float v);
std::string complex_text(double real, double imag);
std::string quoted_text(std::string_view v);  ///< as Python writes it
std::string listed_texts(std::initializer_list<std::string> texts);
void list_text(std::string& list, const std::string& text);  ///< behind what is listed
std::string between(const char* open, const std::string& text, const char* close);
template <class T>
std::string_view characters_of(const T& v) {
    if constexpr (std::is_convertible_v<const T&, std::string_view>)
        return v;
    else
        return v.c_str();
}
template <class T>
constexpr bool is_plain();
/// `<function relu>`, or by its address where the program's symbols don't name it.
std::string function_text(const void* address);
template <class T>
std::string text_of(const T& v);
template <class T>
std::string texts_of(const T& v) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        using std::get;
        return listed_texts({text_of(get<I>(v))...});
    }
    (std::make_index_sequence<std::tuple_size<T>::value>());
}
template <class T>
std::string text_of(const T& v) {
    if constexpr (std::is_same_v<T, bool>)
        return v ? "True" : "False";
    else if constexpr (std::is_enum_v<T>)
        return number_text(static_cast<long long>(v));
    else if constexpr (std::is_same_v<T, float>)
        return number_text(v);
    else if constexpr (std::is_floating_point_v<T>)
        return number_text(static_cast<double>(v));
    else if constexpr (std::is_unsigned_v<T>)
        return number_text(static_cast<unsigned long long>(v));
    else if constexpr (std::is_arithmetic_v<T>)
        return number_text(static_cast<long long>(v));
    else if constexpr (Complex<T>)
        return complex_text(static_cast<double>(v.real()), static_cast<double>(v.imag()));
    else if constexpr (Text<T>)
        return quoted_text(characters_of(v));
    else if constexpr (std::is_convertible_v<T, const char*>)
        return quoted_text(v);
    else if constexpr (Optional<T>)
        return v.has_value() ? text_of(*v) : "None";
    else if constexpr (Sequence<T> || FixedArray<T>) {
        std::string out;
        for (const auto& e : v) list_text(out, text_of(e));
        return between("[", out, "]");
    } else if constexpr (TupleLike<T>)
        return between("(", texts_of(v), std::tuple_size<T>::value == 1 ? ",)" : ")");
    else if constexpr (Aggregate<T> && !Map<T>)
        return std::string(type_name<T>.text, type_name<T>.size) +
               between("(", with_members(v, [](const auto&... m) { return listed_texts({text_of(m)...}); }), ")");
    else if constexpr (std::is_pointer_v<T> && std::is_function_v<std::remove_pointer_t<T>>)
        return function_text(reinterpret_cast<const void*>(v));
    else
        return std::string(type_name<T>.text, type_name<T>.size);
}
/// Does the text tell one value from another? The keys of a map are compared by it.
template <class T>
constexpr bool told_by_text() {
    if constexpr (AnyNumber<T> || std::is_enum_v<T> || Text<T> || std::is_convertible_v<T, const char*> || std::is_empty_v<T>)
        return true;
    else if constexpr (Optional<T>)
        return told_by_text<std::remove_cvref_t<decltype(*std::declval<T&>())>>();
    else if constexpr (Sequence<T> || FixedArray<T>)
        return told_by_text<typename T::value_type>();
    else if constexpr (TupleLike<T>)
        return []<std::size_t... I>(std::index_sequence<I...>) {
            return (told_by_text<std::remove_cvref_t<std::tuple_element_t<I, T>>>() && ...);
        }
    (std::make_index_sequence<std::tuple_size<T>::value>());
    else if constexpr (Aggregate<T> && !Map<T>) return decltype(with_members(
        std::declval<T&>(), []<class... M>(M&...) { return std::bool_constant<(told_by_text<std::remove_cv_t<M>>() && ...)>(); }))::value;
    else return false;
}
/// A function's address, or a function object that holds nothing; no `std::tuple<>`, which is Python's ().
template <class T>
concept PlainFunction = (std::is_pointer_v<T> && std::is_function_v<std::remove_pointer_t<T>>) ||
                        (std::is_class_v<T> && std::is_empty_v<T> && !std::is_aggregate_v<T> && std::is_copy_constructible_v<T> &&
                         !TupleLike<T>);
/// A value that can hold no array: numbers, enums, text, functions and containers of these.
template <class T>
constexpr bool is_plain() {
    if constexpr (AnyNumber<T> || std::is_enum_v<T> || Text<T> || std::is_convertible_v<T, const char*> || PlainFunction<T>)
        return true;
    else if constexpr (Map<T>)
        return is_plain<typename T::mapped_type>();
    else if constexpr (Sequence<T> || FixedArray<T>)
        return is_plain<typename T::value_type>();
    else if constexpr (Optional<T>)
        return is_plain<std::remove_cvref_t<decltype(*std::declval<T&>())>>();
    else if constexpr (TupleLike<T>)
        return []<std::size_t... I>(std::index_sequence<I...>) {
            return sizeof...(I) > 0 && (is_plain<std::remove_cvref_t<std::tuple_element_t<I, T>>>() && ...);
        }
    (std::make_index_sequence<std::tuple_size<T>::value>());
    else return false;
}

/// Where the entries of a map are, to be put in order.
class Places {
public:
    Places();
    ~Places();
    Places(const Places&) = delete;
    Places& operator=(const Places&) = delete;
    void add(const void* entry);
    void sort(bool (*less)(const void*, const void*));
    const void* const* begin() const { return first_; }
    const void* const* end() const { return first_ + n_; }
    std::size_t size() const { return n_; }

private:
    const void** first_ = nullptr;
    std::size_t n_ = 0, room_ = 0;
};
template <class T>
concept AscendingMap = requires {
    typename T::key_compare;
    requires std::is_same_v<typename T::key_compare, std::less<typename T::key_type>> ||
        std::is_same_v<typename T::key_compare, std::less<>>;
};
/// Calls f(entry) for a map's entries, keys ascending, as JAX takes a dict's.
template <class T, class F>
void each_entry(T& t, F&& f) {
    if constexpr (AscendingMap<std::remove_cv_t<T>>) {
        for (auto& entry : t) f(entry);
    } else {
        using Entry = std::remove_reference_t<decltype(*t.begin())>;
        static_assert(
            requires(Entry & e) { e.first < e.first; }, "T is no pytree: the keys of its map have no order (<)");
        Places entries;
        for (auto& entry : t) entries.add(&entry);
        entries.sort(
            [](const void* a, const void* b) -> bool { return static_cast<const Entry*>(a)->first < static_cast<const Entry*>(b)->first; });
        for (const void* entry : entries) f(*static_cast<Entry*>(const_cast<void*>(entry)));
    }
}

/// Calls f(child) for the children of an inner node, in order. With `Filter` (filter_jit and its family) what is no tree has none.
template <bool Filter = false, class T, class F>
void each_child(T& t, F&& f) {
    using U = std::remove_cv_t<T>;
    if constexpr (is_static<U>) {
    } else if constexpr (Registered<U>) {
        jaxscope_members(t, [&](auto&... m) { (f(m), ...); });
    } else if constexpr (Optional<U>) {
        if (t.has_value()) f(*t);
    } else if constexpr (Variant<U>) {
        visit([&](auto& v) { f(v); }, t);
    } else if constexpr (Map<U>) {
        each_entry(t, [&](auto& entry) { f(entry.second); });
    } else if constexpr (Sequence<U> || FixedArray<U> || std::is_array_v<U>) {
        for (auto& v : t) f(v);
    } else if constexpr (TupleLike<U>) {
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            using std::get;
            (f(get<I>(t)), ...);
        }
        (std::make_index_sequence<std::tuple_size<U>::value>());
    } else if constexpr (Aggregate<U>) {
        with_members(t, [&](auto&... m) { (f(m), ...); });
    } else {
        static_assert(Filter || !sizeof(T), JAXSCOPE_NO_PYTREE);
    }
}

}  // namespace detail

}  // namespace jaxscope::jax
