// SPDX-License-Identifier: Apache-2.0
#include "calls/host/numpy_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include "ir/types/element.h"

namespace jaxscope {

namespace {

/// A finite number by its digits: d.ddd times ten to `exponent`, the fewest that are read back as it, or as many as `fraction` allows.
struct Digits {
    bool negative = false;
    std::string digits;  ///< at least one
    int exponent = 0;
};
Digits digits_of(std::string scientific) {
    Digits d;
    d.negative = scientific[0] == '-';
    if (d.negative) scientific.erase(0, 1);
    const std::size_t e = scientific.find('e');
    d.exponent = std::stoi(scientific.substr(e + 1));
    for (const char c : scientific.substr(0, e))
        if (c != '.') d.digits += c;
    return d;
}
Digits shortest(const NumpyScalar& s) {
    char text[64];
    const auto end = s.single ? std::to_chars(text, text + sizeof text, static_cast<float>(s.f), std::chars_format::scientific).ptr
                              : std::to_chars(text, text + sizeof text, s.f, std::chars_format::scientific).ptr;
    return digits_of(std::string(text, end));
}

struct Parts {
    std::string whole, fraction;  ///< before the point (sign too), behind it without zeros at the end
};
Parts trimmed(std::string text) {
    const std::size_t point = text.find('.');
    Parts p{text.substr(0, point), point == std::string::npos ? "" : text.substr(point + 1)};
    p.fraction.erase(p.fraction.find_last_not_of('0') + 1);
    return p;
}
/// Without exponent, at most `precision` digits behind the point (-1: all of the shortest text).
Parts positional(const NumpyScalar& s, int precision) {
    const Digits d = shortest(s);
    const int behind = std::max(0, static_cast<int>(d.digits.size()) - 1 - d.exponent);
    if (precision >= 0 && behind > precision) return trimmed(fmt::format("{:.{}f}", s.f, precision));
    std::string whole, fraction;
    for (int i = 0; i <= std::max(d.exponent, 0); ++i) {
        const int at = d.exponent < 0 ? -1 : i;
        whole += at >= 0 && at < static_cast<int>(d.digits.size()) ? d.digits[static_cast<std::size_t>(at)] : '0';
    }
    if (d.exponent < 0)
        fraction = std::string(static_cast<std::size_t>(-d.exponent - 1), '0') + d.digits;
    else if (static_cast<int>(d.digits.size()) > d.exponent + 1)
        fraction = d.digits.substr(static_cast<std::size_t>(d.exponent + 1));
    return trimmed((d.negative ? "-" : "") + whole + "." + fraction);
}
struct Scientific {
    Parts mantissa;
    std::string exponent;  ///< "+07"
};
Scientific scientific(const NumpyScalar& s, int precision) {
    Digits d = shortest(s);
    if (precision >= 0 && static_cast<int>(d.digits.size()) - 1 > precision) d = digits_of(fmt::format("{:.{}e}", s.f, precision));
    return {trimmed((d.negative ? "-" : "") + d.digits.substr(0, 1) + "." + d.digits.substr(1)), fmt::format("{:+03d}", d.exponent)};
}

using Scalars = std::vector<NumpyScalar>;
using Format = std::function<std::string(const NumpyScalar&)>;

std::string not_finite(const NumpyScalar& s) { return std::isnan(s.f) ? "nan" : s.f < 0 ? "-inf" : "inf"; }

/// NumPy's FloatingFormat: all elements as wide as the widest, with exponents where sizes differ much.
class FloatColumn {
public:
    FloatColumn(const Scalars& all, const NumpyOptions& options) : precision_(static_cast<int>(options.precision)) {
        Scalars finite;
        std::copy_if(all.begin(), all.end(), std::back_inserter(finite), [](const NumpyScalar& s) { return std::isfinite(s.f); });
        exponents_ = wants_exponents(finite, options);
        std::size_t fraction = 0;
        for (const NumpyScalar& s : finite) {
            const Parts p = exponents_ ? scientific(s, precision_).mantissa : positional(s, precision_);
            left_ = std::max(left_, p.whole.size());
            fraction = std::max(fraction, p.fraction.size());
            if (exponents_) exponent_ = std::max(exponent_, scientific(s, precision_).exponent.size() - 1);
        }
        precision_ = exponents_ ? static_cast<int>(fraction) : precision_;
        right_ = exponents_ ? exponent_ + 2 + fraction : fraction;
        if (finite.size() == all.size()) return;
        const bool negative = std::any_of(all.begin(), all.end(), [](const NumpyScalar& s) { return std::isinf(s.f) && s.f < 0; });
        const std::size_t widest = 3 + (negative ? 1 : 0);
        if (widest > right_ + 1) left_ = std::max(left_, widest - right_ - 1);
    }
    std::string operator()(const NumpyScalar& s) const {
        if (!std::isfinite(s.f)) return fmt::format("{:>{}}", not_finite(s), left_ + right_ + 1);
        if (!exponents_) {
            const Parts p = positional(s, precision_);
            return fmt::format("{:>{}}.{:<{}}", p.whole, left_, p.fraction, right_);
        }
        // As many digits as the longest has, exact ones beyond those that tell the number apart.
        const std::string text = fmt::format("{:.{}e}", s.f, precision_);
        const std::size_t at = text.find('e'), point = text.find('.');
        const std::string mantissa = text.substr(0, at) + (point == std::string::npos ? "." : "");
        const std::string power = fmt::format("{}{:0>{}}", text.substr(at + 1, 1), text.substr(at + 2), exponent_);
        return fmt::format("{:>{}}e{}", mantissa, left_ + 1 + static_cast<std::size_t>(precision_), power);
    }

private:
    static bool wants_exponents(const Scalars& finite, const NumpyOptions& options) {
        double least = 0, most = 0;
        bool single = false;
        for (const NumpyScalar& s : finite) {
            const double size = std::fabs(s.f);
            if (size == 0) continue;
            least = least == 0 ? size : std::min(least, size);
            most = std::max(most, size);
            single = s.single;
        }
        if (most == 0) return false;
        const double ratio = single ? static_cast<double>(static_cast<float>(most) / static_cast<float>(least)) : most / least;
        // np.finfo: 6 digits of a float32, 15 of a float64, of which 8 count.
        return most >= (single ? 1e6 : 1e8) || (!options.suppress && (least < 0.0001 || ratio > 1000));
    }
    int precision_;
    bool exponents_ = false;
    std::size_t left_ = 0, right_ = 0, exponent_ = 0;
};

std::string whole_text(const NumpyScalar& s) { return s.kind == NumpyScalar::Kind::Unsigned ? std::to_string(s.u) : std::to_string(s.i); }

Format format_of(const Scalars& all, const NumpyOptions& options) {
    const NumpyScalar::Kind kind = all.empty() ? NumpyScalar::Kind::Int : all.front().kind;
    if (kind == NumpyScalar::Kind::Float) return FloatColumn(all, options);
    if (kind == NumpyScalar::Kind::Bool) return [](const NumpyScalar& s) { return std::string(s.i ? " True" : "False"); };
    std::size_t width = 0;
    for (const NumpyScalar& s : all) width = std::max(width, whole_text(s).size());
    return [width](const NumpyScalar& s) { return fmt::format("{:>{}}", whole_text(s), width); };
}

/// Nested brackets, rows broken where the line is full, long axes cut to their ends (NumPy's _formatArray).
class Nested {
public:
    Nested(const ArrayConst& a, const NumpyOptions& options) : a_(a), options_(options), shape_(a.aval->shape) {
        cut_ = a.aval->size() > options.threshold;
        Scalars shown;
        collect(0, 0, shown);
        format_ = format_of(shown, options);
    }
    std::string text() const { return part(0, 0, " ", static_cast<std::size_t>(options_.linewidth)); }

private:
    std::int64_t edge() const { return options_.edgeitems; }
    bool is_cut(std::size_t axis) const { return cut_ && 2 * edge() < shape_[axis]; }
    /// Positions of an axis that are shown; -1 stands for the dots.
    std::vector<std::int64_t> shown(std::size_t axis) const {
        std::vector<std::int64_t> out;
        for (std::int64_t i = 0; i < shape_[axis]; ++i) {
            if (is_cut(axis) && i == edge()) out.push_back(-1), i = shape_[axis] - edge();
            out.push_back(i);
        }
        return out;
    }
    void collect(std::size_t axis, std::int64_t offset, Scalars& out) const {
        if (axis == shape_.size()) return out.push_back(*numpy_scalar(a_, offset));
        for (const std::int64_t i : shown(axis))
            if (i >= 0) collect(axis + 1, offset * shape_[axis] + i, out);
    }
    static void extend(std::string& s, std::string& line, const std::string& word, std::size_t width, const std::string& indent) {
        if (line.size() + word.size() > width && line.size() > indent.size()) {
            s += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
            line = indent;
        }
        line += word;
    }
    std::string part(std::size_t axis, std::int64_t offset, const std::string& indent, std::size_t width) const {
        const bool row = axis + 1 == shape_.size();
        const std::size_t fits = width - 1;
        std::string s, line = indent;
        const std::string between(row ? 0 : shape_.size() - axis - 1, '\n');
        const std::vector<std::int64_t> positions = shown(axis);
        for (std::size_t k = 0; k < positions.size(); ++k) {
            const std::int64_t i = positions[k], at = offset * shape_[axis] + i;
            const bool last = k + 1 == positions.size();
            const std::string word = i < 0 ? "..." : row ? format_(*numpy_scalar(a_, at)) : part(axis + 1, at, indent + " ", fits);
            if (row) {
                extend(s, line, word, fits, indent);
                if (!last) line += " ";
            } else {
                s += indent + word + (last ? "" : between);
            }
        }
        if (row) s += line;
        return "[" + s.substr(indent.size()) + "]";
    }

    const ArrayConst& a_;
    NumpyOptions options_;
    Dims shape_;
    bool cut_ = false;
    Format format_;
};

}  // namespace

std::optional<NumpyScalar> numpy_scalar(const ArrayConst& array, std::int64_t index) {
    const DType d = array.aval->dtype;
    if (is_key(d) || is_complex(d) || d == DType::Float0) return {};
    NumpyScalar s{};
    const Element e = load_element(d, array.data.data() + index * byte_size(d));
    if (is_inexact(d)) {
        if (d != DType::F32 && d != DType::F64) return {};
        s.kind = NumpyScalar::Kind::Float;
        s.f = e.number.real();
        s.single = d == DType::F32;
        return s;
    }
    s.kind = d == DType::Bool ? NumpyScalar::Kind::Bool : d == DType::U64 ? NumpyScalar::Kind::Unsigned : NumpyScalar::Kind::Int;
    s.i = e.integer;
    s.u = static_cast<std::uint64_t>(e.integer);
    return s;
}

std::string scalar_text(const NumpyScalar& s) {
    if (s.kind == NumpyScalar::Kind::Bool) return s.i ? "True" : "False";
    if (s.kind != NumpyScalar::Kind::Float) return whole_text(s);
    if (!std::isfinite(s.f)) return not_finite(s);
    const double size = std::fabs(s.f);
    if (size == 0 || (size >= 1e-4 && size < 1e16)) {
        const Parts p = positional(s, -1);
        return p.whole + "." + (p.fraction.empty() ? "0" : p.fraction);
    }
    const Scientific e = scientific(s, -1);
    return e.mantissa.whole + (e.mantissa.fraction.empty() ? "" : "." + e.mantissa.fraction) + "e" + e.exponent;
}

std::optional<std::string> numpy_text(const ArrayConst& array, const NumpyOptions& options) {
    if (array.aval->size() == 0) return "[]";
    const std::optional<NumpyScalar> first = numpy_scalar(array, 0);
    if (!first) return {};
    if (array.aval->rank() == 0) return scalar_text(*first);
    return Nested(array, options).text();
}

}  // namespace jaxscope
