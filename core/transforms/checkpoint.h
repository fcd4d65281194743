#pragma once
#include <optional>
#include <vector>

#include "ir/jaxpr.h"
#include "ir/primitive.h"

namespace jaxscope {

/// Parameters of remat2 (jax.checkpoint).
struct RematParams {
    bool differentiated = false;
    Attr::JaxprRef jaxpr;  ///< open
    PolicyPtr policy;      ///< null: nothing_saveable
    Attr prevent_cse;      ///< a bool, or a tuple with one per input
    static constexpr auto kFields = std::tuple(field("differentiated", &RematParams::differentiated), field("jaxpr", &RematParams::jaxpr),
                                               field("policy", &RematParams::policy), field("prevent_cse", &RematParams::prevent_cse));
};

/// jax.checkpoint of a whole function: one remat2 equation with all constvars and inputs. Constvars stay constvars.
JaxprPtr checkpoint(const JaxprPtr& j, const PolicyPtr& policy, SourceRef source = {});

/// The jaxpr with another policy in its remat2 equations, nested ones too. `site`: only the site-th of them, counted in program order, each
/// shared body once; none: all that aren't differentiated yet. Throws Error{NotFound} when there is no such site.
JaxprPtr replace_policy(const JaxprPtr& j, std::optional<int> site, const PolicyPtr& policy);

}  // namespace jaxscope
