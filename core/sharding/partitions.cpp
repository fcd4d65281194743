// SPDX-License-Identifier: Apache-2.0
#include "sharding/partitions.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "ir/primitive.h"
#include "lax/primitives.h"

namespace jaxscope::sharding {

std::string to_text(const Parts& parts) {
    if (!parts) return "None";
    return fmt::format("PartitionSpec({}{})", fmt::join(*parts, ", "), parts->size() == 1 ? "," : "");
}

Attr to_attr(const Parts& parts) {
    if (!parts) return {};
    Attr::Record r;
    r.type = "PartitionSpec";
    r.fields.emplace_back("dims", ::jaxscope::to_attr(*parts));
    r.text = Sym(to_text(parts));
    return std::make_shared<const Attr::Record>(std::move(r));
}

Parts parts_from(const Attr& attr) {
    if (attr.is_none()) return std::nullopt;
    const Attr::Record* r = attr.get_record();
    if (!r || r->fields.size() != 1) wrong_attr(attr, "a PartitionSpec of integers");
    Dims dims;
    from_attr(r->fields[0].second, dims);
    for (const std::int64_t d : dims)
        if (d <= 0) wrong_attr(attr, "a PartitionSpec of positive integers");
    return dims;
}

std::optional<std::int64_t> part_count(const Parts& parts) {
    if (!parts) return std::nullopt;
    return element_count(*parts);
}

namespace {

struct Count {
    std::int64_t value;
    bool empty_spec;  ///< NumPy's product of nothing is a float
    std::string text() const { return std::to_string(value) + (empty_spec ? ".0" : ""); }
};

/// Python prints a set in the order of its hash table. Up to four small integers stand in eight slots.
std::vector<Count> in_python_order(const std::vector<Count>& counts) {
    constexpr std::uint64_t kMask = 7;
    std::array<const Count*, kMask + 1> slots{};
    std::vector<Count> out = counts;
    if (counts.size() > 4) {
        std::sort(out.begin(), out.end(), [](const Count& a, const Count& b) { return a.value < b.value; });
        return out;
    }
    for (const Count& c : counts) {
        auto perturb = static_cast<std::uint64_t>(c.value);
        std::uint64_t i = perturb & kMask;
        while (slots[i]) {
            perturb >>= 5;
            i = (i * 5 + 1 + perturb) & kMask;
        }
        slots[i] = &c;
    }
    out.clear();
    for (const Count* c : slots)
        if (c) out.push_back(*c);
    return out;
}

}  // namespace

std::optional<std::int64_t> get_num_partitions(std::span<const Parts> specs, const std::string& text) {
    std::vector<Count> counts;
    for (const Parts& p : specs) {
        if (!p) continue;
        const Count c{*part_count(p), p->empty()};
        if (std::none_of(counts.begin(), counts.end(), [&](const Count& o) { return o.value == c.value; })) counts.push_back(c);
    }
    if (counts.empty()) return std::nullopt;
    if (counts.size() == 1) return counts[0].value;
    std::vector<std::string> texts;
    for (const Count& c : in_python_order(counts)) texts.push_back(c.text());
    throw Error(ErrorCode::BadUsage,
                fmt::format("All partition specs must use the same number of total partitions, got {}, with distinct number of partitions "
                            "{{{}}} (the total number of partitions is the product of a partition spec)",
                            text, fmt::join(texts, ", ")));
}

namespace {

std::optional<std::int64_t> inner_partitions(const Jaxpr& j, std::optional<std::int64_t> expected) {
    for (const Eqn& e : j.eqns) {
        const Attr* given = e.prim == &kShardingConstraint ? e.params->find("partitions") : nullptr;
        if (!given) {
            for (const JaxprPtr& inner : e.params->jaxprs()) expected = inner_partitions(*inner, expected);
            continue;
        }
        const Parts parts = parts_from(*given);
        const std::optional<std::int64_t> count = part_count(parts);
        if (!expected)
            expected = count;
        else if (count && *count != *expected)
            throw Error(ErrorCode::BadUsage,
                        fmt::format("with_sharding_constraint with partitions={} (total partitions: {}) doesn't match expected number of "
                                    "partitions: {}. If these partitions look right, check outer sharded_jit and/or other "
                                    "with_sharding_constraint calls.",
                                    to_text(parts), *count, *expected))
                .at(e.source.loc());
    }
    return expected;
}

std::int64_t safe_div(std::int64_t x, std::int64_t y) {
    if (y == 0 || x % y != 0) throw Error(ErrorCode::BadUsage, fmt::format("{} % {} != 0", x, y));
    return x / y;
}

void expect_ranks(const Aval& a, const Dims& global_parts, const Parts& local_parts) {
    if (!local_parts)
        throw Error(ErrorCode::BadUsage, fmt::format("a value that is cut into {} by all processes together is cut by each of them, too: "
                                                     "found None for its local parts",
                                                     to_text(Parts(global_parts))));
    if (a.shape.size() != global_parts.size() || a.shape.size() != local_parts->size())
        throw Error(ErrorCode::BadUsage,
                    fmt::format("length mismatch: [{}, {}, {}]", a.shape.size(), global_parts.size(), local_parts->size()))
            .advise(fmt::format("{} has {} dimensions, {} is for {}", to_text(a), a.shape.size(), to_text(Parts(global_parts)),
                                global_parts.size()));
}

}  // namespace

std::int64_t reconcile_num_partitions(const Jaxpr& jaxpr, std::optional<std::int64_t> outer) {
    const std::optional<std::int64_t> inner = inner_partitions(jaxpr, outer);
    return outer ? *outer : inner.value_or(1);
}

AvalRef get_global_aval(AvalRef local, const Parts& global_parts, const Parts& local_parts) {
    if (!global_parts) return local;
    expect_ranks(*local, *global_parts, local_parts);
    Dims shape = local->shape;
    for (std::size_t d = 0; d < shape.size(); ++d) shape[d] *= safe_div((*global_parts)[d], (*local_parts)[d]);
    return with_shape(local, std::move(shape));
}

AvalRef get_local_aval(AvalRef global, const Parts& global_parts, const Parts& local_parts) {
    if (!global_parts) return global;
    expect_ranks(*global, *global_parts, local_parts);
    Dims shape = global->shape;
    for (std::size_t d = 0; d < shape.size(); ++d) shape[d] = safe_div(shape[d], safe_div((*global_parts)[d], (*local_parts)[d]));
    return with_shape(global, std::move(shape));
}

std::string to_text(const ShardIndex& index) {
    std::vector<std::string> ranges;
    for (const Range& r : index) ranges.push_back(fmt::format("slice({}, {})", r.start, r.stop));
    return fmt::format("({}{})", fmt::join(ranges, ", "), index.size() == 1 ? "," : "");
}

Dims shard_shape(const Dims& shape, const Parts& parts) {
    if (!parts) return shape;
    if (shape.size() != parts->size())
        throw Error(ErrorCode::BadUsage,
                    fmt::format("{} is for {} dimensions, found an array of {}", to_text(parts), parts->size(), shape.size()));
    Dims out = shape;
    for (std::size_t d = 0; d < shape.size(); ++d) {
        const std::int64_t n = (*parts)[d];
        if (shape[d] % n != 0)
            throw Error(ErrorCode::BadUsage, fmt::format("({}, {}, {})", shape[d], n, d))
                .advise(fmt::format("dimension {} has size {}, which {} doesn't cut into {} even parts", d, shape[d], to_text(parts), n));
        out[d] /= n;
    }
    return out;
}

std::vector<ShardIndex> spec_to_indices(const Dims& shape, const Parts& parts, std::int64_t devices) {
    const Dims tile = shard_shape(shape, parts);
    ShardIndex whole;
    for (const std::int64_t n : shape) whole.push_back({0, n});
    std::vector<ShardIndex> out(static_cast<std::size_t>(devices), whole);
    if (!parts) return out;
    for (std::int64_t device = 0; device < devices; ++device) {
        std::int64_t rest = device;
        for (std::size_t d = shape.size(); d-- > 0;) {
            const std::int64_t at = rest % (*parts)[d];
            rest /= (*parts)[d];
            out[static_cast<std::size_t>(device)][d] = {at * tile[d], (at + 1) * tile[d]};
        }
    }
    return out;
}

std::int64_t bytes_per_device(AvalRef aval, const Parts& parts) { return with_shape(aval, shard_shape(aval->shape, parts))->bytes(); }

}  // namespace jaxscope::sharding
