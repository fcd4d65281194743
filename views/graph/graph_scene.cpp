#include "graph/graph_scene.h"

#include <QGraphicsSceneMouseEvent>
#include <QPainter>
#include <algorithm>

#include "base/units.h"
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

void GraphScene::reset() {
    hover_timer_.stop();
    picked_ = hovered_ = nullptr;
    picked_crossing_ = nullptr;
    dimmed_ = false;
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
        addItem(part.nodes.back());
    }
    for (const auto& line : layout.lines) {
        part.lines.push_back(new LineItem(line, line_tip(graph, line)));
        addItem(part.lines.back());
    }
    for (const Portal& portal : layout.portals)
        addItem(new PortalItem(portal, layout.nodes[portal.node], number, graph.nodes[portal.node].expanded, portal_tip(graph, portal)));
    for (const auto& edge : graph.edges) {
        part.below[edge.from].push_back(edge.to);
        part.above[edge.to].push_back(edge.from);
    }
}

void GraphScene::add_crossings(const SplitPicture& picture) {
    for (const auto& crossing : picture.crossings) {
        crossings_.push_back(new CrossingItem(crossing, {picture.boundary, crossing.label_y}));
        crossings_.back()->setToolTip(utf8(picture.known.nodes[crossing.from].title + " \u2192 " +
                                           picture.unknown.nodes[crossing.to].title + "\nsaved, " + crossing.label));
        addItem(crossings_.back());
    }
}

NodeItem* GraphScene::node(int part, int index) const {
    if (part < 0 || static_cast<std::size_t>(part) >= parts_.size()) return nullptr;
    const auto& nodes = parts_[static_cast<std::size_t>(part)].nodes;
    return index < 0 || static_cast<std::size_t>(index) >= nodes.size() ? nullptr : nodes[static_cast<std::size_t>(index)];
}

CrossingItem* GraphScene::crossing_of(int residual) const {
    for (CrossingItem* item : crossings_) {
        const auto& which = item->crossing().residuals;
        if (residual >= 0 && std::find(which.begin(), which.end(), static_cast<std::uint32_t>(residual)) != which.end()) return item;
    }
    return nullptr;
}

void GraphScene::set_picked(int part, int index) {
    if (picked_ != nullptr) picked_->set_picked(false);
    picked_ = node(part, index);
    if (picked_ != nullptr) picked_->set_picked(true);
}

void GraphScene::set_picked_residual(int residual) {
    if (picked_crossing_ != nullptr) picked_crossing_->set_picked(false);
    picked_crossing_ = crossing_of(residual);
    if (picked_crossing_ != nullptr) picked_crossing_->set_picked(true);
}

void GraphScene::mousePressEvent(QGraphicsSceneMouseEvent* event) {
    QGraphicsScene::mousePressEvent(event);
    if (event->button() != Qt::LeftButton) return;
    const QPointF at = event->scenePos();
    if (auto* portal = item_at<PortalItem>(*this, at)) {
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

void GraphScene::mouseDoubleClickEvent(QGraphicsSceneMouseEvent* event) {
    auto* box = item_at<NodeItem>(*this, event->scenePos());
    if (box != nullptr && box->expandable() && !box->on_toggle(event->scenePos())) Q_EMIT node_toggled(box->part(), box->index());
}

void GraphScene::mouseMoveEvent(QGraphicsSceneMouseEvent* event) {
    QGraphicsScene::mouseMoveEvent(event);
    auto* box = item_at<NodeItem>(*this, event->scenePos());
    if (box == hovered_) return;
    hovered_ = box;
    hover_timer_.start(kHoverDelay);
}

/// Lights up producers and consumers two steps deep and dims the rest.
void GraphScene::light_up(NodeItem* around) {
    if (around == nullptr && !dimmed_) return;
    dimmed_ = around != nullptr;
    for (std::size_t p = 0; p < parts_.size(); ++p) {
        const Part& part = parts_[p];
        std::vector<bool> lit(part.nodes.size(), around == nullptr);
        const auto spread = [&](const std::vector<std::vector<std::uint32_t>>& side) {
            std::vector<std::uint32_t> front{static_cast<std::uint32_t>(around->index())};
            for (int step = 0; step < 2; ++step) {
                std::vector<std::uint32_t> next;
                for (const std::uint32_t n : front)
                    for (const std::uint32_t m : side[n]) {
                        if (!lit[m]) next.push_back(m);
                        lit[m] = true;
                    }
                front = std::move(next);
            }
        };
        if (around != nullptr && around->part() == static_cast<int>(p)) {
            lit[static_cast<std::size_t>(around->index())] = true;
            spread(part.below);
            spread(part.above);
        }
        for (std::size_t n = 0; n < part.nodes.size(); ++n)
            if (part.nodes[n]->zValue() > 0) part.nodes[n]->setOpacity(lit[n] ? 1 : kDimmed);
        for (LineItem* line : part.lines) line->setOpacity(lit[line->from] && lit[line->to] ? 1 : kDimmed);
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
