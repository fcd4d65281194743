// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <complex>
#include <cstddef>
#include <type_traits>

#include "ir/types/element.h"
#include "jit/kernels/stored_types.h"

// Lines of numbers between the type that they are stored in and the one that they are computed in.
namespace jaxscope::exec {

template <class T>
T to_number(const Element& e, DType d) {
    if constexpr (std::is_unsigned_v<T>)
        return is_inexact(d) ? static_cast<T>(e.number.real()) : static_cast<T>(e.integer);
    else if constexpr (std::is_floating_point_v<T>)
        return static_cast<T>(is_inexact(d) ? e.number.real() : static_cast<double>(e.integer));
    else
        return is_inexact(d) ? T(static_cast<typename T::value_type>(e.number.real()), static_cast<typename T::value_type>(e.number.imag()))
                             : T(static_cast<typename T::value_type>(e.integer));
}
template <class T>
Element to_element(T v, DType d) {
    if constexpr (std::is_floating_point_v<T>)
        if (!is_inexact(d)) return {static_cast<std::int64_t>(v), {}};
    if constexpr (std::is_unsigned_v<T>)
        return {static_cast<std::int64_t>(v), {}};
    else if constexpr (std::is_floating_point_v<T>)
        return {0, {static_cast<double>(v), 0}};
    else
        return {0, {v.real(), v.imag()}};
}

/// fn(a number of the type) for the integers of whole bytes that are narrower than what they are computed in; false: another type.
template <class Fn>
bool with_narrow_integer(DType d, const Fn& fn) {
    bool found = false;
    with_stored_type(d, [&]<class S>(S number) {
        if constexpr (std::is_integral_v<S> && sizeof(S) < 4) fn(number), found = true;
    });
    return found;
}

/// `n` numbers that lie `step` elements apart become numbers side by side.
template <class T>
void widen_line(const std::byte* from, DType d, std::int64_t n, std::int64_t step, T* to) {
    if constexpr (std::is_same_v<T, float>)
        if (step == 1) {
            if (d == DType::BF16) return widen_bf16(reinterpret_cast<const std::uint16_t*>(from), n, to);
            if (d == DType::F16) return widen_f16(reinterpret_cast<const std::uint16_t*>(from), n, to);
        }
    if constexpr (std::is_unsigned_v<T> || std::is_floating_point_v<T>) {
        const auto typed = [&]<class S>(S) {
            const S* p = reinterpret_cast<const S*>(from);
            if (step == 1) return static_cast<void>(std::copy_n(p, n, to));
            for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(p[i * step]);
        };
        if (with_narrow_integer(d, typed)) return;
    }
    for (std::int64_t i = 0; i < n; ++i) to[i] = to_number<T>(load_element(d, from + i * step * byte_size(d)), d);
}
/// And back.
template <class T>
void narrow_line(const T* from, DType d, std::int64_t n, std::int64_t step, std::byte* to) {
    if constexpr (std::is_same_v<T, float>)
        if (step == 1) {
            if (d == DType::BF16) return narrow_bf16(from, n, reinterpret_cast<std::uint16_t*>(to));
            if (d == DType::F16) return narrow_f16(from, n, reinterpret_cast<std::uint16_t*>(to));
        }
    if constexpr (std::is_unsigned_v<T>) {
        const auto typed = [&]<class S>(S) {
            S* p = reinterpret_cast<S*>(to);
            for (std::int64_t i = 0; i < n; ++i) p[i * step] = static_cast<S>(from[i]);
        };
        if (with_narrow_integer(d, typed)) return;
    }
    for (std::int64_t i = 0; i < n; ++i) store_element(d, to + i * step * byte_size(d), to_element(from[i], d));
}

}  // namespace jaxscope::exec
