#pragma once
#include <QWidget>

#include "graph/graph_layouter.h"
#include "graph/graph_scene.h"
#include "graph/graph_view.h"
#include "selection/selection.h"

namespace jaxscope::views {

/// The Program tab: the captured jaxpr as a collapsible graph.
class ProgramView : public QWidget {
    Q_OBJECT
public:
    explicit ProgramView(Selection* selection, QWidget* parent = nullptr);
    void set_program(ProgramPtr program);
    const GraphModel* model() const { return model_.get(); }
    const VisibleGraph& graph() const { return graph_; }
    const GraphScene* scene() const { return scene_; }
    GraphView* view() const { return view_; }
    void set_expanded(const std::string& key, bool expanded);
    void collapse_all();
    /// Opens what is around an equation and brings it into view.
    void reveal(const EqnPath& path);
    void restyle();
    bool busy() const { return layouter_->busy(); }
    NodeItem* node(const std::string& key) const;

Q_SIGNALS:
    void laid_out();  ///< the picture shows what was asked for
    void expanded_changed();

private:
    void rebuild();
    void show_graph(LaidOut& result);
    void follow(const Picked& picked);
    void pick(int node);
    void centre_on(int node);

    Selection* selection_;
    GraphScene* scene_;
    GraphView* view_;
    ProgramPtr program_;
    std::unique_ptr<GraphModel> model_;
    std::set<std::string> expanded_;
    GraphLayouter* layouter_;
    VisibleGraph graph_;  ///< what the scene shows
    GraphLayout layout_;
    std::string anchor_;  ///< the item that was opened or closed: stays where it is
    QPoint anchor_at_;
    bool fresh_ = false;

protected:
    void showEvent(QShowEvent* event) override;
};

}  // namespace jaxscope::views
