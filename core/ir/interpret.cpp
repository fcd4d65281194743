#include "ir/interpret.h"

namespace jaxscope {

std::string eqn_label(const Jaxpr& j, std::size_t index, Sym path) {
    return "eqn " + (path.empty() ? "" : path.str() + "/") + std::to_string(index) + ": " + j.eqns[index].prim->name;
}

EqnWalk::EqnWalk(const Jaxpr& j, const Options& options) : j_(j), options_(options) {
    if (!options.builder) return;
    source_ = options.builder->source;
    context_ = options.builder->context;
}

EqnWalk::~EqnWalk() {
    if (!options_.builder) return;
    options_.builder->source = source_;
    options_.builder->context = context_;
}

void EqnWalk::add_context(Error& error, std::size_t i) const {
    error.at(j_.eqns[i].source.loc()).in(std::string(options_.doing) + " " + eqn_label(j_, i, options_.path));
}

}  // namespace jaxscope
