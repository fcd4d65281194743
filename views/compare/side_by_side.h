// SPDX-License-Identifier: Apache-2.0
#pragma once
// Two programs as graphs, what differs marked. Comes in: two jaxprs and their difference. Goes out: which equation of which was clicked.
// Never here: finding what differs (analysis/compare).
#include <QLabel>
#include <QWidget>
#include <array>

#include "analysis/compare/program_diff.h"
#include "background/background.h"
#include "graph/graph_scene.h"
#include "graph/graph_view.h"
#include "picture/diff_marks.h"

namespace jaxscope::views {

/// The first one at the left, the second at the right. Groups that hold what differs are open, and say how much of it; a click on one side
/// finds the same place on the other.
class SideBySide : public QWidget {
    Q_OBJECT
public:
    explicit SideBySide(QWidget* parent = nullptr);
    struct Side {
        QString name;
        JaxprPtr jaxpr;
    };
    void set_sides(const Side& first, const Side& second, std::shared_ptr<const ProgramDiff> diff);
    void clear();
    bool busy() const { return sides_[0].making->busy() || sides_[1].making->busy(); }
    const VisibleGraph& graph(int side) const { return sides_[static_cast<std::size_t>(side)].graph; }
    GraphScene* scene(int side) const { return sides_[static_cast<std::size_t>(side)].scene; }
    GraphView* view(int side) const { return sides_[static_cast<std::size_t>(side)].view; }
    QString head(int side) const { return sides_[static_cast<std::size_t>(side)].head->text(); }
    void set_expanded(int side, const std::string& key, bool expanded);
    /// As if it had been clicked.
    void pick(int side, int node);
    /// The next or the one before of what differs, on the side that has it; the first one where none is picked.
    void next_difference(int step);

private:
    struct Shown {
        QString name;
        JaxprPtr jaxpr;
        std::shared_ptr<const GraphModel> model;
        std::shared_ptr<const DiffMarks> marks;
        std::set<std::string> expanded;
        VisibleGraph graph;
        GraphLayout layout;
        GraphScene* scene = nullptr;
        GraphView* view = nullptr;
        QLabel* head = nullptr;
        std::unique_ptr<Latest> making;
        bool fresh = false;
        std::string anchor;
        QPoint anchor_at;
        std::optional<EqnPath> picked;
    };
    void build_side(int side);
    void rebuild(int side);
    void show_side(int side);
    void show_heads();
    void reveal(int side, const EqnPath& path);
    void mark(int side, bool move);
    Shown& at(int side) { return sides_[static_cast<std::size_t>(side)]; }
    std::array<Shown, 2> sides_;
    std::shared_ptr<const ProgramDiff> diff_;
    int difference_ = -1;

protected:
    void showEvent(QShowEvent* event) override;
};

}  // namespace jaxscope::views
