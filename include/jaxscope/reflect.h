// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reflection of aggregates: how many members, references to them, their names. What pytree.h flattens structs by.
#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <jaxscope/array.h>

namespace jaxscope::jax::detail {

// ---- Reflection of aggregates: number of members, references to them, their names.

/// Characters and their number: names of types and members.
struct Name {
    const char* text;
    std::size_t size;
};

struct AnyMember {
    template <class T>
    requires(!std::is_lvalue_reference_v<T>) operator T() const;  // NOLINT(google-explicit-constructor)
};
template <class T, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
    return requires { T{((void)I, AnyMember{})...}; };
}
inline constexpr std::size_t kMostMembers = 40;
/// How many initializers it takes: each element of an array of C is one.
template <class T, std::size_t N>
constexpr std::size_t fewer_initializers() {
    if constexpr (N == 0)
        return 0;
    else if constexpr (takes<T>(std::make_index_sequence<N>()))
        return N;
    else
        return fewer_initializers<T, N - 1>();
}
template <class T, std::size_t N = 0>
constexpr std::size_t initializer_count() {
    if constexpr (N == 0 && !takes<T>(std::make_index_sequence<0>()))
        return fewer_initializers<T, kMostMembers>();  // a member that can't be made of nothing
    else if constexpr (N < kMostMembers && takes<T>(std::make_index_sequence<N + 1>()))
        return initializer_count<T, N + 1>();
    else
        return N;
}
template <class T, std::size_t... I, std::size_t... J>
constexpr bool takes_empty(std::index_sequence<I...>, std::index_sequence<J...>) {
    return requires { T{((void)I, AnyMember{})..., {}, ((void)J, AnyMember{})...}; };
}
/// Members from the one that initializer `At` belongs to: `{}` stands for a whole array, so the fewer may follow it, the longer it is.
template <class T, std::size_t Total, std::size_t At, std::size_t Length = 1>
constexpr std::size_t members_from() {
    if constexpr (At >= Total)
        return 0;
    else if constexpr (At + Length > Total)
        return 1 + members_from<T, Total, At + 1>();  // can't be made of nothing: no array
    else if constexpr (takes_empty<T>(std::make_index_sequence<At>(), std::make_index_sequence<Total - At - Length>()))
        return 1 + members_from<T, Total, At + Length>();
    else
        return members_from<T, Total, At, Length + 1>();
}
template <class T>
constexpr std::size_t member_count() {
    return members_from<T, initializer_count<T>(), 0>();
}
/// Calls f(member...) with references.
template <class T, class F>
constexpr decltype(auto) with_members(T& t, F&& f) {
    constexpr std::size_t n = member_count<std::remove_cv_t<T>>();
    static_assert(n > 0 || std::is_empty_v<std::remove_cv_t<T>>, "T is no pytree: it holds references or more than 40 members");
    if constexpr (n == 0) {
        return f();
    } else if constexpr (n == 1) {
        auto& [m0] = t;
        return f(m0);
    } else if constexpr (n == 2) {
        auto& [m0, m1] = t;
        return f(m0, m1);
    } else if constexpr (n == 3) {
        auto& [m0, m1, m2] = t;
        return f(m0, m1, m2);
    } else if constexpr (n == 4) {
        auto& [m0, m1, m2, m3] = t;
        return f(m0, m1, m2, m3);
    } else if constexpr (n == 5) {
        auto& [m0, m1, m2, m3, m4] = t;
        return f(m0, m1, m2, m3, m4);
    } else if constexpr (n == 6) {
        auto& [m0, m1, m2, m3, m4, m5] = t;
        return f(m0, m1, m2, m3, m4, m5);
    } else if constexpr (n == 7) {
        auto& [m0, m1, m2, m3, m4, m5, m6] = t;
        return f(m0, m1, m2, m3, m4, m5, m6);
    } else if constexpr (n == 8) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7] = t;
        return f(m0, m1, m2, m3, m4, m5, m6, m7);
    } else if constexpr (n == 9) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8] = t;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8);
    } else if constexpr (n == 10) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9] = t;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9);
    } else if constexpr (n == 11) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10] = t;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10);
    } else if constexpr (n == 12) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11] = t;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11);
    } else if constexpr (n == 13) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12] = t;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12);
    } else if constexpr (n == 14) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13] = t;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13);
    } else if constexpr (n == 15) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14] = t;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14);
    } else if constexpr (n == 16) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15] = t;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15);
    } else if constexpr (n == 17) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16] = t;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16);
    } else if constexpr (n == 18) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17] = t;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17);
    } else if constexpr (n == 19) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18] = t;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18);
    } else if constexpr (n == 20) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19] = t;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19);
    } else if constexpr (n == 21) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20] = t;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20);
    } else if constexpr (n == 22) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21] = t;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21);
    } else if constexpr (n == 23) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22] = t;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22);
    } else if constexpr (n == 24) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23] = t;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23);
    } else if constexpr (n == 25) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24] = t;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24);
    } else if constexpr (n == 26) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25] = t;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25);
    } else if constexpr (n == 27) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25,
               m26] = t;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25,
                 m26);
    } else if constexpr (n == 28) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26,
               m27] = t;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25,
                 m26, m27);
    } else if constexpr (n == 29) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26,
               m27, m28] = t;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25,
                 m26, m27, m28);
    } else if constexpr (n == 30) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26,
               m27, m28, m29] = t;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25,
                 m26, m27, m28, m29);
    } else if constexpr (n == 31) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26,
               m27, m28, m29, m30] = t;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25,
                 m26, m27, m28, m29, m30);
    } else if constexpr (n == 32) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26,
               m27, m28, m29, m30, m31] = t;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25,
                 m26, m27, m28, m29, m30, m31);
    } else if constexpr (n == 33) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26,
               m27, m28, m29, m30, m31, m32] = t;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25,
                 m26, m27, m28, m29, m30, m31, m32);
    } else if constexpr (n == 34) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26,
               m27, m28, m29, m30, m31, m32, m33] = t;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25,
                 m26, m27, m28, m29, m30, m31, m32, m33);
    } else if constexpr (n == 35) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26,
               m27, m28, m29, m30, m31, m32, m33, m34] = t;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25,
                 m26, m27, m28, m29, m30, m31, m32, m33, m34);
    } else if constexpr (n == 36) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26,
               m27, m28, m29, m30, m31, m32, m33, m34, m35] = t;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25,
                 m26, m27, m28, m29, m30, m31, m32, m33, m34, m35);
    } else if constexpr (n == 37) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26,
               m27, m28, m29, m30, m31, m32, m33, m34, m35, m36] = t;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25,
                 m26, m27, m28, m29, m30, m31, m32, m33, m34, m35, m36);
    } else if constexpr (n == 38) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26,
               m27, m28, m29, m30, m31, m32, m33, m34, m35, m36, m37] = t;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25,
                 m26, m27, m28, m29, m30, m31, m32, m33, m34, m35, m36, m37);
    } else if constexpr (n == 39) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26,
               m27, m28, m29, m30, m31, m32, m33, m34, m35, m36, m37, m38] = t;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25,
                 m26, m27, m28, m29, m30, m31, m32, m33, m34, m35, m36, m37, m38);
    } else if constexpr (n == 40) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26,
               m27, m28, m29, m30, m31, m32, m33, m34, m35, m36, m37, m38, m39] = t;
        return f(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25,
                 m26, m27, m28, m29, m30, m31, m32, m33, m34, m35, m36, m37, m38, m39);
    }
}

template <class T>
struct Imagined {
    T value;
    constexpr Imagined() = delete;
};
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-internal"
#pragma clang diagnostic ignored "-Wundefined-var-template"
#endif
template <class T>
union Unmade {
    char nothing;
    T value;
    constexpr Unmade() : nothing{} {}
    ~Unmade() {}
};
template <class T>
extern Unmade<T> unmade;
template <class P>
struct Pointed {
    P pointer;
};
template <class P>
Pointed(P) -> Pointed<P>;
/// "w" of `... [Member = Pointed<...>{&unmade.value.w}]`: what stands behind the last dot or colon.
template <Pointed Member>
constexpr Name member_name() {
    const char* text = __PRETTY_FUNCTION__;
    std::size_t end = sizeof(__PRETTY_FUNCTION__) - 1;
    const auto letter = [](char c) { return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    while (end > 0 && !letter(text[end - 1])) --end;
    std::size_t begin = end;
    while (begin > 0 && letter(text[begin - 1])) --begin;
    return {text + begin, end - begin};
}
template <class T, std::size_t I>
constexpr auto* member_pointer() {
    return with_members(unmade<T>.value, [](auto&... m) { return std::get<I>(std::tuple<decltype(&m)...>(&m...)); });
}
template <class T, class I>
struct MemberNames;
template <class T, std::size_t... I>
struct MemberNames<T, std::index_sequence<I...>> {
    Name names[sizeof...(I) + 1] = {member_name<Pointed{member_pointer<T, I>()}>()..., {}};
};
template <class T>
inline constexpr MemberNames<T, std::make_index_sequence<member_count<T>()>> member_names{};
#if defined(__clang__)
#pragma clang diagnostic pop
#endif
/// A type's name without its namespaces; that of a template as it is written.
template <class T>
constexpr Name find_type_name() {
    const char* text = __PRETTY_FUNCTION__;
    std::size_t from = 0;
    while (text[from] != 'T' || text[from + 1] != ' ' || text[from + 2] != '=') ++from;
    from += 4;
    std::size_t to = from, colon = 0;
    bool plain = true;
    for (; text[to] && text[to] != ';' && text[to] != ']'; ++to) {
        if (text[to] == ':') colon = to + 1;
        plain = plain && text[to] != '<';
    }
    if (plain && colon) from = colon;
    return {text + from, to - from};
}
template <class T>
inline constexpr Name type_name = find_type_name<T>();

}  // namespace jaxscope::jax::detail
