// SPDX-License-Identifier: Apache-2.0
#include "picture/opened_groups.h"

#include <fmt/format.h>

#include "base/error.h"

namespace jaxscope {

std::set<std::string> opened_groups(const GraphModel& model, Depth depth, std::size_t budget) {
    if (!depth) return model.first_look(budget);
    std::set<std::string> opened;
    std::vector<GraphItem> level = model.children(model.root_item());
    std::size_t shown = level.size();
    for (int n = 0; n < *depth && !level.empty(); ++n) {
        std::vector<GraphItem> inner;
        for (const GraphItem& item : level) {
            if (!item.expandable) continue;
            opened.insert(item.key);
            for (GraphItem& child : model.children(item)) inner.push_back(std::move(child));
        }
        shown += inner.size();
        if (shown > kMostGraphNodes)
            throw Error(
                ErrorCode::LimitExceeded,
                fmt::format("expected a picture of at most {} nodes, found more with {} levels of groups open", kMostGraphNodes, n + 1))
                .advise(fmt::format("--depth {}", n));
        level = std::move(inner);
    }
    return opened;
}

}  // namespace jaxscope
