#pragma once
#include <cstdint>
#include <vector>

#include "ir/literal.h"

namespace jaxscope {

/// What rules compute with: a handle into the builder at hand. 4 bytes.
/// Known and Unknown are the two halves of a SplitBuilder; other builders have Known ones only.
class Value {
public:
    enum class Kind : std::uint8_t { Known, Unknown, Literal, Mark };
    Value() : Value(zero()) {}
    static Value known(std::uint32_t i) { return Value(Kind::Known, i); }
    static Value unknown(std::uint32_t i) { return Value(Kind::Unknown, i); }
    Value(LiteralRef l) : Value(Kind::Literal, l.id()) {}  // NOLINT(google-explicit-constructor)
    /// A symbolically zero tangent or cotangent: no array is made for it.
    static Value zero() { return Value(Kind::Mark, 0); }
    /// In transposition: the operand whose cotangent is asked for.
    static Value linear() { return Value(Kind::Mark, 1); }
    Kind kind() const { return static_cast<Kind>(raw_ >> 30); }
    std::uint32_t index() const { return raw_ & ((1u << 30) - 1); }
    bool is_zero() const { return raw_ == zero().raw_; }
    bool is_linear() const { return raw_ == linear().raw_; }
    bool is_literal() const { return kind() == Kind::Literal; }
    bool is_unknown() const { return kind() == Kind::Unknown; }
    LiteralRef literal() const { return LiteralRef::from_id(index()); }
    std::uint32_t raw() const { return raw_; }
    friend bool operator==(Value, Value) = default;

private:
    Value(Kind k, std::uint32_t i) : raw_((static_cast<std::uint32_t>(k) << 30) | i) {}
    std::uint32_t raw_;
};
using Values = std::vector<Value>;

}  // namespace jaxscope
