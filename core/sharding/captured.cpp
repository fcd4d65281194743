#include "sharding/captured.h"

#include "base/error.h"

namespace jaxscope::sharding {

std::optional<Mesh> mesh_of(const Program& program) {
    for (const Attr& a : program.in_shardings)
        if (const auto s = named_sharding_from(a)) return s->mesh;
    return mesh_of(*program.jaxpr);
}

Partitioned partition(const Program& program) {
    const std::optional<Mesh> mesh = mesh_of(program);
    if (!mesh)
        throw Error(ErrorCode::CannotRun, "expected a program over several devices, found one in which nothing names a mesh")
            .at({program.path, 0, 0});
    PartitionRequest request{.program = program.jaxpr, .mesh = *mesh};
    for (std::size_t i = 0; i < program.in_shardings.size(); ++i) {
        const auto s = named_sharding_from(program.in_shardings[i]);
        if (s && !(s->mesh == *mesh))
            throw Error(ErrorCode::NoRule,
                        "expected all inputs over " + to_text(*mesh) + ", found " + program.in_paths[i].str() + " over " + to_text(s->mesh))
                .at({program.path, 0, 0});
        request.in.push_back(s ? std::optional(s->spec) : std::nullopt);
    }
    return partition(request);
}

}  // namespace jaxscope::sharding
