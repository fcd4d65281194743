// SPDX-License-Identifier: Apache-2.0
#include "jit/graph/tiles.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"

namespace jaxscope::exec {

namespace {

constexpr std::int64_t kLeastElements = 4096;  ///< below, all of it is in the first-level cache
constexpr std::int64_t kLeastSide = 8, kLeastColumns = 16;
constexpr std::int64_t kRunBytes = 128;         ///< of neighbours that are read at once: two cache lines
constexpr std::int64_t kTileElements = 2048;    ///< a few tiles together stay in the first-level cache
constexpr std::int64_t kMostBytes = 256 << 10;  ///< of a thread's tiles: they stay in the second-level cache

/// Which dimension of the domain each dimension of a value goes along.
using Dimensions = std::vector<int>;

/// How the kernel reads its externs, through whatever it computes on demand.
class Reads {
public:
    struct Read {
        std::uint32_t ext;
        Dimensions dims;
    };
    Reads(const Kernel& k, std::size_t rank, const std::function<const IndexMap&(std::uint32_t)>& map_of)
        : k_(k), map_of_(map_of), first_(0), rank_(rank) {
        Dimensions own(rank);
        std::iota(own.begin(), own.end(), 0);
        for (std::uint32_t j = 0; j < k.nodes.size(); ++j)
            if (!k.nodes[j].on_demand && (!k.nodes[j].row_level || k.nodes[j].kind == NodeKind::Reduction)) node(j, own);
    }
    const std::vector<Read>& all() const { return reads_; }
    /// The first of the trailing dimensions that nothing takes apart.
    std::size_t first_column() const { return first_; }

private:
    void node(std::uint32_t j, const Dimensions& at) {
        const KernelNode& n = k_.nodes[j];
        if (n.operands.empty()) take_apart(rank_ - 1);  // an iota counts along one dimension
        for (std::size_t o = 0; o < n.operands.size(); ++o) {
            static const IndexMap::Operand kIdentity{IndexMap::Access::Identity, {}};
            const IndexMap::Operand& operand = n.kind == NodeKind::Reduction ? kIdentity : map_of_(j).operands[o];
            if (n.operands[o].kind == KernelRef::Kind::Literal || operand.access == IndexMap::Access::None) continue;
            if (operand.access == IndexMap::Access::General && operand.dims.empty()) {
                take_apart(rank_ - 1);
                continue;
            }
            Dimensions dims = at;
            if (operand.access != IndexMap::Access::Identity) {
                dims.clear();
                for (const int d : operand.dims) dims.push_back(at[static_cast<std::size_t>(d)]);
            }
            take_apart(first_joined(dims, rank_));
            if (n.operands[o].kind == KernelRef::Kind::Extern)
                reads_.push_back({n.operands[o].index, std::move(dims)});
            else if (k_.nodes[n.operands[o].index].on_demand)
                node(n.operands[o].index, dims);
        }
    }
    void take_apart(std::size_t d) { first_ = std::max(first_, d); }

    const Kernel& k_;
    const std::function<const IndexMap&(std::uint32_t)>& map_of_;
    std::vector<Read> reads_;
    std::size_t first_, rank_;
};

Dims strides_of(const Reads::Read& r, const Dims& domain) {
    Dims strides(domain.size(), 0);
    std::int64_t stride = 1;
    for (std::size_t d = r.dims.size(); d-- > 0;) {
        strides[static_cast<std::size_t>(r.dims[d])] = stride;
        stride *= domain[static_cast<std::size_t>(r.dims[d])];
    }
    return strides;
}
std::int64_t product(const Dims& domain, std::size_t first, std::size_t behind) {
    return std::accumulate(domain.begin() + static_cast<std::ptrdiff_t>(first), domain.begin() + static_cast<std::ptrdiff_t>(behind),
                           std::int64_t{1}, std::multiplies<>());
}

/// Neighbours along a dimension in front of the columns, which lie apart.
bool is_transposed(const Dimensions& dims, std::size_t rank, std::size_t first_column) {
    return !dims.empty() && dims.back() < static_cast<int>(first_column) &&
           std::find(dims.begin(), dims.end(), static_cast<int>(rank) - 1) != dims.end();
}
/// Where the run of dimensions that ends with `last` begins, for a read whose last ones they are.
std::size_t run_begin(const Dimensions& dims, int last) {
    int d = last;
    while (d > 0 && std::find(dims.begin(), dims.end(), d) != dims.end() && joined(dims, d)) --d;
    return static_cast<std::size_t>(d);
}

}  // namespace

bool set_tile(Kernel& k, const Dims& domain, std::optional<std::size_t> row_dims,
              const std::function<const IndexMap&(std::uint32_t)>& map_of) {
    const std::size_t rank = domain.size();
    if (rank < 2 || row_dims == 0 || row_dims > rank || product(domain, 0, rank) < kLeastElements) return false;
    const Reads reads(k, rank, map_of);
    const std::size_t first_column = row_dims.value_or(reads.first_column());
    const std::int64_t cols = product(domain, first_column, rank);
    if (reads.first_column() > first_column || cols < kLeastColumns) return false;
    KernelTile tile;
    tile.domain = domain;
    tile.first_column = first_column;
    std::int64_t widest = 0, bytes = 0;
    for (const Reads::Read& r : reads.all()) {
        if (!is_transposed(r.dims, rank, first_column) || (widest > 0 && r.dims.back() + 1 != static_cast<int>(tile.behind))) continue;
        KernelTile::Read read{r.ext, strides_of(r, domain), 0};
        const auto same = [&](const KernelTile::Read& other) { return other.ext == read.ext && other.strides == read.strides; };
        if (std::any_of(tile.reads.begin(), tile.reads.end(), same)) continue;
        tile.behind = static_cast<std::size_t>(r.dims.back()) + 1;
        tile.first = std::max(tile.first, run_begin(r.dims, r.dims.back()));
        const std::int64_t each = byte_size(k.externs[r.ext].aval->dtype);
        widest = std::max(widest, each), bytes += each;
        tile.reads.push_back(std::move(read));
    }
    if (widest == 0) return false;
    tile.side = product(domain, tile.first, tile.behind);
    tile.between = product(domain, tile.behind, first_column);
    tile.rows = std::min(tile.side, std::clamp<std::int64_t>(kRunBytes / widest, 16, 64));
    tile.cols = row_dims ? cols : std::min(cols, checked_align(kTileElements / tile.rows, 64));
    if (tile.side < kLeastSide || tile.rows * bytes > kMostBytes / tile.cols) return false;
    for (KernelTile::Read& r : tile.reads) {
        r.offset = tile.bytes;
        tile.bytes += checked_align(tile.rows * tile.cols * byte_size(k.externs[r.ext].aval->dtype), 64);
    }
    k.scratch_bytes = tile.bytes;
    k.form = Kernel::Form::Tiled;
    k.cols = cols;
    k.rows = product(domain, 0, first_column);
    k.tile = std::move(tile);
    return true;
}

}  // namespace jaxscope::exec
