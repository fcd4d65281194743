// SPDX-License-Identifier: Apache-2.0
#include "trace/array_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "ir/types/element.h"

namespace jaxscope::jax::detail {

namespace {

using D = ::jaxscope::DType;
constexpr std::size_t kLineWidth = 75, kPrecision = 8;
constexpr std::int64_t kThreshold = 1000, kEdge = 3;

Element element(const ArrayConst& a, std::int64_t i) { return load_element(a.aval->dtype, a.data.data() + i * byte_size(a.aval->dtype)); }

/// The type of the numbers that print: a complex one's parts.
D part(D type) { return type == D::C64 ? D::F32 : type == D::C128 ? D::F64 : type; }
double rounded(double v, D type) {
    if (type == D::F32) return static_cast<float>(v);
    return type == D::F64 ? v : small_float_value(type, small_float_bits(type, v));
}
/// Digits and exponent of the shortest decimal number that reads back as the same value.
struct Shortest {
    std::string digits;
    int exponent;
};
Shortest shortest(double v, D type) {
    std::string s;
    for (int p = 0; p <= 17; ++p) {
        s = fmt::format("{:.{}e}", std::abs(v), p);
        if (rounded(std::stod(s), type) == std::abs(v)) break;
    }
    const std::size_t e = s.find('e');
    std::string digits = s.substr(0, e);
    digits.erase(std::remove(digits.begin(), digits.end(), '.'), digits.end());
    while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
    return {digits, std::stoi(s.substr(e + 1))};
}
/// "12.5" or "12.": at most `kPrecision` figures behind the point.
std::string positional(double v, D type) {
    const Shortest s = shortest(v, type);
    const int behind = static_cast<int>(s.digits.size()) - 1 - s.exponent;
    std::string out;
    if (behind > static_cast<int>(kPrecision)) {
        out = fmt::format("{:.{}f}", std::abs(v), kPrecision);
        while (out.back() == '0') out.pop_back();
    } else if (s.exponent >= 0) {
        out = s.digits;
        const auto before = static_cast<std::size_t>(s.exponent) + 1;
        if (out.size() < before) out.append(before - out.size(), '0');
        out.insert(before, ".");
    } else {
        out = "0." + std::string(static_cast<std::size_t>(-s.exponent - 1), '0') + s.digits;
        if (v == 0) out = "0.";
    }
    return (std::signbit(v) ? "-" : "") + out;
}
std::string exponent_text(int e) { return fmt::format("e{}{:02}", e < 0 ? '-' : '+', std::abs(e)); }
/// "1.25e+08": `places` figures behind the point, or as many as it takes.
std::string scientific(double v, D type, int places) {
    if (places >= 0) {
        const std::string s = fmt::format("{:.{}e}", v, places);
        return places == 0 ? s.substr(0, s.find('e')) + "." + s.substr(s.find('e')) : s;
    }
    Shortest s = shortest(v, type);
    if (v == 0) s = {"0", 0};
    if (static_cast<int>(s.digits.size()) - 1 > static_cast<int>(kPrecision)) {
        const std::string cut = fmt::format("{:.{}e}", std::abs(v), kPrecision);
        const std::size_t e = cut.find('e');
        s = {cut.substr(0, 1) + cut.substr(2, e - 2), std::stoi(cut.substr(e + 1))};
    }
    return (std::signbit(v) ? "-" : "") + s.digits.substr(0, 1) + "." + s.digits.substr(1) + exponent_text(s.exponent);
}

/// How numbers of one array are written, so that they stand in columns.
class Floats {
public:
    Floats(const std::vector<double>& values, D type, bool plus) : type_(type), plus_(plus) {
        double low = INFINITY, high = 0;
        for (const double v : values) {
            if (!std::isfinite(v) || v == 0) continue;
            low = std::min(low, std::abs(v)), high = std::max(high, std::abs(v));
        }
        const double most = type == D::F16 ? 1e3 : type == D::F32 ? 1e6 : 1e8;
        scientific_ = high > 0 && (high >= most || low < rounded(1e-4, type) || rounded(high / low, type) > 1000);
        for (const double v : values) measure(v);
        for (const double v : values)
            if (!std::isfinite(v))
                left_ = std::max(left_, signed_text(v, special(v)).size() - std::min(signed_text(v, special(v)).size(), right_ + 1));
    }
    std::string text(double v) const {
        if (!std::isfinite(v)) return fmt::format("{:>{}}", signed_text(v, special(v)), left_ + right_ + 1);
        std::string s = signed_text(v, scientific_ ? scientific(v, type_, static_cast<int>(places_)) : positional(v, type_));
        const std::size_t point = s.find('.');
        if (point < left_) s.insert(0, left_ - point, ' ');
        if (s.size() < left_ + right_ + 1) s.append(left_ + right_ + 1 - s.size(), ' ');
        return s;
    }

private:
    static std::string special(double v) { return std::isnan(v) ? "nan" : v < 0 ? "-inf" : "inf"; }
    std::string signed_text(double v, std::string s) const {
        return plus_ && s[0] != '-' && !std::isnan(v) ? "+" + s : plus_ && std::isnan(v) ? "+nan" : s;
    }
    void measure(double v) {
        if (!std::isfinite(v)) return;
        const std::string s = signed_text(v, scientific_ ? scientific(v, type_, -1) : positional(v, type_));
        const std::size_t point = s.find('.'), e = std::min(s.find('e'), s.size());
        left_ = std::max(left_, point);
        places_ = std::max(places_, e - point - 1);
        right_ = std::max(right_, scientific_ ? places_ + s.size() - e : s.size() - point - 1);
        if (scientific_) right_ = std::max(right_, places_ + 4);
    }
    D type_;
    bool plus_, scientific_ = false;
    std::size_t left_ = 0, right_ = 0, places_ = 0;
};

/// str() of a type that NumPy doesn't know: bfloat16, the float8 kinds.
std::string foreign_float(double v) { return std::isnan(v) ? "nan" : fmt::format("{:g}", v); }
bool numpy_knows(D type) { return type == D::F16 || type == D::F32 || type == D::F64; }

std::string integer_text(const Element& e, D type) {
    return type == D::U64 ? fmt::format("{}", static_cast<std::uint64_t>(e.integer)) : fmt::format("{}", e.integer);
}

/// Writes any element of the array; made from those that will be shown.
std::function<std::string(const Element&)> formatter(const std::vector<Element>& shown, D type, bool scalar) {
    if (type == D::Bool) return [scalar](const Element& e) { return std::string(e.integer ? scalar ? "True" : " True" : "False"); };
    if (is_complex(type)) {
        std::vector<double> re, im;
        for (const Element& e : shown) re.push_back(e.number.real()), im.push_back(e.number.imag());
        return [r = Floats(re, part(type), false), i = Floats(im, part(type), true)](const Element& e) {
            std::string imag = i.text(e.number.imag());
            const std::size_t end = imag.find_last_not_of(' ') + 1;
            return r.text(e.number.real()) + imag.substr(0, end) + "j" + imag.substr(end);
        };
    }
    if (is_float(type)) {
        if (!numpy_knows(type)) return [](const Element& e) { return foreign_float(e.number.real()); };
        std::vector<double> values;
        for (const Element& e : shown) values.push_back(e.number.real());
        return [f = Floats(values, type, false)](const Element& e) { return f.text(e.number.real()); };
    }
    std::size_t width = 0;
    for (const Element& e : shown) width = std::max(width, integer_text(e, type).size());
    return [width, type](const Element& e) { return fmt::format("{:>{}}", integer_text(e, type), width); };
}

class Writer {
public:
    Writer(const ArrayConst& a, std::string separator) : a_(a), separator_(std::move(separator)) {
        abridged_ = a.aval->size() > kThreshold;
        std::vector<Element> shown;
        collect(0, 0, shown);
        format_ = formatter(shown, a.aval->dtype, a.aval->rank() == 0);
        end_ = separator_;
        while (!end_.empty() && end_.back() == ' ') end_.pop_back();
    }
    std::string write(std::size_t prefix, std::size_t suffix) { return nested(0, 0, std::string(prefix + 1, ' '), kLineWidth - suffix); }

private:
    std::size_t rank() const { return a_.aval->shape.size(); }
    std::int64_t length(std::size_t axis) const { return a_.aval->shape[axis]; }
    bool left_out(std::size_t axis) const { return abridged_ && 2 * kEdge < length(axis); }
    /// Calls f with the indices along an axis that are shown, and -1 for the dots.
    template <class F>
    void along(std::size_t axis, const F& f) const {
        for (std::int64_t i = 0; i < length(axis); ++i) {
            if (left_out(axis) && i == kEdge) {
                f(-1);
                i = length(axis) - kEdge;
            }
            f(i);
        }
    }
    void collect(std::size_t axis, std::int64_t offset, std::vector<Element>& out) const {
        if (axis == rank()) return out.push_back(element(a_, offset));
        along(axis, [&](std::int64_t i) {
            if (i >= 0) collect(axis + 1, offset * length(axis) + i, out);
        });
    }
    std::string nested(std::size_t axis, std::int64_t offset, const std::string& indent, std::size_t width) {
        if (axis == rank()) return format_(element(a_, offset));
        std::string out = axis + 1 == rank() ? row(axis, offset, indent, width) : rows(axis, offset, indent, width);
        return "[" + out.substr(indent.size()) + "]";
    }
    std::string row(std::size_t axis, std::int64_t offset, const std::string& indent, std::size_t width) {
        const std::size_t room = width - std::max<std::size_t>(end_.size(), 1);
        std::string done, line = indent;
        bool first = true;
        along(axis, [&](std::int64_t i) {
            if (!first) line += separator_;
            first = false;
            const std::string word = i < 0 ? "..." : nested(axis + 1, offset * length(axis) + i, indent + ' ', width - 1);
            if (line.size() + word.size() > room && line.size() > indent.size()) {
                while (!line.empty() && line.back() == ' ') line.pop_back();
                done += line + "\n";
                line = indent;
            }
            line += word;
        });
        return done + line;
    }
    std::string rows(std::size_t axis, std::int64_t offset, const std::string& indent, std::size_t width) {
        std::string out;
        bool first = true;
        along(axis, [&](std::int64_t i) {
            if (!first) out += end_ + std::string(rank() - axis - 1, '\n');
            first = false;
            out += indent + (i < 0 ? "..." : nested(axis + 1, offset * length(axis) + i, indent + ' ', width - 1));
        });
        return out;
    }
    const ArrayConst& a_;
    std::string separator_, end_;
    bool abridged_ = false;
    std::function<std::string(const Element&)> format_;
};

/// Python's text of one float: positional while all its digits are exact.
std::string float_scalar(double v, D type) {
    if (std::isnan(v)) return "nan";
    if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
    const double most = type == D::F16 ? 1e3 : type == D::F32 ? 1e6 : 1e16;
    const Shortest s = shortest(v, type);
    if (v == 0 || (std::abs(v) >= 1e-4 && std::abs(v) < most)) {
        std::string out;
        if (v == 0 || s.exponent >= 0) {
            out = v == 0 ? "0" : s.digits;
            const auto before = static_cast<std::size_t>(v == 0 ? 1 : s.exponent + 1);
            if (out.size() < before) out.append(before - out.size(), '0');
            out.insert(before, ".");
            if (out.back() == '.') out += '0';
        } else {
            out = "0." + std::string(static_cast<std::size_t>(-s.exponent - 1), '0') + s.digits;
        }
        return (std::signbit(v) ? "-" : "") + out;
    }
    return (v < 0 ? "-" : "") + s.digits.substr(0, 1) + (s.digits.size() > 1 ? "." + s.digits.substr(1) : "") + exponent_text(s.exponent);
}

}  // namespace

std::string array_layout(const ArrayConst& a, const std::string& separator, std::size_t prefix, std::size_t suffix) {
    if (a.aval->size() == 0) return "[]";
    return Writer(a, separator).write(prefix, suffix);
}

std::string scalar_text(const ArrayConst& a) {
    const D type = a.aval->dtype;
    const Element e = element(a, 0);
    if (type == D::Bool) return e.integer ? "True" : "False";
    if (is_complex(type)) {
        const auto plain = [&](double v) {
            std::string s = float_scalar(v, part(type));
            return s.ends_with(".0") ? s.substr(0, s.size() - 2) : s;
        };
        const double re = e.number.real(), im = e.number.imag();
        const std::string imag = (std::signbit(im) && !std::isnan(im) ? "" : re == 0 && !std::signbit(re) ? "" : "+") + plain(im) + "j";
        return re == 0 && !std::signbit(re) ? imag : "(" + plain(re) + imag + ")";
    }
    if (!is_float(type)) return integer_text(e, type);
    return numpy_knows(type) ? float_scalar(e.number.real(), type) : foreign_float(e.number.real());
}

}  // namespace jaxscope::jax::detail
