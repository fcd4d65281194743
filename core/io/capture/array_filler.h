// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "ir/types/attr.h"

namespace jaxscope {

class JsonValue;

/// Fills an array from nested lists as they come by, checking them against its shape: memory grows with what is there, not with
/// what the shape promises. Complex numbers are [re, im], keys lists of their words, both one more dimension here.
class ArrayFiller {
public:
    explicit ArrayFiller(AvalRef aval);
    /// Empty, or what was expected instead.
    std::string open_list();
    std::string close_list();
    std::string number(const JsonValue& v);  ///< fails by itself where `v` is no element
    const std::vector<std::byte>& made() const { return data_; }

private:
    DType unit_;
    std::vector<std::int64_t> dims_, counts_;
    std::vector<std::byte> data_;
    std::string count_one();
};

}  // namespace jaxscope
