// SPDX-License-Identifier: Apache-2.0
#pragma once
// The picture of forward and backward half. Comes in: a Look. Goes out: the node or crossing line that was clicked. Never here: what is
// known or unknown, and where it stands (picture/split_graph).
#include <QWidget>

#include "background/background.h"
#include "graph/graph_scene.h"
#include "graph/graph_view.h"
#include "selection/selection.h"
#include "session/session.h"

class QLabel;

namespace jaxscope::views {

/// The Split tab: what is computed before the tangents come in at the left, what needs them at the right, and what is saved in between.
class SplitView : public QWidget {
    Q_OBJECT
public:
    explicit SplitView(Selection* selection, QWidget* parent = nullptr);
    /// Shows the split of a look; where there is none, why. `added`: equations of its forward half (ResidualRow::equation) whose values are
    /// saved, but not in the program as it is.
    void set_look(const Look& look, std::set<std::string> added = {});
    const GraphScene* scene() const { return scene_; }
    GraphView* view() const { return view_; }
    const SplitPicture& picture() const { return picture_; }
    bool busy() const { return latest_.busy(); }
    void set_expanded(int part, const std::string& key, bool expanded);
    void restyle();
    /// What stands over a half, as it is painted.
    struct Head {
        QString title, detail;
        QRect title_at, detail_at;
        bool below = false;  ///< the detail under the title
    };
    std::array<Head, 2> heads() const;

protected:
    void showEvent(QShowEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    QStringList head_words() const;
    QString saved_words() const;
    int middle() const;
    int beside_tag() const;
    void rebuild();
    std::vector<bool> added_residuals() const;
    void show_picture(bool move);
    /// Marks what is picked; `move`: and brings it into view.
    void mark(const Picked& picked, bool move);
    void pick(int part, int node);
    Picked saved_value(std::uint32_t residual) const;
    int node_of(int part, const std::string& key) const;  ///< -1: not shown

    Selection* selection_;
    GraphScene* scene_;
    GraphView* view_;
    std::shared_ptr<const SplitReport> split_;
    std::shared_ptr<const SplitGraph> graph_;
    Latest latest_;
    std::set<std::string> expanded_[2];
    SplitPicture picture_;
    struct Anchor {
        int part = 0;
        std::string key;
        QPoint at;
    };
    std::optional<Anchor> anchor_;  ///< the item that was opened or closed: stays where it is
    std::set<std::string> added_;
    bool would_be_ = false;        ///< of a gradient that nobody asks for
    bool lacks_gradient_ = false;  ///< the linear half can't be transposed: there is no backward pass
    bool fresh_ = false;
    bool own_pick_ = false;  ///< what was picked was clicked here: it is in view
};

}  // namespace jaxscope::views
