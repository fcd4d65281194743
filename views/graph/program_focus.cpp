// SPDX-License-Identifier: Apache-2.0
// What of the program's picture is shown: ways through it, parts of it, and how it is grouped.
#include "base/units.h"
#include "graph/program_view.h"
#include "picture/reach.h"
#include "theme/theme.h"

namespace jaxscope::views {

std::string ProgramView::picked_key() const {
    const NodeItem* item = scene_->picked();
    return item == nullptr ? std::string() : graph_.nodes[static_cast<std::size_t>(item->index())].key;
}

void ProgramView::forget_focus() {
    focus_ = Focus::Everything;
    focus_on_.clear();
    focus_from_.clear();
    picked_now_.clear();
    picked_before_.clear();
    hidden_.clear();
}

void ProgramView::focus(Focus how) {
    if (how == Focus::Everything) {
        const std::string now = picked_now_, before = picked_before_;
        forget_focus();
        picked_now_ = now;
        picked_before_ = before;
        scene_->clear_focus();
        Q_EMIT focus_changed({});
        return;
    }
    const std::string key = picked_key();
    if (key.empty()) return Q_EMIT focus_changed(tr("Select a node of the graph first."));
    if (how == Focus::Path && (picked_before_.empty() || picked_before_ == key))
        return Q_EMIT focus_changed(tr("Select where the way begins, then where it ends."));
    focus_ = how;
    focus_on_ = key;
    focus_from_ = how == Focus::Path ? picked_before_ : std::string();
    apply_focus();
    const std::vector<bool> shown = focused_nodes();
    std::int64_t count = 0;
    for (std::size_t n = 0; n < shown.size(); ++n) count += shown[n] && !graph_.nodes[n].expanded;
    const QString title = utf8(graph_.nodes[graph_.by_key.at(key)].title), nodes = utf8(count_text(count));
    switch (how) {
        case Focus::MadeOf:
            return Q_EMIT focus_changed(tr("Lit: what %1 is made of, %2 nodes.").arg(title, nodes));
        case Focus::MadeFrom:
            return Q_EMIT focus_changed(tr("Lit: what is made of %1, %2 nodes.").arg(title, nodes));
        case Focus::Path:
            return Q_EMIT focus_changed(count == 0 ? tr("No value goes from the one to the other.")
                                                   : tr("Lit: the ways to %1 from what was selected before, %2 nodes.").arg(title, nodes));
        default:
            return Q_EMIT focus_changed(tr("%1 alone, with what it reads and what reads it.").arg(title));
    }
}

void ProgramView::toggle_picked() {
    const NodeItem* item = scene_->picked();
    if (item == nullptr || !item->expandable()) return Q_EMIT focus_changed(tr("There is nothing inside of what is selected."));
    const std::string key = picked_key();
    set_expanded(key, !expanded_.contains(key));
}

void ProgramView::hide_picked() {
    const std::string key = picked_key();
    if (key.empty()) return Q_EMIT focus_changed(tr("Select a node of the graph first."));
    hidden_.insert(key);
    focus_ = Focus::Everything;
    apply_focus();
    Q_EMIT focus_changed(tr("%1 nodes are hidden.").arg(hidden_.size()));
}

/// Of what isn't in the picture any more everything.
std::vector<bool> ProgramView::focused_nodes() const {
    const auto on = graph_.by_key.find(focus_on_), from = graph_.by_key.find(focus_from_);
    const std::vector<bool> all(graph_.nodes.size(), true);
    if (focus_ != Focus::Everything && on == graph_.by_key.end()) return all;
    switch (focus_) {
        case Focus::MadeOf:
            return made_of(graph_, on->second);
        case Focus::MadeFrom:
            return made_from(graph_, on->second);
        case Focus::Path:
            return from == graph_.by_key.end() ? all : between(graph_, from->second, on->second);
        case Focus::Alone: {
            std::vector<bool> out(graph_.nodes.size(), false);
            out[on->second] = true;
            for (std::size_t n = 0; n < out.size(); ++n)  // frames stand before what they hold
                if (const int frame = graph_.nodes[n].frame; frame != VisibleGraph::kTop && out[static_cast<std::size_t>(frame)])
                    out[n] = true;
            const std::vector<bool> own = out;
            for (const auto& edge : graph_.edges) {
                if (own[edge.from]) out[edge.to] = true;
                if (own[edge.to]) out[edge.from] = true;
            }
            return out;
        }
        case Focus::Everything:
            break;
    }
    std::vector<bool> out = all;
    for (std::size_t n = 0; n < out.size(); ++n) {
        const int frame = graph_.nodes[n].frame;
        const bool inside = frame != VisibleGraph::kTop && !out[static_cast<std::size_t>(frame)];
        out[n] = !inside && !hidden_.contains(graph_.nodes[n].key);
    }
    return out;
}

void ProgramView::apply_focus() {
    if (focus_ == Focus::Everything && hidden_.empty()) return;
    scene_->set_focus(0, focused_nodes(), focus_ == Focus::Everything || focus_ == Focus::Alone);
}

void ProgramView::set_grouping(Grouping grouping) {
    if (grouping == grouping_) return;
    grouping_ = grouping;
    model_ = nullptr;
    expanded_.clear();
    touched_ = false;
    fresh_ = true;
    forget_focus();
    rebuild();
}

}  // namespace jaxscope::views
