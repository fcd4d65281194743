// SPDX-License-Identifier: Apache-2.0
// Arrays in files: what jax.numpy.load and save do.
#include "api/file_bytes.h"
#include "base/atomic_file.h"
#include "base/error.h"
#include "io/arrays/npz.h"
#include "ir/types/element.h"
#include "trace/functions.h"
#include "trace/node.h"

namespace jaxscope::jax::numpy {

namespace {

using D = ::jaxscope::DType;

D without_x64(D type) {
    switch (type) {
        case D::F64:
            return D::F32;
        case D::C128:
            return D::C64;
        case D::S64:
            return D::S32;
        case D::U64:
            return D::U32;
        default:
            return type;
    }
}

ArrayPtr narrowed(const ArrayPtr& a) {
    const D from = a->aval->dtype, to = without_x64(from);
    if (from == to) return a;
    auto out = std::make_shared<ArrayConst>();
    out->aval = AvalRef(to, a->aval->shape);
    out->data.resize(static_cast<std::size_t>(out->aval->bytes()));
    for (std::int64_t i = 0; i < a->aval->size(); ++i)
        store_element(to, out->data.data() + i * byte_size(to), load_element(from, a->data.data() + i * byte_size(from)));
    return out;
}

}  // namespace

Array load(const std::string& path, Where where) {
    return detail::at_place(where,
                            [&] { return detail::concrete(narrowed(parse_npy(detail::file_bytes(path, "a file of NumPy's"), path))); });
}

void save(const std::string& path, const Array& a, Where where) {
    const ArrayPtr elements = detail::at_place(where, [&] {
        if (!a.has_value()) detail::refuse_none();
        return detail::elements(*a.node());
    });
    AtomicFile file(path.ends_with(".npy") ? path : path + ".npy");
    file.stream() << npy_bytes(*elements);
    file.commit();
}

}  // namespace jaxscope::jax::numpy
