// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace jaxscope {

/// An interned string: 4 bytes, compared by number. Interned strings live as long as the process. Thread-safe.
/// `Sym{}` is the empty string.
class Sym {
public:
    constexpr Sym() = default;
    Sym(std::string_view text);  // NOLINT(google-explicit-constructor): a Sym is a string to its users
    Sym(const char* text) : Sym(std::string_view(text)) {}
    Sym(const std::string& text) : Sym(std::string_view(text)) {}
    const std::string& str() const;
    const char* c_str() const { return str().c_str(); }
    bool empty() const { return id_ == 0; }
    std::uint32_t id() const { return id_; }
    friend bool operator==(Sym a, Sym b) { return a.id_ == b.id_; }
    /// By number, not alphabetical: for maps. Sort by `str()` where people see the order.
    friend auto operator<=>(Sym a, Sym b) { return a.id_ <=> b.id_; }

private:
    std::uint32_t id_ = 0;
};

}  // namespace jaxscope

template <>
struct std::hash<jaxscope::Sym> {
    std::size_t operator()(jaxscope::Sym s) const noexcept { return s.id() * 0x9E3779B97F4A7C15ull; }
};
