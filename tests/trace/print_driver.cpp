// Prints arrays read from a file of float32 numbers, for tests/differential/test_array_text.py. A line "DTYPE D0,D1,..." then the numbers
// of one array; complex ones as pairs. Printed: str, a line "--", repr, a line "==".
#include <jaxscope/jax.h>

#include <complex>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;

int main() {
    const std::map<std::string, jax::dtype> types{{"float32", jnp::float32},    {"float16", jnp::float16}, {"bfloat16", jnp::bfloat16},
                                                  {"int32", jnp::int32},        {"uint8", jnp::uint8},     {"bool", jnp::bool_},
                                                  {"complex64", jnp::complex64}};
    for (std::string head; std::getline(std::cin, head);) {
        const std::string type = head.substr(0, head.find(' '));
        std::vector<std::int64_t> shape;
        std::stringstream dims(head.substr(head.find(' ') + 1));
        for (std::string d; std::getline(dims, d, ',');)
            if (!d.empty()) shape.push_back(std::stoll(d));
        std::string line;
        std::getline(std::cin, line);
        std::stringstream numbers(line);
        std::vector<std::complex<float>> z;
        std::vector<float> x;
        for (std::string s; numbers >> s;) x.push_back(std::stof(s));
        Array a;
        if (type == "complex64") {
            for (std::size_t i = 0; i + 1 < x.size(); i += 2) z.emplace_back(x[i], x[i + 1]);
            a = Array(z, shape);
        } else {
            a = Array(x, shape);
            if (type != "float32") a = a.astype(types.at(type));
        }
        std::cout << a << "\n--\n" << a.repr() << "\n==\n";
    }
}
