// SPDX-License-Identifier: Apache-2.0
#pragma once
// Graphs on screen. Comes in: what picture laid out. Goes out: clicks on nodes and lines. Never here: layout (GraphLayouter
// asks for it in the background) and jaxprs.
#include <QGraphicsScene>
#include <QTimer>
#include <optional>
#include <set>

#include "graph/graph_items.h"

namespace jaxscope::views {

/// Draws laid-out graphs: one for a program, two (parts 0 and 1) and what crosses between them for a split. Knows nodes by part and
/// index; what they stand for is the owner's business.
class GraphScene : public QGraphicsScene {
    Q_OBJECT
public:
    explicit GraphScene(QObject* parent = nullptr);
    void reset();
    void add_part(const VisibleGraph& graph, const GraphLayout& layout);
    /// `added`: per residual, is it none of the program as it is? Empty: nothing is.
    void add_crossings(const SplitPicture& picture, const std::vector<bool>& added);
    /// Tags on the inputs whose memory results take (`given`: their numbers among the invars), and on the results: each leads to the other.
    void add_ties(const VisibleGraph& graph, const GraphLayout& layout, std::uint32_t constants, const std::set<int>& given,
                  std::int64_t bytes);
    /// Shows some nodes of a part alone: the others fade, or aren't there at all. Until `clear_focus` the pointer lights up nothing.
    void set_focus(int part, const std::vector<bool>& shown, bool hide);
    void clear_focus();
    void pointer_left();
    bool dimmed() const { return dimmed_; }  ///< for the node under the pointer
    void set_picked(int part, int node);     ///< -1: none
    void set_picked_residual(int residual);  ///< -1: none
    NodeItem* node(int part, int index) const;
    int parts() const { return static_cast<int>(parts_.size()); }
    int nodes(int part) const { return static_cast<int>(parts_[static_cast<std::size_t>(part)].nodes.size()); }
    int nodes() const;                                  ///< of all parts
    const NodeItem* picked() const { return picked_; }  ///< the marked one, or null
    CrossingItem* crossing_of(int residual) const;
    /// Grounds of the two halves of a split, and where they meet; a program has none.
    void set_halves(bool split, double boundary = 0) { split_ = split, boundary_ = boundary, changed_now(); }
    std::optional<double> boundary() const { return split_ ? std::optional(boundary_) : std::nullopt; }
    /// Another number after every change of what is seen, told at once: no other scene has it.
    quint64 version() const { return version_; }
    std::size_t crowd() const { return crowd_; }  ///< how many items there are

Q_SIGNALS:
    void node_clicked(int part, int node);
    void node_walked(int part, int node);  ///< with the arrow keys
    void node_toggled(int part, int node);
    void portal_clicked(int part, int target);
    void crossing_clicked(int residual);
    void ground_clicked();

protected:
    void mousePressEvent(QGraphicsSceneMouseEvent* event) override;
    void mouseDoubleClickEvent(QGraphicsSceneMouseEvent* event) override;
    void mouseMoveEvent(QGraphicsSceneMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void drawBackground(QPainter* painter, const QRectF& rect) override;

private:
    void changed_now();
    void add(QGraphicsItem* item);
    void pick_under(QPointF at);
    void hover(NodeItem* box);
    void light_up(NodeItem* around);
    NodeItem* next(const NodeItem& from, int key) const;
    /// Lights up a node, what it holds, and what is two steps away; `own` is the node and what it holds.
    struct Lit {
        std::vector<bool> own, near;
    };
    struct Part {
        Lit around(std::size_t node) const;
        void light(const std::vector<bool>& lit) const;
        /// With the frames around them.
        std::vector<bool> with_frames(std::vector<bool> nodes) const;
        std::vector<int> frame;  ///< per node: the expanded one around it, or VisibleGraph::kTop
        std::vector<NodeItem*> nodes;
        std::vector<LineItem*> lines;
        std::vector<PortalItem*> portals;
        std::vector<std::vector<std::uint32_t>> below, above;
    };
    std::vector<Part> parts_;
    std::vector<CrossingItem*> crossings_;
    NodeItem *picked_ = nullptr, *hovered_ = nullptr;
    CrossingItem* picked_crossing_ = nullptr;
    QTimer hover_timer_;
    bool split_ = false, dimmed_ = false, focused_ = false;
    double boundary_ = 0;
    quint64 version_ = 0;
    std::size_t crowd_ = 0;
};

}  // namespace jaxscope::views
