// SPDX-License-Identifier: Apache-2.0
#pragma once
// How options say which arguments are meant: by number, by name. What options hold is made and dropped in core, so that a program doesn't
// compile it for each of them.
#include <jaxscope/elements.h>

namespace jaxscope::jax {

/// Arguments by number: one, or several.
class Argnums : public std::vector<int> {
public:
    using std::vector<int>::vector;
    Argnums() = default;
    Argnums(const Argnums&);
    Argnums(Argnums&&) noexcept;
    Argnums& operator=(const Argnums&);
    Argnums& operator=(Argnums&&) noexcept;
    ~Argnums();
    Argnums(std::initializer_list<int> list);
    Argnums(std::vector<int> list);  // NOLINT(google-explicit-constructor)
    template <class T>
    requires std::is_same_v<T, int> Argnums(T n) : Argnums(std::initializer_list<int>{n}) {}  // NOLINT(google-explicit-constructor)
    template <detail::TextLike T>
    Argnums(const T&) {  // NOLINT(google-explicit-constructor)
        static_assert(!sizeof(T), "argument numbers are integers: 0, or {0, 2}; names are argnames");
    }
};
/// Arguments by name: one, or several.
class Argnames : public std::vector<std::string> {
public:
    using std::vector<std::string>::vector;
    Argnames() = default;
    Argnames(const Argnames&);
    Argnames(Argnames&&) noexcept;
    Argnames& operator=(const Argnames&);
    Argnames& operator=(Argnames&&) noexcept;
    ~Argnames();
    Argnames(std::initializer_list<std::string> list);
    Argnames(std::vector<std::string> list);  // NOLINT(google-explicit-constructor)
    template <detail::TextLike T>
    Argnames(const T& name) : Argnames(std::initializer_list<std::string>{std::string(name)}) {}  // NOLINT(google-explicit-constructor)
    template <class T>
    requires std::is_arithmetic_v<T> Argnames(T) {  // NOLINT(google-explicit-constructor)
        static_assert(!sizeof(T), "argument names are text: \"x\", or {\"x\", \"y\"}; numbers are argnums");
    }
};

}  // namespace jaxscope::jax
