// Runs a captured program on the virtual devices of its mesh, for tests/differential/test_sharded_programs.py:
// `device_driver FILE.jaxscope OUT.npz` writes the results as out0, out1, ... and prints what devices sent, found and needed.
#include <iostream>

#include "base/error.h"
#include "devices/device_program.h"
#include "io/arrays/npz.h"
#include "io/load_program.h"
#include "ir/primitive.h"
#include "ir/registry.h"
#include "sharding/captured.h"

int main(int argc, char** argv) {
    using namespace jaxscope;
    if (argc != 3) return 2;
    register_all_primitives();
    try {
        const ProgramPtr program = load_program(argv[1]);
        ShardedExecutable executable(sharding::partition(*program));
        std::vector<NpzArray> members;
        for (const ArrayPtr& a : executable.run(program->values)) members.push_back({"out" + std::to_string(members.size()), a});
        write_npz(argv[2], members);
        for (const auto& c : executable.program().collectives)
            std::cout << "collective " + c.kind->name << " " << c.members << " " << c.bytes << "\n";
        for (const auto& f : executable.program().findings)
            std::cout << "finding " << kind_name(f.kind) << " " + f.primitive->name << " " << to_text(f.aval) << " " << f.spec << " "
                      << f.bytes << "\n";
        for (const std::int64_t peak : executable.peak_bytes()) std::cout << "peak " << peak << "\n";
    } catch (const Error& e) {
        std::cerr << full_text(e) << "\n";
        return exit_code(e.code);
    }
}
