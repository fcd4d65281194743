// SPDX-License-Identifier: Apache-2.0
#pragma once
// The program's text as JAX prints it. Comes in: a program, the selection. Goes out: the equation that was clicked, as a selection. Never
// here: how a jaxpr is printed.
#include "ir/program.h"
#include "selection/selection.h"
#include "text/jaxpr_text.h"

namespace jaxscope::views {

class JaxprView : public JaxprText {
    Q_OBJECT
public:
    explicit JaxprView(Selection* selection, QWidget* parent = nullptr);
    void set_program(const ProgramPtr& program);
    int marked() const { return marked_lines().empty() ? 0 : marked_lines().front() + 1; }  ///< line of what is selected, from 1; 0: none

private:
    void mark_selected(bool bring_into_view);

    Selection* selection_;
    ProgramPtr program_;
    bool own_pick_ = false;
};

}  // namespace jaxscope::views
