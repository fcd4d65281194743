// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "base/inline_vector.h"
#include "ir/types/literal.h"

namespace jaxscope {

/// What rules compute with: a handle into the builder at hand. 4 bytes.
class Value {
public:
    /// Known values (the variables of a JaxprBuilder) and Unknown ones are those of the two halves of a SplitBuilder; other builders have
    /// Known ones only. A Constant is known as well: an array that a builder met after its inputs. So is a HeldLiteral: it stands for a
    /// literal where JAX holds a value, each one another (`Builder::folded`).
    enum class Kind : std::uint8_t { Known, Unknown, Literal, Mark, Constant, HeldLiteral };
    Value() : Value(zero()) {}
    static Value known(std::uint32_t i) { return Value(Kind::Known, checked(i)); }
    static Value unknown(std::uint32_t i) { return Value(Kind::Unknown, checked(i)); }
    static Value constant(std::uint32_t i) { return Value(Kind::Constant, checked(i)); }
    static Value held_literal(std::uint32_t i) { return Value(Kind::HeldLiteral, checked(i)); }
    Value(LiteralRef l) : Value(Kind::Literal, checked(l.id())) {}  // NOLINT(google-explicit-constructor)
    /// A symbolically zero tangent or cotangent: no array is made for it.
    static Value zero() { return Value(Kind::Mark, 0); }
    /// In transposition: the operand whose cotangent is asked for.
    static Value linear() { return Value(Kind::Mark, 1); }
    Kind kind() const { return static_cast<Kind>(raw_ >> kIndexBits); }
    std::uint32_t index() const { return raw_ & kMaxIndex; }
    bool is_zero() const { return raw_ == zero().raw_; }
    bool is_linear() const { return raw_ == linear().raw_; }
    bool is_literal() const { return kind() == Kind::Literal; }
    bool is_unknown() const { return kind() == Kind::Unknown; }
    LiteralRef literal() const { return LiteralRef::from_id(index()); }
    std::uint32_t raw() const { return raw_; }
    friend bool operator==(Value, Value) = default;

private:
    static constexpr unsigned kIndexBits = 29;
    static constexpr std::uint32_t kMaxIndex = (1u << kIndexBits) - 1;
    static std::uint32_t checked(std::uint32_t i) {
        if (i > kMaxIndex) [[unlikely]]
            too_many();
        return i;
    }
    /// Throws Error{LimitExceeded}.
    [[noreturn]] static void too_many();
    Value(Kind k, std::uint32_t i) : raw_((static_cast<std::uint32_t>(k) << kIndexBits) | i) {}
    std::uint32_t raw_;
};
using Values = InlineVector<Value, 4>;

namespace detail {
template <class T>
struct ListOf {
    using type = std::vector<T>;
};
template <>
struct ListOf<Value> {
    using type = Values;
};
}  // namespace detail
/// How rules take several of them: Values, else a std::vector.
template <class T>
using ListOf = typename detail::ListOf<T>::type;

}  // namespace jaxscope
