// SPDX-License-Identifier: Apache-2.0
#include "ir/types/literal_array.h"

#include "ir/types/element.h"

namespace jaxscope {

ArrayPtr array_of(LiteralRef literal) {
    auto a = std::make_shared<ArrayConst>();
    a->aval = literal->aval;
    a->data.resize(static_cast<std::size_t>(literal->aval->bytes()));
    if (!a->data.empty()) store_element(literal->aval->dtype, a->data.data(), Element{literal->integer, {literal->real, literal->imag}});
    return a;
}

}  // namespace jaxscope
