// SPDX-License-Identifier: Apache-2.0
// How arrays print: as NumPy's and JAX's do.
#include <fmt/core.h>

#include "ir/types/element.h"
#include "trace/array_layout.h"
#include "trace/functions.h"
#include "trace/node.h"

namespace jaxscope::jax {

namespace {

using D = ::jaxscope::DType;
constexpr std::size_t kLineWidth = 75;

/// The numbers that keys are made of.
Array words_of(const ArrayConst& keys) {
    auto words = std::make_shared<ArrayConst>(keys);
    ::jaxscope::Dims shape = keys.aval->shape;
    shape.push_back(byte_size(keys.aval->dtype) / 4);
    words->aval = AvalRef(D::U32, shape);
    return detail::concrete(std::move(words));
}

std::string layout(const Array& a, const std::string& separator, std::size_t prefix) {
    return detail::array_layout(*detail::elements(*a.node()), separator, prefix, prefix ? 1 : 0);
}

}  // namespace

std::string Array::str(Where where) const {
    if (!has_value() || node_->deleted()) detail::at_place(where, [&] { node_ ? detail::refuse_deleted(*node_) : detail::refuse_none(); });
    if (is_tracer() && node_->trace == detail::Node::kAbstract)
        return "ShapeDtypeStruct(shape=" + shape().str() + ", dtype=" + info(static_cast<D>(dtype())).name +
               (weak_type() ? ", weak_type=True)" : ")");
    if (is_tracer()) return "JitTracer(" + aval() + ")";
    if (is_key(static_cast<D>(dtype())))
        return "Array(" + shape().str() + ", dtype=" + info(static_cast<D>(dtype())).name + ") overlaying:\n" +
               words_of(*detail::elements(*node_)).str();
    if (ndim() == 0) return detail::scalar_text(*detail::elements(*node_));
    return layout(*this, " ", 0);
}
std::string Array::repr(Where where) const {
    if (!has_value() || node_->deleted() || is_tracer() || is_key(static_cast<D>(dtype()))) return str(where);
    const std::string prefix = "Array(";
    const std::string type = std::string("dtype=") + info(static_cast<D>(dtype())).name + (weak_type() ? ", weak_type=True" : "");
    const std::string text = size() == 0 ? (detail::elements(*node_), "[], shape=" + shape().str()) : layout(*this, ", ", prefix.size());
    const std::size_t begin = text.rfind('\n');
    const std::size_t last_line = text.size() - (begin == std::string::npos ? -1 : begin) + 1;
    const bool far = last_line + type.size() + 2 > kLineWidth;
    return prefix + text + "," + (far ? std::string(prefix.size(), ' ') : " ") + type + ")";
}

}  // namespace jaxscope::jax
