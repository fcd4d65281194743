// SPDX-License-Identifier: Apache-2.0
#pragma once
// What arrays are described by: places in the user's program, element types, shapes. Includes nothing of arrays.
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

namespace jaxscope::jax {

/// A place in the user's program, taken where an argument of this type is left out.
struct Where {
    const char* file;
    int line;
    const char* function;
    struct Here {};
    constexpr Where(Here = {}, const char* f = __builtin_FILE(), int l = __builtin_LINE(), const char* fn = __builtin_FUNCTION())  // NOLINT
        : file(f), line(l), function(fn) {}
    constexpr Where(const char* f, int l, const char* fn) : file(f), line(l), function(fn) {}
};
/// Scopes in the name stack of what is traced while it lives: `jax::named_scope scope("mlp");`
class named_scope {
public:
    explicit named_scope(const char* name);
    ~named_scope();
    named_scope(const named_scope&) = delete;
    named_scope& operator=(const named_scope&) = delete;
};
/// An option that true or false sets, and no number: `{0, 1}` is no axis with a flag behind it.
class Flag {
public:
    template <class T>
    requires std::is_same_v<T, bool>
    constexpr Flag(T v) : set_(v) {}                  // NOLINT(google-explicit-constructor)
    constexpr operator bool() const { return set_; }  // NOLINT(google-explicit-constructor)

private:
    bool set_;
};
namespace detail {
/// In a struct of options: no value without a name goes further than this.
struct ByName {};
/// A member of options under a name that people reach for in place of its own: given at all, it doesn't compile. However many of them a
/// call gives, numbers, text or lists of these, one function refuses them, so that it is said once.
class NoSuchOption {
public:
    constexpr NoSuchOption() = default;
    template <class Once = void*>
    constexpr NoSuchOption(...) {  // NOLINT(google-explicit-constructor)
        static_assert(!sizeof(Once),
                      "no option has this name; there are donate_argnums, donate_argnames, static_argnums, static_argnames, "
                      "arg_names, in_axes, out_axes, axis, keepdims");
    }
    template <class T>
    requires std::is_class_v<T>
    constexpr NoSuchOption(const T&) : NoSuchOption(static_cast<const T*>(nullptr)) {}  // NOLINT(google-explicit-constructor)
};
template <class T>
inline constexpr bool is_characters = std::is_same_v<std::decay_t<T>, const char*> || std::is_same_v<std::decay_t<T>, char*>;
/// What is given for numbers by mistake.
template <class T>
concept TextLike = is_characters<T> || requires(const T& t) {
    t.c_str();
};
}  // namespace detail

/// Element types, by JAX's names (`numpy.h` has them as `jnp::float32`).
enum class dtype : unsigned char {
    bool_,
    int2,
    int4,
    int8,
    int16,
    int32,
    int64,
    uint2,
    uint4,
    uint8,
    uint16,
    uint32,
    uint64,
    float4_e2m1fn,
    float8_e3m4,
    float8_e4m3,
    float8_e4m3b11fnuz,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
    float8_e8m0fnu,
    bfloat16,
    float16,
    float32,
    float64,
    complex64,
    complex128,
    float0,
    key_fry,
    key_rbg,
    key_unsafe_rbg,
};

/// Sizes of dimensions, axes, permutations: `{2, 3}`, a number, or a vector.
class Shape {
public:
    Shape() = default;
    Shape(const Shape&);
    Shape(Shape&&) noexcept;
    Shape& operator=(const Shape&);
    Shape& operator=(Shape&&) noexcept;
    ~Shape();
    template <class T>
    requires std::is_integral_v<T> Shape(T n) : Shape(std::initializer_list<std::int64_t>{static_cast<std::int64_t>(n)}) {}  // NOLINT
    Shape(std::initializer_list<std::int64_t> sizes);
    Shape(std::vector<std::int64_t> sizes);  // NOLINT(google-explicit-constructor)
    /// Whole numbers in a row: `std::vector<int>{2, 3}`.
    template <class R>
    requires requires(const R& r) {
        requires std::is_integral_v<std::remove_cvref_t<decltype(*r.data())>>;
        requires sizeof(*r.data()) > 1;  // no text
    }
    Shape(const R& sizes) : sizes_(sizes.begin(), sizes.end()) {}  // NOLINT(google-explicit-constructor)
    /// None: said here in one sentence.
    template <class T>
    requires(detail::TextLike<T> || std::is_floating_point_v<T>) Shape(const T&) {  // NOLINT(google-explicit-constructor)
        static_assert(!sizeof(T), "sizes and axes are whole numbers: 3, or {2, 3}");
    }
    std::size_t size() const { return sizes_.size(); }
    std::int64_t operator[](std::size_t i) const { return sizes_[i]; }
    const std::int64_t* begin() const { return sizes_.data(); }
    const std::int64_t* end() const { return sizes_.data() + sizes_.size(); }
    const std::vector<std::int64_t>& vector() const { return sizes_; }
    std::string str() const;  ///< "(2, 3)"
    friend bool operator==(const Shape& a, const Shape& b);

private:
    std::vector<std::int64_t> sizes_;
};

}  // namespace jaxscope::jax
