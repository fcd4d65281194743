// SPDX-License-Identifier: Apache-2.0
// Python's named tuples, enums and nested tuples on one side, plain structs on the other.
#include <fmt/format.h>

#include <algorithm>

#include "ir/print/attr_text.h"
#include "lax/params/linalg.h"
#include "lax/params/placement.h"
#include "lax/params/products.h"
#include "lax/params/shapes.h"
#include "lax/params/slicing.h"

namespace jaxscope {
namespace {

using NamedDims = std::pair<const char*, const Dims*>;

Attr make_record(const char* type, std::initializer_list<NamedDims> fields) {
    Attr::Record record{.type = type, .fields = {}, .text = {}};
    std::string text;
    for (const auto& [name, dims] : fields) {
        record.fields.emplace_back(name, to_attr(*dims));
        text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, repr_text(to_attr(*dims)));
    }
    record.text = fmt::format("{}({})", type, text);
    return Attr(std::make_shared<const Attr::Record>(std::move(record)));
}

/// Fields absent in captures of older versions (batching dimensions came with 0.4.31) stay empty.
void read_record(const Attr& a, std::initializer_list<std::pair<const char*, Dims*>> fields) {
    const Attr::Record* record = a.get_record();
    if (!record) wrong_attr(a, "dimension numbers");
    for (const auto& [name, dims] : fields) {
        dims->clear();
        for (const auto& [key, value] : record->fields)
            if (key == Sym(name)) from_attr(value, *dims);
    }
}

const Attrs& pair_items(const Attr& a) {
    const Attr::Seq* seq = a.get_seq();
    if (!seq || seq->items.size() != 2) wrong_attr(a, "a pair");
    return seq->items;
}

}  // namespace

Attr to_attr(const GatherDims& v) {
    return make_record("GatherDimensionNumbers", {{"offset_dims", &v.offset_dims},
                                                  {"collapsed_slice_dims", &v.collapsed_slice_dims},
                                                  {"start_index_map", &v.start_index_map},
                                                  {"operand_batching_dims", &v.operand_batching_dims},
                                                  {"start_indices_batching_dims", &v.start_indices_batching_dims}});
}

void from_attr(const Attr& a, GatherDims& v) {
    read_record(a, {{"offset_dims", &v.offset_dims},
                    {"collapsed_slice_dims", &v.collapsed_slice_dims},
                    {"start_index_map", &v.start_index_map},
                    {"operand_batching_dims", &v.operand_batching_dims},
                    {"start_indices_batching_dims", &v.start_indices_batching_dims}});
}

Attr to_attr(const ScatterDims& v) {
    return make_record("ScatterDimensionNumbers", {{"update_window_dims", &v.update_window_dims},
                                                   {"inserted_window_dims", &v.inserted_window_dims},
                                                   {"scatter_dims_to_operand_dims", &v.scatter_dims_to_operand_dims},
                                                   {"operand_batching_dims", &v.operand_batching_dims},
                                                   {"scatter_indices_batching_dims", &v.scatter_indices_batching_dims}});
}

void from_attr(const Attr& a, ScatterDims& v) {
    read_record(a, {{"update_window_dims", &v.update_window_dims},
                    {"inserted_window_dims", &v.inserted_window_dims},
                    {"scatter_dims_to_operand_dims", &v.scatter_dims_to_operand_dims},
                    {"operand_batching_dims", &v.operand_batching_dims},
                    {"scatter_indices_batching_dims", &v.scatter_indices_batching_dims}});
}

Attr to_attr(OutOfBounds mode) {
    const char* member = mode == OutOfBounds::Clip ? "CLIP" : mode == OutOfBounds::FillOrDrop ? "FILL_OR_DROP" : "PROMISE_IN_BOUNDS";
    return Attr(Attr::Enum{"GatherScatterMode", member});
}

void from_attr(const Attr& a, OutOfBounds& mode) {
    Sym member;
    from_attr(a, member);
    if (member == Sym("CLIP"))
        mode = OutOfBounds::Clip;
    else if (member == Sym("FILL_OR_DROP"))
        mode = OutOfBounds::FillOrDrop;
    else if (member == Sym("PROMISE_IN_BOUNDS"))
        mode = OutOfBounds::PromiseInBounds;
    else
        wrong_attr(a, "CLIP, FILL_OR_DROP or PROMISE_IN_BOUNDS");
}

Attr to_attr(const DotDims& v) {
    return Attr::tuple(
        {Attr::tuple({to_attr(v.lhs_contract), to_attr(v.rhs_contract)}), Attr::tuple({to_attr(v.lhs_batch), to_attr(v.rhs_batch)})});
}

void from_attr(const Attr& a, DotDims& v) {
    const Attrs& parts = pair_items(a);
    const Attrs& contract = pair_items(parts[0]);
    const Attrs& batch = pair_items(parts[1]);
    from_attr(contract[0], v.lhs_contract);
    from_attr(contract[1], v.rhs_contract);
    from_attr(batch[0], v.lhs_batch);
    from_attr(batch[1], v.rhs_batch);
}

Attr to_attr(const ConvDims& v) {
    return make_record("ConvDimensionNumbers", {{"lhs_spec", &v.lhs_spec}, {"rhs_spec", &v.rhs_spec}, {"out_spec", &v.out_spec}});
}

void from_attr(const Attr& a, ConvDims& v) {
    read_record(a, {{"lhs_spec", &v.lhs_spec}, {"rhs_spec", &v.rhs_spec}, {"out_spec", &v.out_spec}});
}

Attr to_attr(const PadPairs& v) {
    Attrs items;
    for (const auto& [low, high] : v) items.push_back(Attr::tuple({low, high}));
    return Attr::tuple(std::move(items));
}

void from_attr(const Attr& a, PadPairs& v) {
    const Attr::Seq* seq = a.get_seq();
    if (!seq) wrong_attr(a, "a sequence of (low, high)");
    v.clear();
    for (const Attr& item : seq->items) {
        Dims one;
        from_attr(item, one);
        if (one.size() != 2) wrong_attr(item, "(low, high)");
        v.push_back({one[0], one[1]});
    }
}

Attr to_attr(const PadConfig& v) {
    Attrs items;
    for (const PadDim& d : v) items.push_back(Attr::tuple({d.low, d.high, d.interior}));
    return Attr::tuple(std::move(items));
}

void from_attr(const Attr& a, PadConfig& v) {
    const Attr::Seq* seq = a.get_seq();
    if (!seq) wrong_attr(a, "a sequence of (low, high, interior)");
    v.clear();
    for (const Attr& item : seq->items) {
        Dims one;
        from_attr(item, one);
        if (one.size() != 3) wrong_attr(item, "(low, high, interior)");
        v.push_back({one[0], one[1], one[2]});
    }
}

Attr to_attr(const Attrs& v) { return Attr::tuple(v); }

void from_attr(const Attr& a, Attrs& v) {
    const Attr::Seq* seq = a.get_seq();
    if (!seq) wrong_attr(a, "a sequence");
    v = seq->items;
}

namespace {
constexpr const char* kFftNames[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
}

Attr to_attr(FftType v) { return Attr(Attr::Enum{"FftType", kFftNames[static_cast<std::size_t>(v)]}); }

void from_attr(const Attr& a, FftType& v) {
    if (const auto* n = a.get<std::int64_t>(); n && 0 <= *n && *n < 4) {
        v = static_cast<FftType>(*n);
        return;
    }
    Sym name;
    const auto* object = a.get<Attr::Object>();
    const auto* text = a.get<Sym>();
    if (const std::string* qualified = object ? &object->text.str() : text ? &text->str() : nullptr)
        name = qualified->substr(qualified->rfind('.') + 1);  // jaxlib.xla_extension.FftType.FFT in JAX before 0.5
    else
        from_attr(a, name);
    const auto* found = std::ranges::find_if(kFftNames, [&](const char* one) { return name == Sym(one); });
    if (found == std::end(kFftNames)) wrong_attr(a, "FFT, IFFT, RFFT or IRFFT");
    v = static_cast<FftType>(found - std::begin(kFftNames));
}

}  // namespace jaxscope
