// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>

#include "base/error.h"
#include "devices/carrier.h"
#include "devices/device_program.h"

namespace jaxscope {

namespace {

/// Copies the box `box` of an array of `outer`'s shape to or from one of `inner`'s shape, whose first elements it is.
void copy_box(std::byte* outer, const Dims& outer_shape, std::byte* inner, const Dims& inner_shape, const sharding::ShardIndex& box,
              std::size_t element, bool to_inner) {
    const std::size_t rank = outer_shape.size();
    for (const sharding::Range& r : box)
        if (r.size() == 0) return;
    if (rank == 0) return to_inner ? void(std::memcpy(inner, outer, element)) : void(std::memcpy(outer, inner, element));
    const std::size_t run = static_cast<std::size_t>(box[rank - 1].size()) * element;
    Dims at(rank, 0);
    for (;;) {
        std::int64_t from = 0, to = 0;
        for (std::size_t d = 0; d < rank; ++d) {
            from = from * outer_shape[d] + box[d].start + at[d];
            to = to * inner_shape[d] + at[d];
        }
        std::byte *o = outer + static_cast<std::size_t>(from) * element, *i = inner + static_cast<std::size_t>(to) * element;
        to_inner ? std::memcpy(i, o, run) : std::memcpy(o, i, run);
        std::size_t d = rank - 1;
        while (d > 0 && ++at[d - 1] == box[d - 1].size()) at[--d] = 0;
        if (d == 0) return;
    }
}
std::size_t element_bytes(const Aval& a) { return a.size() ? static_cast<std::size_t>(a.bytes() / a.size()) : 0; }

std::shared_ptr<ArrayConst> zeros(AvalRef aval) {
    auto a = std::make_shared<ArrayConst>();
    a->aval = aval;
    a->data.assign(static_cast<std::size_t>(aval->bytes()), std::byte{0});
    return a;
}

}  // namespace

ArrayPtr shard_of(const ArrayConst& whole, const sharding::NamedSharding& s, std::int64_t device) {
    JAXSCOPE_ASSERT(whole.known());
    const Dims& shape = whole.aval->shape;
    const Dims local = sharding::shard_shape(shape, s);
    const auto out = zeros(with_shape(whole.aval, local));
    if (!out->data.empty())
        copy_box(const_cast<std::byte*>(whole.data.data()), shape, out->data.data(), local, sharding::shard_index(shape, s, device),
                 element_bytes(*whole.aval), true);
    return out;
}

ArrayPtr part_of(const ArrayConst& whole, const sharding::ShardIndex& index) {
    Dims shape;
    for (const sharding::Range& r : index) shape.push_back(r.size());
    const auto out = zeros(with_shape(whole.aval, shape));
    if (!out->data.empty())
        copy_box(const_cast<std::byte*>(whole.data.data()), whole.aval->shape, out->data.data(), shape, index, element_bytes(*whole.aval),
                 true);
    return out;
}

ArrayPtr assembled(AvalRef whole, const sharding::NamedSharding& s, const std::vector<ArrayPtr>& shards) {
    if (s.spec.replicated()) return shards.at(0);
    const auto out = zeros(whole);
    // Where copies differ, as check_vma=False lets them, JAX takes the first device's.
    for (std::size_t d = shards.size(); d-- > 0 && !out->data.empty();)
        copy_box(out->data.data(), whole->shape, const_cast<std::byte*>(shards[d]->data.data()), shards[d]->aval->shape,
                 sharding::shard_index(whole->shape, s, static_cast<std::int64_t>(d)), element_bytes(*whole), false);
    return out;
}

DeviceArrays ShardedExecutable::run_sharded(const std::vector<ArrayPtr>& whole, const std::vector<bool>& donated) {
    const std::int64_t first = carrier_ ? static_cast<std::int64_t>(carrier_->rank()) : 0;
    DeviceArrays in(carrier_ ? 1 : static_cast<std::size_t>(program_.mesh.devices()));
    for (std::size_t i = 0; i < whole.size(); ++i) {
        const sharding::NamedSharding s{program_.mesh, program_.in[i]};
        for (std::size_t d = 0; d < in.size(); ++d)
            in[d].push_back(s.spec.replicated() ? whole[i] : shard_of(*whole[i], s, first + static_cast<std::int64_t>(d)));
    }
    return executable_->run(in, donated);
}

DeviceArrays ShardedExecutable::of_all(DeviceArrays here) const {
    if (!carrier_) return here;
    std::vector<std::size_t> everybody(carrier_->size());
    std::iota(everybody.begin(), everybody.end(), std::size_t{0});
    DeviceArrays out(everybody.size());
    for (const ArrayPtr& own : here[0]) {
        std::vector<Bytes> all = carrier_->exchange(everybody, own->data);
        for (std::size_t d = 0; d < all.size(); ++d) {
            const auto got = std::make_shared<ArrayConst>();
            got->aval = own->aval;
            got->data = std::move(all[d]);
            out[d].push_back(got);
        }
    }
    return out;
}

std::vector<DevicePeak> ShardedExecutable::peaks() const {
    if (!carrier_) return executable_->peaks();
    const DevicePeak own = executable_->peaks().at(0);
    const std::int64_t numbers[] = {own.bytes, own.own};
    std::vector<std::size_t> everybody(carrier_->size());
    std::iota(everybody.begin(), everybody.end(), std::size_t{0});
    std::vector<DevicePeak> out;
    for (const Bytes& bytes : carrier_->exchange(everybody, std::as_bytes(std::span(numbers)))) {
        std::int64_t theirs[2];
        std::memcpy(theirs, bytes.data(), sizeof(theirs));
        out.push_back({theirs[0], theirs[1], own.at});  // all run one program
    }
    return out;
}

std::vector<ArrayPtr> ShardedExecutable::run(const std::vector<ArrayPtr>& whole, const std::vector<bool>& donated) {
    const DeviceArrays parts = of_all(run_sharded(whole, donated));
    std::vector<ArrayPtr> out;
    for (std::size_t k = 0; k < program_.out.size(); ++k) {
        std::vector<ArrayPtr> shards;
        for (const std::vector<ArrayPtr>& of_device : parts) shards.push_back(of_device[k]);
        out.push_back(assembled(program_.out_avals[k], {program_.mesh, program_.out[k]}, shards));
    }
    return out;
}

}  // namespace jaxscope
