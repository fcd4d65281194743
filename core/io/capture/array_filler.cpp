// SPDX-License-Identifier: Apache-2.0
#include "io/capture/array_filler.h"

#include "io/capture/tables.h"
#include "ir/types/element.h"

namespace jaxscope {

ArrayFiller::ArrayFiller(AvalRef aval) : unit_(aval->dtype), dims_(aval->shape) {
    if (is_complex(unit_)) {
        unit_ = unit_ == DType::C64 ? DType::F32 : DType::F64;
        dims_.push_back(2);
    } else if (is_key(unit_)) {
        dims_.push_back(byte_size(unit_) / 4);
        unit_ = DType::U32;
    }
}

std::string ArrayFiller::count_one() {
    if (counts_.empty()) return {};
    if (++counts_.back() > dims_[counts_.size() - 1]) return "a list of " + std::to_string(dims_[counts_.size() - 1]);
    return {};
}

std::string ArrayFiller::open_list() {
    if (counts_.size() == dims_.size()) return "a number";
    if (std::string wrong = count_one(); !wrong.empty()) return wrong;
    counts_.push_back(0);
    return {};
}

std::string ArrayFiller::close_list() {
    const std::int64_t found = counts_.back();
    counts_.pop_back();
    const std::int64_t wanted = dims_[counts_.size()];
    return found == wanted ? std::string() : "a list of " + std::to_string(wanted) + ", not " + std::to_string(found);
}

std::string ArrayFiller::number(const JsonValue& v) {
    if (counts_.size() != dims_.size()) return "a list of " + std::to_string(dims_[counts_.size()]);
    if (std::string wrong = count_one(); !wrong.empty()) return wrong;
    const std::size_t n = data_.size();
    data_.resize(n + static_cast<std::size_t>(byte_size(unit_)));
    store_element(unit_, data_.data() + n, element_from_json(v, unit_));
    return {};
}

}  // namespace jaxscope
