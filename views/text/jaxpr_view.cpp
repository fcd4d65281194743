// SPDX-License-Identifier: Apache-2.0
#include "text/jaxpr_view.h"

#include <algorithm>

#include "analysis/equations/eqn_path.h"

namespace jaxscope::views {

JaxprView::JaxprView(Selection* selection, QWidget* parent) : JaxprText(parent), selection_(selection) {
    setAccessibleName(tr("Text of the program"));
    connect(selection_, &Selection::changed, this, [this] { mark_selected(!own_pick_); });
    connect(this, &JaxprText::printed, this, [this] { mark_selected(true); });
    connect(this, &JaxprText::clicked, this, [this](const EqnLine* equation) {
        Picked picked;
        picked.program = path_of(*program_->jaxpr, *equation->jaxpr, equation->eqn);
        if (!picked.program) return;
        own_pick_ = true;
        selection_->pick(picked);
        own_pick_ = false;
    });
}

void JaxprView::set_program(const ProgramPtr& program) {
    program_ = program;
    set_jaxpr(program->jaxpr);
}

void JaxprView::mark_selected(bool bring_into_view) {
    std::vector<int> lines;
    if (const auto& path = selection_->picked().program; path && !equations().empty()) {
        const Jaxpr* jaxpr = &resolve(*program_->jaxpr, path->jaxpr);
        const auto at =
            std::find_if(equations().begin(), equations().end(), [&](const EqnLine& e) { return e.jaxpr == jaxpr && e.eqn == path->eqn; });
        if (at != equations().end()) lines.push_back(static_cast<int>(at->line));
    }
    mark(lines, bring_into_view);
}

}  // namespace jaxscope::views
