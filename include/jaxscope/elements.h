// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which C++ types are numbers, which are numbers in a row, and what elements arrays of them have.
#include <jaxscope/shape.h>

namespace jaxscope::jax::detail {

template <class T>
concept Number = std::is_arithmetic_v<T>;
/// std::complex of float or double, whose header isn't included for it.
template <class T>
concept Complex = requires(const T& c) {
    requires std::is_floating_point_v<typename T::value_type>;
    requires sizeof(T) == 2 * sizeof(typename T::value_type);
    c.real();
    c.imag();
};
template <class T>
concept AnyNumber = Number<T> || Complex<T>;
/// A span, a std::array, a vector: numbers in a row.
template <class R>
concept NumberRange = requires(const R& r) {
    r.size();
    requires Number<std::remove_cvref_t<decltype(*r.data())>>;
    requires !std::is_same_v<std::remove_cvref_t<decltype(*r.data())>, char>;  // text
};
/// What is given for an array by mistake: text, or values in a row.
template <class T>
concept NoArray = !std::is_arithmetic_v<T> && requires(const T& v) {
    v.begin();
    v.size();
    v.data();
};
/// How numbers of a C++ type are called.
template <Number T>
constexpr dtype dtype_of() {
    static_assert(sizeof(T) <= 8, "no array has numbers of more than 64 bits");
    constexpr int size = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    constexpr dtype whole[] = {dtype::int8, dtype::int16, dtype::int32, dtype::int64};
    constexpr dtype positive[] = {dtype::uint8, dtype::uint16, dtype::uint32, dtype::uint64};
    if constexpr (std::is_same_v<T, bool>)
        return dtype::bool_;
    else if constexpr (std::is_floating_point_v<T>)
        return sizeof(T) == 4 ? dtype::float32 : dtype::float64;
    else
        return std::is_signed_v<T> ? whole[size] : positive[size];
}

}  // namespace jaxscope::jax::detail
