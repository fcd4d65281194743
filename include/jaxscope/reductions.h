// SPDX-License-Identifier: Apache-2.0
#pragma once
// jax.numpy along axes: sums, extremes, running sums, orders, quantiles; their options.
#include <jaxscope/products.h>

namespace jaxscope::jax {

/// An axis, several (Python's tuple, `{1}` too), or none (all).
class Axes {
public:
    Axes() = default;
    Axes(const Axes&);
    Axes(Axes&&) noexcept;
    Axes& operator=(const Axes&);
    Axes& operator=(Axes&&) noexcept;
    ~Axes();
    template <class T>
    requires std::is_integral_v<T> Axes(T axis) : Axes(One{static_cast<std::int64_t>(axis)}) {}  // NOLINT(google-explicit-constructor)
    /// No list for a parameter: g++ 12 would take `{.axs = 1}` for one.
    template <class T, class... U>
    requires(std::is_integral_v<T> && sizeof...(U) > 0 && (std::is_integral_v<U> && ...)) Axes(T axis, U... more)
        : Axes(std::vector<std::int64_t>{static_cast<std::int64_t>(axis), static_cast<std::int64_t>(more)...}) {}
    Axes(std::vector<std::int64_t> list);  // NOLINT(google-explicit-constructor)
    Axes(None) {}                          // NOLINT(google-explicit-constructor)
    bool given = false, tuple = false;
    std::vector<std::int64_t> axes;

private:
    struct One {
        std::int64_t axis;
    };
    explicit Axes(One axis);
};
struct Reduction {
    Axes axis = {};
    Flag keepdims = false;
    Array where = {};  ///< of any and all: the elements that count
    detail::NoSuchOption axes = {}, dim = {}, keepdim = {};
};
/// Of sums and products. `initial`: a scalar that they begin with; `where`: the elements that count.
struct Summation {
    Axes axis = {};
    AsType dtype = {};
    Flag keepdims = false;
    Array initial = {}, where = {};
    detail::NoSuchOption axes = {}, dim = {}, keepdim = {};
};
struct Averaging {
    Axes axis = {};
    AsType dtype = {};
    Flag keepdims = false;
    Array where = {};
    detail::NoSuchOption axes = {}, dim = {}, keepdim = {};
};
/// Of the largest and the least. With `where`, `initial` is what they are of no element.
struct Extremum {
    Axes axis = {};
    Flag keepdims = false;
    Array initial = {}, where = {};
    detail::NoSuchOption axes = {}, dim = {}, keepdim = {};
};
struct Spread {
    Axes axis = {};
    AsType dtype = {};
    std::int64_t ddof = 0;  ///< what the number of elements is lessened by
    Flag keepdims = false;
    Array where = {};
    detail::NoSuchOption axes = {}, dim = {}, keepdim = {};
};
/// Of running sums and products.
struct Running {
    Axes axis = {};
    AsType dtype = {};
};
/// Of sorting. JAX sorts stably unless it is told otherwise.
struct Sorting {
    Flag stable = true, descending = false;
};
/// `include_initial`: with what the sums begin with in front.
struct Cumulation {
    Axes axis = {};  ///< may be left out of a vector
    AsType dtype = {};
    Flag include_initial = false;
};
using Arrays = std::vector<Array>;

namespace numpy {

Array sum(const Operand& x, const Summation& over = {});
Array prod(const Operand& x, const Summation& over = {});
Array mean(const Operand& x, const Averaging& over = {});
Array max(const Operand& x, const Extremum& over = {});
Array min(const Operand& x, const Extremum& over = {});
Array any(const Operand& x, const Reduction& over = {});
Array all(const Operand& x, const Reduction& over = {});
Array var(const Operand& x, const Spread& over = {});
Array std(const Operand& x, const Spread& over = {});
Array amax(const Operand& x, const Extremum& over = {});
Array amin(const Operand& x, const Extremum& over = {});
/// Without what isn't a number.
Array nansum(const Operand& x, const Summation& over = {});
Array nanprod(const Operand& x, const Summation& over = {});
Array nanmean(const Operand& x, const Averaging& over = {});
Array nanvar(const Operand& x, const Spread& over = {});
Array nanstd(const Operand& x, const Spread& over = {});
Array nanmax(const Operand& x, const Extremum& over = {});
Array nanmin(const Operand& x, const Extremum& over = {});
/// `weights`: of the shape of x, or of its axes that are averaged over.
struct Weighting {
    Axes axis = {};
    Array weights = {};
    Flag keepdims = false;
    detail::NoSuchOption axes = {}, dim = {}, keepdim = {};
};
Array average(const Operand& x, const Weighting& over = {});
Array cov(const Operand& x, bool rowvar = true);
Array corrcoef(const Operand& x, bool rowvar = true);
Array argmax(const Operand& x, const Axes& axis = {}, bool keepdims = false);
Array argmin(const Operand& x, const Axes& axis = {}, bool keepdims = false);
/// Positions of extremes, of NaNs alone -1; running sums and products with NaNs left out.
Array nanargmax(const Operand& x, const Axes& axis = {}, bool keepdims = false);
Array nanargmin(const Operand& x, const Axes& axis = {}, bool keepdims = false);
Array nancumsum(const Operand& x, const Axes& axis = {});
Array nancumprod(const Operand& x, const Axes& axis = {});
Array cumsum(const Operand& x, const Running& along = {});
Array cumprod(const Operand& x, const Running& along = {});
Array cumulative_sum(const Operand& x, const Cumulation& along = {});
Array cumulative_prod(const Operand& x, const Cumulation& along = {});
Array ptp(const Operand& x, const Reduction& over = {});
Array count_nonzero(const Operand& x, const Axes& axis = {}, bool keepdims = false);
Array sort(const Operand& x, std::int64_t axis = -1, const Sorting& how = {});
Array argsort(const Operand& x, std::int64_t axis = -1, const Sorting& how = {});
/// The order by several keys, the last one first.
Array lexsort(const Arrays& keys, std::int64_t axis = -1, Where where = {});
/// `n` times the difference of neighbours.
Array diff(const Operand& x, std::int64_t n = 1, std::int64_t axis = -1);
/// Elements at positions along an axis, the other dimensions as those of `indices`.
Array take_along_axis(const Operand& x, const Operand& indices, std::int64_t axis);
/// A copy with `values` there. Without an axis of the flattened array.
Array put_along_axis(const Operand& x, const Operand& indices, const Operand& values, const Axes& axis);
/// Where `v` belongs in the sorted vector `a`: before ("left") or behind ("right") what equals it.
Array searchsorted(const Operand& a, const Operand& v, const char* side = "left");
Array quantile(const Operand& x, const Operand& q, const Reduction& over = {});
Array percentile(const Operand& x, const Operand& q, const Reduction& over = {});
Array median(const Operand& x, const Reduction& over = {});
Array nanquantile(const Operand& x, const Operand& q, const Reduction& over = {});
Array nanpercentile(const Operand& x, const Operand& q, const Reduction& over = {});
Array nanmedian(const Operand& x, const Reduction& over = {});
/// Along one axis or several: `jnp::sum(x, 0)`, `jnp::sum(x, {0, 1})`, with keepdims `jnp::mean(x, -1, true)`.
#define JAXSCOPE_ALONG(name) \
    template <class T>       \
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) Array name(const Operand& x, T axis) { return name(x, {.axis = axis}); }
#define JAXSCOPE_OVER(name)                                                                                                   \
    template <class T>                                                                                                        \
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) Array name(const Operand& x, T axis, Flag keepdims = false) { \
        return name(x, {.axis = axis, .keepdims = keepdims});                                                                 \
    }                                                                                                                         \
    template <class T>                                                                                                        \
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) Array name(const Operand& x, std::initializer_list<T> axes,   \
                                                                           Flag keepdims = false) {                           \
        return name(x, {.axis = Axes(std::vector<std::int64_t>(axes.begin(), axes.end())), .keepdims = keepdims});            \
    }
JAXSCOPE_OVER(sum)
JAXSCOPE_OVER(prod)
JAXSCOPE_OVER(mean)
JAXSCOPE_OVER(max)
JAXSCOPE_OVER(min)
JAXSCOPE_OVER(any)
JAXSCOPE_OVER(all)
JAXSCOPE_OVER(var)
JAXSCOPE_OVER(std)
JAXSCOPE_OVER(ptp)
JAXSCOPE_OVER(median)
JAXSCOPE_OVER(nanmedian)
JAXSCOPE_OVER(nansum)
JAXSCOPE_OVER(nanmean)
JAXSCOPE_OVER(nanmax)
JAXSCOPE_OVER(nanmin)
JAXSCOPE_OVER(nanprod)
JAXSCOPE_OVER(nanvar)
JAXSCOPE_OVER(nanstd)
JAXSCOPE_ALONG(cumsum)
JAXSCOPE_ALONG(cumprod)
#undef JAXSCOPE_OVER
#undef JAXSCOPE_ALONG

}  // namespace numpy

}  // namespace jaxscope::jax
