// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <vector>

#include "jit/kernels/library.h"

namespace jaxscope::exec {

/// Sizes and element strides of one operand of a convolution, in the order batch (or output feature), feature, spatial.
struct ConvSide {
    Dims size, stride;
    std::int64_t first = 0;  ///< element at which it begins

    ConvSide() = default;
    ConvSide(const Dims& shape, const std::vector<int>& spec) {
        const Dims s = row_major_strides(shape);
        for (const int d : spec) size.push_back(shape[static_cast<std::size_t>(d)]), stride.push_back(s[static_cast<std::size_t>(d)]);
    }
    /// Elements [begin, begin + count) of dimension d.
    ConvSide slice(std::size_t d, std::int64_t begin, std::int64_t count) const {
        ConvSide s = *this;
        s.first += begin * stride[d], s.size[d] = count;
        return s;
    }
    /// Where position number `i` of the dimensions from 2 to `behind` stands, the last of them fastest; counted from their first.
    std::int64_t place(std::int64_t i, std::size_t behind) const {
        std::int64_t at = 0;
        for (std::size_t d = behind; d-- > 2; i /= size[d]) at += i % size[d] * stride[d];
        return at;
    }
    std::int64_t elements() const {
        std::int64_t n = 1;
        for (const std::int64_t k : size) n *= k;
        return n;
    }
    /// The last `n` dimensions in reverse: its strides there are negative.
    ConvSide backwards(std::size_t n) const {
        ConvSide s = *this;
        for (std::size_t d = size.size() - n; d < size.size(); ++d) s.first += (size[d] - 1) * stride[d], s.stride[d] = -stride[d];
        return s;
    }
    /// A copy without gaps whose dimensions lie in the order that they have here.
    ConvSide without_gaps() const;
    /// Where element (i0, i1, ...) of this order stands when the side is copied without gaps.
    static ConvSide dense(const Dims& size) {
        ConvSide s;
        s.size = size, s.stride = row_major_strides(size);
        return s;
    }
};

/// What a convolution that goes tap by tap asks: the left operand, the weights, the result.
struct ConvTaps {
    const ConvKernel& kernel;
    const ConvSide &lhs, &rhs, &out;
    /// Where tap `tap` of point `point` lies in the left operand, by the dimensions from 2 to `behind`: added to `at`. False: outside of
    /// it.
    bool locate(std::int64_t point, std::int64_t tap, std::size_t behind, std::int64_t& at) const {
        for (std::size_t s = behind; s-- > 2; point /= out.size[s], tap /= rhs.size[s]) {
            const std::int64_t x = point % out.size[s] * kernel.window_strides[s - 2] + tap % rhs.size[s] * kernel.rhs_dilation[s - 2] -
                                   kernel.padding[s - 2].first;
            const std::int64_t dilation = kernel.lhs_dilation[s - 2];
            if (x < 0 || x % dilation != 0 || x / dilation >= lhs.size[s]) return false;
            at += x / dilation * lhs.stride[s];
        }
        return true;
    }
};

/// A convolution by the matrix library, forward or as the gradient that it is; null where the library has none.
LibraryCallPtr make_library_conv(const Op& op, const ConvKernel& spec, int threads);
/// Of few features, of points side by side; null for others.
LibraryCallPtr make_row_conv(const Op& op, const ConvKernel& spec);
/// Any dtype, any dilation, padding and grouping.
LibraryCallPtr make_plain_conv(const Op& op, const ConvKernel& spec);

}  // namespace jaxscope::exec
