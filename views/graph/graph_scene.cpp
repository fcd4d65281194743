// SPDX-License-Identifier: Apache-2.0
#include "graph/graph_scene.h"

#include <QAccessible>
#include <QGraphicsSceneMouseEvent>
#include <QGraphicsView>
#include <QKeyEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "graph/accessible_graph.h"
#include "graph/graph_view.h"
#include "theme/theme.h"

namespace jaxscope::views {
namespace {

constexpr int kHoverDelay = 180;  // so that crossing the picture with the mouse doesn't flicker
constexpr double kDimmed = 0.3;

template <class Item>
Item* item_at(const QGraphicsScene& scene, QPointF point) {
    for (QGraphicsItem* item : scene.items(point))
        if (item->type() == Item::Type) return static_cast<Item*>(item);
    return nullptr;
}

QString line_tip(const VisibleGraph& graph, const GraphLayout::Line& line) {
    const VisibleGraph::Edge& edge = graph.edges[line.edge];
    const std::string what = line.values == 1 ? to_text(edge.aval) + ", " : count_text(line.values) + " values, ";
    return utf8(what + bytes_text(line.bytes) + "\n" + graph.nodes[line.from].title + " \u2192 " + graph.nodes[line.to].title);
}

QString portal_tip(const VisibleGraph& graph, const Portal& portal) {
    std::string text = portal.incoming ? "comes from " : "goes to ";
    for (std::size_t k = 0; k < portal.targets.size() && k < 6; ++k) text += (k > 0 ? ", " : "") + graph.nodes[portal.targets[k]].title;
    if (portal.targets.size() > 6) text += ", \u2026";
    return utf8(text + "\n" + bytes_text(portal.bytes) + "; click to go there");
}

}  // namespace

GraphScene::GraphScene(QObject* parent) : QGraphicsScene(parent) {
    hover_timer_.setSingleShot(true);
    connect(&hover_timer_, &QTimer::timeout, this, [this] { light_up(hovered_); });
}

void GraphScene::changed_now() {
    static quint64 last = 0;
    version_ = ++last;
}

void GraphScene::add(QGraphicsItem* item) {
    addItem(item);
    ++crowd_;
    changed_now();
}

void GraphScene::reset() {
    changed_now();
    crowd_ = 0;
    hover_timer_.stop();
    picked_ = hovered_ = nullptr;
    picked_crossing_ = nullptr;
    dimmed_ = focused_ = false;
    parts_.clear();
    crossings_.clear();
    clear();
}

void GraphScene::add_part(const VisibleGraph& graph, const GraphLayout& layout) {
    const int number = static_cast<int>(parts_.size());
    Part& part = parts_.emplace_back();
    part.below.resize(graph.nodes.size());
    part.above.resize(graph.nodes.size());
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
        part.nodes.push_back(new NodeItem(graph.nodes[n], layout.nodes[n], number, static_cast<int>(n)));
        part.frame.push_back(graph.nodes[n].frame);
        add(part.nodes.back());
    }
    for (const auto& line : layout.lines) {
        part.lines.push_back(new LineItem(line, line_tip(graph, line)));
        add(part.lines.back());
    }
    for (const Portal& portal : layout.portals) {
        const bool on_frame = graph.nodes[portal.node].expanded;
        if (on_frame) part.nodes[portal.node]->keep_clear(portal.rect);
        part.portals.push_back(new PortalItem(portal, layout.nodes[portal.node], number, on_frame, portal_tip(graph, portal)));
        add(part.portals.back());
    }
    for (const auto& edge : graph.edges) {
        part.below[edge.from].push_back(edge.to);
        part.above[edge.to].push_back(edge.from);
    }
}

void GraphScene::add_crossings(const SplitPicture& picture, const std::vector<bool>& added) {
    for (const auto& crossing : picture.crossings) {
        const bool is_new = std::any_of(crossing.residuals.begin(), crossing.residuals.end(),
                                        [&](std::uint32_t k) { return k < added.size() && added[k]; });
        crossings_.push_back(new CrossingItem(crossing, {picture.boundary, crossing.label_y}, is_new));
        crossings_.back()->setToolTip(utf8(picture.known.nodes[crossing.from].title + " \u2192 " +
                                           picture.unknown.nodes[crossing.to].title + "\nsaved, " + crossing.label));
        add(crossings_.back());
    }
}

void GraphScene::add_ties(const VisibleGraph& graph, const GraphLayout& layout, std::uint32_t constants, const std::set<int>& given,
                          std::int64_t bytes) {
    int results = -1;
    std::vector<int> inputs;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
        const auto& node = graph.nodes[n];
        if (node.frame != VisibleGraph::kTop) continue;
        const bool donated = node.kind == GraphItem::Kind::Inputs || (node.kind == GraphItem::Kind::Input && node.begin >= constants &&
                                                                      given.contains(static_cast<int>(node.begin - constants)));
        if (donated) inputs.push_back(static_cast<int>(n));
        if (node.kind == GraphItem::Kind::Results) results = static_cast<int>(n);
    }
    if (results < 0 || inputs.empty()) return;
    const auto tag = [&](int node, int target, const std::string& text, const std::string& tip) {
        add(new TieItem(layout.nodes[static_cast<std::size_t>(node)], node, target, utf8(text), utf8(tip)));
    };
    for (const int input : inputs) {
        const auto& node = graph.nodes[static_cast<std::size_t>(input)];
        const std::int64_t own = node.kind == GraphItem::Kind::Input ? node.bytes : bytes;
        tag(input, results, "\u27f2 " + bytes_text(own) + " donated", "Results take this memory; click to go there");
    }
    tag(results, inputs.front(), "\u27f2 " + bytes_text(bytes) + " reused", "In the memory of donated inputs; click to go there");
}

NodeItem* GraphScene::node(int part, int index) const {
    if (part < 0 || static_cast<std::size_t>(part) >= parts_.size()) return nullptr;
    const auto& nodes = parts_[static_cast<std::size_t>(part)].nodes;
    return index < 0 || static_cast<std::size_t>(index) >= nodes.size() ? nullptr : nodes[static_cast<std::size_t>(index)];
}

int GraphScene::nodes() const {
    int all = 0;
    for (int part = 0; part < parts(); ++part) all += nodes(part);
    return all;
}

CrossingItem* GraphScene::crossing_of(int residual) const {
    for (CrossingItem* item : crossings_) {
        const auto& which = item->crossing().residuals;
        if (residual >= 0 && std::find(which.begin(), which.end(), static_cast<std::uint32_t>(residual)) != which.end()) return item;
    }
    return nullptr;
}

void GraphScene::set_picked(int part, int index) {
    changed_now();
    if (picked_ != nullptr) picked_->set_picked(false);
    picked_ = node(part, index);
    if (picked_ != nullptr) picked_->set_picked(true);
    // What a screen reader says of the picture.
    for (QGraphicsView* view : views()) {
        view->setAccessibleDescription(picked_ == nullptr ? QString() : picked_->words());
        const auto* graph = qobject_cast<const GraphView*>(view);
        if (picked_ == nullptr || graph == nullptr || !graph->hasFocus()) continue;
        QAccessibleEvent told(view, QAccessible::Focus);
        told.setChild(accessible_child(*graph, picked_->part(), picked_->index()));
        QAccessible::updateAccessibility(&told);
    }
}

void GraphScene::set_picked_residual(int residual) {
    changed_now();
    if (picked_crossing_ != nullptr) picked_crossing_->set_picked(false);
    picked_crossing_ = crossing_of(residual);
    if (picked_crossing_ != nullptr) picked_crossing_->set_picked(true);
}

void GraphScene::mousePressEvent(QGraphicsSceneMouseEvent* event) {
    QGraphicsScene::mousePressEvent(event);
    const QPointF at = event->scenePos();
    if (event->button() == Qt::RightButton) return pick_under(at);
    if (event->button() != Qt::LeftButton) return;
    if (auto* tie = item_at<TieItem>(*this, at)) {
        Q_EMIT portal_clicked(0, tie->target());
    } else if (auto* portal = item_at<PortalItem>(*this, at)) {
        Q_EMIT portal_clicked(portal->part(), portal->target());
    } else if (auto* box = item_at<NodeItem>(*this, at)) {
        if (box->on_toggle(at))
            Q_EMIT node_toggled(box->part(), box->index());
        else
            Q_EMIT node_clicked(box->part(), box->index());
    } else if (auto* crossing = item_at<CrossingItem>(*this, at)) {
        Q_EMIT crossing_clicked(static_cast<int>(crossing->crossing().residuals.front()));
    } else {
        Q_EMIT ground_clicked();
    }
}

/// The menu that opens is about what is under the pointer, never about an earlier selection.
void GraphScene::pick_under(QPointF at) {
    if (auto* box = item_at<NodeItem>(*this, at)) {
        if (box != picked_) Q_EMIT node_clicked(box->part(), box->index());
    } else if (auto* crossing = item_at<CrossingItem>(*this, at)) {
        Q_EMIT crossing_clicked(static_cast<int>(crossing->crossing().residuals.front()));
    } else {
        Q_EMIT ground_clicked();
    }
}

void GraphScene::mouseDoubleClickEvent(QGraphicsSceneMouseEvent* event) {
    auto* box = item_at<NodeItem>(*this, event->scenePos());
    if (box != nullptr && box->expandable() && !box->on_toggle(event->scenePos())) Q_EMIT node_toggled(box->part(), box->index());
}

void GraphScene::mouseMoveEvent(QGraphicsSceneMouseEvent* event) {
    QGraphicsScene::mouseMoveEvent(event);
    hover(item_at<NodeItem>(*this, event->scenePos()));
}

void GraphScene::hover(NodeItem* box) {
    if (box == hovered_) return;
    hovered_ = box;
    hover_timer_.start(kHoverDelay);
}

/// The pointer went elsewhere, or the view was hidden under it: nobody asks any more.
void GraphScene::pointer_left() {
    hovered_ = nullptr;
    hover_timer_.stop();
    light_up(nullptr);
}

GraphScene::Lit GraphScene::Part::around(std::size_t node) const {
    Lit lit{std::vector<bool>(nodes.size(), false), {}};
    lit.own[node] = true;
    // Frames stand before what they hold.
    for (std::size_t n = node + 1; n < nodes.size(); ++n)
        if (frame[n] != VisibleGraph::kTop && lit.own[static_cast<std::size_t>(frame[n])]) lit.own[n] = true;
    lit.near = lit.own;
    const auto spread = [&](const std::vector<std::vector<std::uint32_t>>& side) {
        std::vector<std::uint32_t> front;
        for (std::size_t n = 0; n < nodes.size(); ++n)
            if (lit.own[n]) front.push_back(static_cast<std::uint32_t>(n));
        for (int step = 0; step < 2; ++step) {
            std::vector<std::uint32_t> next;
            for (const std::uint32_t n : front)
                for (const std::uint32_t m : side[n]) {
                    if (!lit.near[m]) next.push_back(m);
                    lit.near[m] = true;
                }
            front = std::move(next);
        }
    };
    spread(below);
    spread(above);
    return lit;
}

/// Lines end at the outermost frames: these count as lit when anything in them is.
void GraphScene::Part::light(const std::vector<bool>& lit) const {
    const std::vector<bool> holds = with_frames(lit);
    for (std::size_t n = 0; n < nodes.size(); ++n) nodes[n]->setOpacity(nodes[n]->is_frame() || lit[n] ? 1 : kDimmed);
    for (LineItem* line : lines) line->setOpacity(holds[line->from] && holds[line->to] ? 1 : kDimmed);
    for (PortalItem* portal : portals) portal->setOpacity(holds[static_cast<std::size_t>(portal->node())] ? 1 : kDimmed);
}

std::vector<bool> GraphScene::Part::with_frames(std::vector<bool> shown) const {
    for (std::size_t n = nodes.size(); n-- > 0;)
        if (shown[n] && frame[n] != VisibleGraph::kTop) shown[static_cast<std::size_t>(frame[n])] = true;
    return shown;
}

void GraphScene::set_focus(int part, const std::vector<bool>& shown, bool hide) {
    if (part < 0 || static_cast<std::size_t>(part) >= parts_.size()) return;
    hover_timer_.stop();
    changed_now();
    focused_ = true;
    const Part& here = parts_[static_cast<std::size_t>(part)];
    const std::vector<bool> on = here.with_frames(shown);
    const auto show = [&](QGraphicsItem* item, bool is_on) {
        item->setOpacity(is_on ? 1 : kDimmed);
        item->setVisible(is_on || !hide);
    };
    for (std::size_t n = 0; n < here.nodes.size(); ++n) show(here.nodes[n], on[n]);
    for (LineItem* line : here.lines) show(line, on[line->from] && on[line->to]);
    for (QGraphicsItem* item : items()) {
        if (item->type() == PortalItem::Type && static_cast<PortalItem*>(item)->part() == part)
            show(item, on[static_cast<std::size_t>(static_cast<PortalItem*>(item)->node())]);
        if (item->type() == TieItem::Type) show(item, on[static_cast<std::size_t>(static_cast<TieItem*>(item)->node())]);
    }
}

void GraphScene::clear_focus() {
    changed_now();
    focused_ = false;
    for (QGraphicsItem* item : items()) {
        item->setOpacity(1);
        item->setVisible(true);
    }
}

/// Lights up a node with what it holds, producers and consumers two steps deep, what is saved of it, and dims the rest.
void GraphScene::light_up(NodeItem* around) {
    if (focused_ || (around == nullptr && !dimmed_)) return;
    dimmed_ = around != nullptr;
    changed_now();
    std::vector<Lit> lit;
    for (std::size_t p = 0; p < parts_.size(); ++p) {
        const std::size_t n = parts_[p].nodes.size();
        const bool here = around != nullptr && around->part() == static_cast<int>(p);
        lit.push_back(here ? parts_[p].around(static_cast<std::size_t>(around->index()))
                           : Lit{std::vector<bool>(n, !dimmed_), std::vector<bool>(n, !dimmed_)});
    }
    for (CrossingItem* item : crossings_) {
        const auto& crossing = item->crossing();
        bool on = !dimmed_ || (around->part() == 0 ? lit[0].own[crossing.from] : lit[1].own[crossing.to]);
        for (const std::uint32_t from : crossing.small) on = on || (around->part() == 0 && lit[0].own[from]);
        item->setOpacity(on ? 1 : kDimmed);
        if (on && dimmed_) lit[0].near[crossing.from] = lit[1].near[crossing.to] = true;
    }
    for (std::size_t p = 0; p < parts_.size(); ++p) parts_[p].light(lit[p].near);
}

/// The node that an arrow leads to: up to what makes its values, down to what reads them, where there is such a line; else, and to the
/// sides, the nearest in that direction.
NodeItem* GraphScene::next(const NodeItem& from, int key) const {
    const Part& part = parts_[static_cast<std::size_t>(from.part())];
    const auto distance = [&](const NodeItem& to) {
        const QPointF d = to.rect().center() - from.rect().center();
        const bool upright = key == Qt::Key_Up || key == Qt::Key_Down;
        const double along = (upright ? d.y() : d.x()) * (key == Qt::Key_Up || key == Qt::Key_Left ? -1 : 1);
        return along <= 1 ? 1e12 : along + 3 * std::abs(upright ? d.x() : d.y());
    };
    NodeItem* best = nullptr;
    const auto consider = [&](NodeItem* to) {
        if (to != &from && distance(*to) < (best == nullptr ? 1e12 : distance(*best))) best = to;
    };
    const auto index = static_cast<std::size_t>(from.index());
    if (key == Qt::Key_Up)
        for (const std::uint32_t n : part.above[index]) consider(part.nodes[n]);
    if (key == Qt::Key_Down)
        for (const std::uint32_t n : part.below[index]) consider(part.nodes[n]);
    if (best != nullptr) return best;
    for (NodeItem* node : part.nodes)
        if (!node->is_frame()) consider(node);
    return best;
}

/// Where a walk begins: of what is in view in whole the first, as one reads.
static const NodeItem* first_in_view(const GraphScene& scene) {
    if (scene.views().isEmpty()) return nullptr;
    const QGraphicsView* view = scene.views().first();
    const QRectF seen = view->mapToScene(view->viewport()->rect()).boundingRect();
    const NodeItem* first = nullptr;
    for (const QGraphicsItem* item : scene.items(seen, Qt::ContainsItemBoundingRect)) {
        if (item->type() != NodeItem::Type || !item->isVisible()) continue;
        const auto* node = static_cast<const NodeItem*>(item);
        const auto place = [](const NodeItem* n) { return std::pair(n->rect().y(), n->rect().x()); };
        if (first == nullptr || place(node) < place(first)) first = node;
    }
    return first;
}

void GraphScene::keyPressEvent(QKeyEvent* event) {
    if (picked_ == nullptr) {
        const bool arrow =
            event->key() == Qt::Key_Up || event->key() == Qt::Key_Down || event->key() == Qt::Key_Left || event->key() == Qt::Key_Right;
        const NodeItem* first = arrow ? first_in_view(*this) : nullptr;
        if (first == nullptr) return event->ignore();
        Q_EMIT node_walked(first->part(), first->index());
        return;
    }
    switch (event->key()) {
        case Qt::Key_Return:
        case Qt::Key_Space:
            if (picked_->expandable()) Q_EMIT node_toggled(picked_->part(), picked_->index());
            return;
        case Qt::Key_Up:
        case Qt::Key_Down:
        case Qt::Key_Left:
        case Qt::Key_Right:
            if (const NodeItem* to = next(*picked_, event->key())) Q_EMIT node_walked(to->part(), to->index());
            return;
        default:
            event->ignore();
    }
}

void GraphScene::drawBackground(QPainter* painter, const QRectF& rect) {
    const Palette& p = theme().palette();
    if (!split_) {
        painter->fillRect(rect, theme()(p.canvas));
        return;
    }
    painter->fillRect(rect & QRectF(rect.left(), rect.top(), boundary_ - rect.left(), rect.height()), theme()(p.known_canvas));
    painter->fillRect(rect & QRectF(boundary_, rect.top(), rect.right() - boundary_, rect.height()), theme()(p.unknown_canvas));
    painter->setPen(QPen(theme()(p.residual), 1.6, Qt::DashLine));
    painter->drawLine(QPointF(boundary_, rect.top()), QPointF(boundary_, rect.bottom()));
}

}  // namespace jaxscope::views
