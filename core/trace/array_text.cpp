// How arrays print: as NumPy does.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "ir/element.h"
#include "trace/node.h"
#include "trace/trace.h"

namespace jaxscope::jax {

namespace {

using D = ::jaxscope::DType;

/// The shortest digits that read back as the same float, in positional notation.
std::string digits(double v, D type) {
    if (std::isnan(v)) return "nan";
    if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
    std::string s;
    for (int p = 1; p <= 17; ++p) {
        s = fmt::format("{:.{}e}", v, p - 1);
        const double back = std::stod(s);
        if (type == D::F64 ? back == v : static_cast<float>(back) == static_cast<float>(v)) break;
    }
    const auto e = s.find('e');
    const int exponent = std::stoi(s.substr(e + 1)),
              figures = static_cast<int>(s.substr(0, e).size()) - (s[0] == '-') - (e > 2u + (s[0] == '-'));
    std::string out = fmt::format("{:.{}f}", v, std::max(0, figures - 1 - exponent));
    if (exponent >= 16) return s;
    return out.find('.') == std::string::npos ? out + "." : out;
}

std::vector<std::string> texts(const Array& a) {
    std::vector<std::string> out;
    const auto type = static_cast<D>(a.dtype());
    const std::vector<double> values = a.to_vector();
    bool scientific = false;
    double low = INFINITY, high = 0;
    for (const double v : values)
        if (v != 0 && std::isfinite(v)) low = std::min(low, std::abs(v)), high = std::max(high, std::abs(v));
    scientific = is_float(type) && high > 0 && (high >= 1e8 || low < 1e-4 || high / low > 1000);
    std::size_t after = 0;
    for (const double v : values) {
        if (type == D::Bool)
            out.push_back(v != 0 ? "True" : "False");
        else if (is_integer(type))
            out.push_back(fmt::format("{}", static_cast<std::int64_t>(v)));
        else if (scientific && std::isfinite(v)) {
            std::string s;
            for (int p = 1; p <= 9; ++p) {
                s = fmt::format("{:.{}e}", v, p - 1);
                if (static_cast<float>(std::stod(s)) == static_cast<float>(v)) break;
            }
            out.push_back(s);
        } else {
            std::string s = digits(v, type);
            if (s.find('.') != std::string::npos && s.size() - s.find('.') - 1 > 8) s = fmt::format("{:.8f}", v);
            out.push_back(s);
        }
        const std::size_t dot = out.back().find('.');
        if (is_float(type) && dot != std::string::npos)
            after = std::max(after, out.back().find_first_of("e", dot) == std::string::npos ? out.back().size() - dot - 1
                                                                                            : out.back().find('e') - dot - 1);
    }
    if (values.size() < 2) return out;
    // One column: as many figures behind the point, right-aligned.
    std::size_t width = 0;
    for (std::string& s : out) {
        const std::size_t dot = s.find('.'), e = s.find('e');
        if (is_float(type) && scientific && e != std::string::npos) {
            if (dot == std::string::npos)
                s.insert(e, "." + std::string(after, '0'));
            else
                s.insert(e, std::string(after - (e - dot - 1), '0'));
        } else if (is_float(type) && dot != std::string::npos) {
            s += std::string(after - (s.size() - dot - 1), ' ');
        }
        width = std::max(width, s.size());
    }
    for (std::string& s : out) s.insert(0, std::string(width - s.size(), ' '));
    return out;
}

void nested(const std::vector<std::string>& items, const Shape& shape, std::size_t depth, std::size_t& at, const std::string& separator,
            std::size_t indent, std::string& out) {
    if (depth == shape.size()) {
        out += items[at++];
        return;
    }
    out += '[';
    for (std::int64_t i = 0; i < shape[depth]; ++i) {
        if (i > 0) {
            const std::size_t deeper = shape.size() - depth - 1;
            out += deeper == 0 ? separator + " " : separator + std::string(deeper, '\n') + std::string(indent + depth + 1, ' ');
        }
        nested(items, shape, depth + 1, at, separator, indent, out);
    }
    out += ']';
}

std::string layout(const Array& a, const std::string& separator, std::size_t indent) {
    std::string out;
    std::size_t at = 0;
    nested(texts(a), a.shape(), 0, at, separator, indent, out);
    return out;
}

}  // namespace

std::string Array::str() const {
    if (is_tracer()) return "JitTracer(" + aval() + ")";
    if (is_key(static_cast<D>(dtype()))) return "Array(" + shape().str() + ", dtype=" + info(static_cast<D>(dtype())).name + ")";
    std::string text = layout(*this, "", 0);
    if (ndim() == 0 && !text.empty() && text.back() == '.') text += '0';
    return text;
}
std::string Array::repr() const {
    if (is_tracer()) return str();
    return "Array(" + layout(*this, ",", 6) + ", dtype=" + info(static_cast<D>(dtype())).name + (weak_type() ? ", weak_type=True)" : ")");
}

}  // namespace jaxscope::jax
