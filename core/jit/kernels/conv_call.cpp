#include <algorithm>
#include <cstring>

#include <dnnl.hpp>

#include "base/checked.h"
#include "ir/element.h"
#include "jit/kernels/library.h"
#include "jit/kernels/parallel.h"

namespace jaxscope::exec {

namespace {

/// Sizes and element strides of one operand, in the order batch (or output feature), feature, spatial.
struct ConvOperand {
    Dims size, stride;
    ConvOperand(const Dims& shape, const std::vector<int>& spec) {
        const Dims s = row_major_strides(shape);
        for (const int d : spec) size.push_back(shape[static_cast<std::size_t>(d)]), stride.push_back(s[static_cast<std::size_t>(d)]);
    }
};

/// Any dtype, any dilation, padding (negative too) and grouping: one output element at a time.
class PlainConv final : public LibraryCall {
public:
    PlainConv(const Op& op, const ConvKernel& spec)
        : op_(op),
          k_(spec),
          lhs_(op.in[0]->shape, spec.lhs_spec),
          rhs_(op.in[1]->shape, spec.rhs_spec),
          out_(op.out[0]->shape, spec.out_spec) {}
    void run(void* const* in, void* const* out, void*) const override {
        const std::int64_t features = out_.size[1], work_each = rhs_.size[1];
        std::int64_t taps = 1;
        for (std::size_t s = 2; s < rhs_.size.size(); ++s) taps *= rhs_.size[s];
        const double work = 4.0 * static_cast<double>(op_.out[0]->size()) * static_cast<double>(work_each * taps);
        parallel_for(threads, out_.size[0] * features, work, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) plane(in, out, i / features, i % features, taps);
        });
    }

private:
    void plane(void* const* in, void* const* out, std::int64_t batch, std::int64_t feature, std::int64_t taps) const {
        std::int64_t points = 1;
        for (std::size_t s = 2; s < out_.size.size(); ++s) points *= out_.size[s];
        // With batch groups, output features belong to groups of the left operand's batch.
        const std::int64_t group = feature / (rhs_.size[0] / k_.feature_groups);
        const std::int64_t batch_group = feature / (rhs_.size[0] / k_.batch_groups);
        const std::int64_t lhs_batch = k_.batch_groups > 1 ? batch_group * (lhs_.size[0] / k_.batch_groups) + batch : batch;
        const std::int64_t first_feature = k_.feature_groups > 1 ? group * rhs_.size[1] : 0;
        const std::int64_t lhs_base = lhs_batch * lhs_.stride[0] + first_feature * lhs_.stride[1];
        for (std::int64_t p = 0; p < points; ++p) {
            std::int64_t rest = p, at = batch * out_.stride[0] + feature * out_.stride[1];
            std::vector<std::int64_t> position(out_.size.size());
            for (std::size_t s = out_.size.size(); s-- > 2;) {
                position[s] = rest % out_.size[s];
                rest /= out_.size[s];
                at += position[s] * out_.stride[s];
            }
            store(out[0], at, sum(in, position, lhs_base, feature, taps));
        }
    }
    std::complex<double> sum(void* const* in, const std::vector<std::int64_t>& position, std::int64_t lhs_base, std::int64_t feature,
                             std::int64_t taps) const {
        std::complex<double> total;
        for (std::int64_t t = 0; t < taps; ++t) {
            std::int64_t rest = t, l = lhs_base, r = feature * rhs_.stride[0];
            bool inside = true;
            for (std::size_t s = rhs_.size.size(); s-- > 2 && inside;) {
                const std::int64_t tap = rest % rhs_.size[s];
                rest /= rhs_.size[s];
                const std::int64_t x = position[s] * k_.window_strides[s - 2] + tap * k_.rhs_dilation[s - 2] - k_.padding[s - 2].first;
                const std::int64_t dilation = k_.lhs_dilation[s - 2];
                inside = x >= 0 && x % dilation == 0 && x / dilation < lhs_.size[s];
                l += inside ? x / dilation * lhs_.stride[s] : 0;
                r += tap * rhs_.stride[s];
            }
            if (!inside) continue;
            for (std::int64_t f = 0; f < rhs_.size[1]; ++f)
                total += load(0, in[0], l + f * lhs_.stride[1]) * load(1, in[1], r + f * rhs_.stride[1]);
        }
        return total;
    }
    std::complex<double> load(std::size_t i, const void* base, std::int64_t at) const {
        const DType d = op_.in[i]->dtype;
        const Element e = load_element(d, static_cast<const std::byte*>(base) + at * byte_size(d));
        return is_inexact(d) ? e.number : std::complex<double>(static_cast<double>(e.integer));
    }
    void store(void* base, std::int64_t at, std::complex<double> v) const {
        const DType d = op_.out[0]->dtype;
        store_element(d, static_cast<std::byte*>(base) + at * byte_size(d),
                      is_inexact(d) ? Element{0, v} : Element{static_cast<std::int64_t>(v.real()), {}});
    }
    Op op_;
    ConvKernel k_;
    ConvOperand lhs_, rhs_, out_;
};

dnnl::engine& cpu_engine() {
    static auto& e = *new dnnl::engine(dnnl::engine::kind::cpu, 0);
    return e;
}

/// f32 through oneDNN. Operands keep their own strides; the library reorders them into its blocked layouts where that pays.
class LibraryConv final : public LibraryCall {
public:
    LibraryConv(const Op& op, const ConvKernel& k) {
        const ConvOperand l(op.in[0]->shape, k.lhs_spec), r(op.in[1]->shape, k.rhs_spec), o(op.out[0]->shape, k.out_spec);
        using dnnl::memory;
        Dims weights = r.size, weight_strides = r.stride;
        if (k.feature_groups > 1) {
            weights.insert(weights.begin(), k.feature_groups);
            weights[1] /= k.feature_groups;
            weight_strides.insert(weight_strides.begin(), r.stride[0] * weights[1]);
        }
        const auto f32 = memory::data_type::f32;
        src_ = memory::desc(l.size, f32, l.stride);
        weights_ = memory::desc(weights, f32, weight_strides);
        dst_ = memory::desc(o.size, f32, o.stride);
        const auto any = memory::format_tag::any;
        memory::dims before, after, dilates;
        for (std::size_t s = 0; s < k.padding.size(); ++s) {
            before.push_back(k.padding[s].first), after.push_back(k.padding[s].second);
            dilates.push_back(k.rhs_dilation[s] - 1);
        }
        const dnnl::convolution_forward::desc desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
                                                   memory::desc(l.size, f32, any), memory::desc(weights, f32, any),
                                                   memory::desc(o.size, f32, any), k.window_strides, dilates, before, after);
        dnnl::primitive_attr attr;
        attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
        const dnnl::convolution_forward::primitive_desc pd(desc, attr, cpu_engine());
        conv_ = dnnl::convolution_forward(pd);
        inner_src_ = pd.src_desc(), inner_weights_ = pd.weights_desc(), inner_dst_ = pd.dst_desc(), scratchpad_ = pd.scratchpad_desc();
        const auto reserve = [&](const memory::desc& inner, const memory::desc& outer, bool needed) {
            const std::int64_t at = bytes_;
            if (needed || inner != outer) bytes_ = checked_add(bytes_, checked_align(static_cast<std::int64_t>(inner.get_size()), 64));
            return at;
        };
        src_at_ = reserve(inner_src_, src_, false);
        weights_at_ = reserve(inner_weights_, weights_, false);
        dst_at_ = reserve(inner_dst_, dst_, false);
        pad_at_ = reserve(scratchpad_, scratchpad_, true);
    }
    std::int64_t scratch_bytes() const override { return bytes_; }

    void run(void* const* in, void* const* out, void* scratch) const override {
        using dnnl::memory;
        char* base = static_cast<char*>(scratch);
        dnnl::stream stream(cpu_engine());
        memory src(src_, cpu_engine(), in[0]), weights(weights_, cpu_engine(), in[1]), dst(dst_, cpu_engine(), out[0]);
        memory s = src, w = weights, d = dst;
        if (inner_src_ != src_) s = memory(inner_src_, cpu_engine(), base + src_at_), dnnl::reorder(src, s).execute(stream, src, s);
        if (inner_weights_ != weights_)
            w = memory(inner_weights_, cpu_engine(), base + weights_at_), dnnl::reorder(weights, w).execute(stream, weights, w);
        if (inner_dst_ != dst_) d = memory(inner_dst_, cpu_engine(), base + dst_at_);
        memory pad(scratchpad_, cpu_engine(), base + pad_at_);
        conv_.execute(stream, {{DNNL_ARG_SRC, s}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, d}, {DNNL_ARG_SCRATCHPAD, pad}});
        if (inner_dst_ != dst_) dnnl::reorder(d, dst).execute(stream, d, dst);
        stream.wait();
    }

private:
    dnnl::memory::desc src_, weights_, dst_, inner_src_, inner_weights_, inner_dst_, scratchpad_;
    dnnl::convolution_forward conv_;
    std::int64_t bytes_ = 0, src_at_ = 0, weights_at_ = 0, dst_at_ = 0, pad_at_ = 0;
};

bool fits_library(const Op& op, const ConvKernel& k) {
    if (op.in[0]->dtype != DType::F32 || op.in[1]->dtype != DType::F32 || op.out[0]->dtype != DType::F32 || k.batch_groups != 1)
        return false;
    if (op.in[0]->size() == 0 || op.in[1]->size() == 0 || op.out[0]->size() == 0) return false;
    const std::size_t spatial = k.window_strides.size();
    if (spatial < 1 || spatial > 3) return false;
    for (std::size_t s = 0; s < spatial; ++s)
        if (k.lhs_dilation[s] != 1 || k.padding[s].first < 0 || k.padding[s].second < 0) return false;
    return true;
}

}  // namespace

LibraryCallPtr make_conv(const Op& op, const ConvKernel& spec) {
    if (fits_library(op, spec)) {
        try {
            return std::make_shared<LibraryConv>(op, spec);
        } catch (const dnnl::error&) {  // a shape that the library refuses
        }
    }
    return std::make_shared<PlainConv>(op, spec);
}

}  // namespace jaxscope::exec
