// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace jaxscope {

/// A primitive's name in JAX 0.10.2, for texts. It has no comparisons on purpose: code that wants to know which primitive it has compares
/// pointers, and code that wants to know something of it asks a trait (primitive.h).
class PrimitiveName {
public:
    constexpr PrimitiveName() = default;
    constexpr PrimitiveName(const char* text) : text_(text) {}  // NOLINT(google-explicit-constructor)
    /// For printer, readers and reports alone: tests/ir/primitive_names_test.cpp holds the list of files.
    constexpr const char* c_str() const { return text_; }
    // Messages are put together with these.
    friend std::string operator+(std::string s, PrimitiveName n) { return std::move(s) + n.text_; }
    friend std::string operator+(const char* s, PrimitiveName n) { return std::string(s) + n.text_; }
    friend std::string operator+(PrimitiveName n, const std::string& s) { return n.text_ + s; }
    friend std::string operator+(PrimitiveName n, const char* s) { return std::string(n.text_) + s; }

private:
    const char* text_ = "";
};

}  // namespace jaxscope
