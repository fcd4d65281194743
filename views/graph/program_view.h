// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <QWidget>

#include "donation/pairing.h"
#include "graph/graph_layouter.h"
#include "graph/graph_scene.h"
#include "graph/graph_view.h"
#include "picture/saved_values.h"
#include "selection/selection.h"

namespace jaxscope::views {

/// The Program tab: the captured jaxpr as a collapsible graph.
class ProgramView : public QWidget {
    Q_OBJECT
public:
    explicit ProgramView(Selection* selection, QWidget* parent = nullptr);
    void set_program(ProgramPtr program);
    /// What is saved, as the program knows it, once that is known; null: nothing is. Until the user has opened or closed something, what is
    /// open is chosen by it.
    void set_saved(std::shared_ptr<const std::vector<SavedValue>> saved);
    /// Which inputs' memory outputs take.
    void set_donation(std::shared_ptr<const DonationReport> donation);
    /// Null until the first picture of a program is there.
    std::shared_ptr<const GraphModel> model() const { return model_; }
    const GraphLayout& layout_of_graph() const { return layout_; }
    const VisibleGraph& graph() const { return graph_; }
    const GraphScene* scene() const { return scene_; }
    GraphView* view() const { return view_; }
    void set_expanded(const std::string& key, bool expanded);
    /// What is open, by key; and the same once more, as the user had it.
    const std::set<std::string>& expanded() const { return expanded_; }
    bool touched() const { return touched_; }
    void expand(std::set<std::string> keys);
    void collapse_all();
    /// What of the picture is shown: of what is picked all that it is made of, all that is made of it, the ways to it from what was picked
    /// before, it alone with what is next to it; or everything but what was hidden.
    enum class Focus { Everything, MadeOf, MadeFrom, Path, Alone };
    void focus(Focus how);
    /// Hides what is picked; `focus(Everything)` brings it back.
    /// Opens or closes what is picked.
    void toggle_picked();
    void hide_picked();
    Focus focused() const { return focus_; }
    bool hides() const { return !hidden_.empty(); }
    /// How equations are put into groups; what was open is chosen anew.
    void set_grouping(Grouping grouping);
    Grouping grouping() const { return grouping_; }
    /// Opens what is around an equation and brings it into view.
    void reveal(const EqnPath& path);
    void restyle();
    bool busy() const { return layouter_->busy(); }
    NodeItem* node(const std::string& key) const;

Q_SIGNALS:
    void laid_out();  ///< the picture shows what was asked for
    void model_ready();
    void expanded_changed();
    /// In words; empty: everything is shown.
    void focus_changed(const QString& what);

private:
    void apply_focus();
    void forget_focus();
    std::vector<bool> focused_nodes() const;
    std::string picked_key() const;
    void rebuild();
    void show_graph(LaidOut& result);
    void fill_scene();
    /// `move`: brings it into view, too.
    void mark(const Picked& picked, bool move);
    void pick(int node);
    void centre_on(int node);

    Selection* selection_;
    GraphScene* scene_;
    GraphView* view_;
    ProgramPtr program_;
    std::shared_ptr<const GraphModel> model_;
    std::set<std::string> expanded_;
    /// What the first picture of a program is made of, in the background.
    struct Opening {
        std::shared_ptr<const GraphModel> model;
        std::set<std::string> expanded;
    };
    std::shared_ptr<Opening> opening_;
    GraphLayouter* layouter_;
    VisibleGraph graph_;  ///< what the scene shows
    GraphLayout layout_;
    std::string anchor_;  ///< the item that was opened or closed: stays where it is
    QPoint anchor_at_;
    std::shared_ptr<const std::vector<SavedValue>> saved_;
    std::shared_ptr<const DonationReport> donation_;
    std::optional<EqnPath> marked_;  ///< what the selection was when it was marked last:
    std::string marked_group_;       ///< that more becomes known of it moves nothing
    Focus focus_ = Focus::Everything;
    std::string focus_on_, focus_from_;       ///< keys of the nodes that it is of
    std::string picked_now_, picked_before_;  ///< keys, for the way from the one to the other
    std::set<std::string> hidden_;            ///< keys
    Grouping grouping_ = Grouping::Auto;
    bool touched_ = false;  ///< the user has opened or closed something
    bool fresh_ = false;
    bool own_pick_ = false;  ///< what was picked was clicked here: it is in view

protected:
    void showEvent(QShowEvent* event) override;
};

}  // namespace jaxscope::views
