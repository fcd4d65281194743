// What core/sharding says of named shardings, for tests/differential/test_sharding.py. A line in: "x=2 y=4|8,6|x,y -" (the mesh, the shape,
// per dimension its axes or -). A line out: the local shape, then each device's ranges: "4,3|0:4,0:3|...".
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "sharding/mesh.h"

namespace {

std::vector<std::string> split(const std::string& text, char by) {
    std::vector<std::string> out;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, by);) out.push_back(part);
    return out;
}

std::string answer(const std::string& line) {
    using namespace jaxscope;
    const std::vector<std::string> parts = split(line, '|');
    sharding::NamedSharding s;
    for (const std::string& axis : split(parts.at(0), ' ')) {
        const auto at = axis.find('=');
        s.mesh.axes.push_back({Sym(axis.substr(0, at)), std::stoll(axis.substr(at + 1))});
    }
    Dims shape;
    for (const std::string& n : split(parts.at(1), ',')) shape.push_back(std::stoll(n));
    for (const std::string& dim : split(parts.at(2), ' ')) {
        sharding::AxisNames& names = s.spec.dims.emplace_back();
        if (dim != "-")
            for (const std::string& n : split(dim, ',')) names.emplace_back(n);
    }
    std::string out;
    for (const std::int64_t n : sharding::shard_shape(shape, s)) out += (out.empty() ? "" : ",") + std::to_string(n);
    for (std::int64_t device = 0; device < s.mesh.devices(); ++device) {
        std::string ranges;
        for (const sharding::Range& r : sharding::shard_index(shape, s, device))
            ranges += (ranges.empty() ? "" : ",") + std::to_string(r.start) + ":" + std::to_string(r.stop);
        out += "|" + ranges;
    }
    return out;
}

}  // namespace

int main() {
    for (std::string line; std::getline(std::cin, line);) std::cout << answer(line) << "\n";
}
