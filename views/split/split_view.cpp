#include "split/split_view.h"

#include <QPainter>
#include <QVBoxLayout>
#include <algorithm>

#include "base/error.h"
#include "base/units.h"
#include "theme/theme.h"

namespace jaxscope::views {
namespace {

constexpr int kHeadHeight = 40;
const QString kNothingToSplit =
    QStringLiteral("The split shows what the forward pass saves for the backward pass. Open a capture that differentiates something.");

}  // namespace

SplitView::SplitView(Selection* selection, QWidget* parent)
    : QWidget(parent), selection_(selection), scene_(new GraphScene(this)), view_(new GraphView(this)) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, kHeadHeight, 0, 0);
    layout->addWidget(view_);
    view_->setScene(scene_);
    view_->set_legend(true);
    view_->set_empty_text(kNothingToSplit);
    connect(scene_, &GraphScene::node_clicked, this, &SplitView::pick);
    connect(scene_, &GraphScene::portal_clicked, this, [this](int part, int node) {
        pick(part, node);
        if (NodeItem* item = scene_->node(part, node)) view_->centerOn(item->rect().center());
    });
    connect(scene_, &GraphScene::ground_clicked, this, [this] { selection_->clear(); });
    connect(scene_, &GraphScene::node_toggled, this, [this](int part, int node) {
        const auto& graph = part == 0 ? picture_.known : picture_.unknown;
        const std::string key = graph.nodes[static_cast<std::size_t>(node)].key;
        set_expanded(part, key, !expanded_[part].contains(key));
    });
    connect(scene_, &GraphScene::crossing_clicked, this, [this](int residual) {
        Picked picked;
        picked.known = graph_->producer_of(static_cast<std::uint32_t>(residual));
        const int input = graph_->input_of(static_cast<std::uint32_t>(residual));
        const auto& rows = split_->residuals.rows;
        for (std::size_t r = 0; input >= 0 && r < rows.size() && !picked.residual; ++r)
            if (rows[r].input == input) picked.residual = rows[r].id;
        selection_->pick(picked);
        scene_->set_picked_residual(residual);
    });
    connect(selection_, &Selection::changed, this, &SplitView::follow);
    connect(view_, &GraphView::moved, this, QOverload<>::of(&SplitView::update));
}

void SplitView::set_look(const Look& look) {
    if (look.split == split_ && split_) return;
    split_ = look.split;
    graph_.reset();
    if (split_) {
        graph_ = std::make_unique<SplitGraph>(*split_);
        expanded_[0] = graph_->known().first_look(16);
        expanded_[1] = graph_->unknown().first_look(16);
        fresh_ = true;
    }
    const QString problem = look.problems.value(QStringLiteral("split"));
    view_->set_empty_text(problem.isEmpty() ? kNothingToSplit : tr("There is no split of this program: see the message above."));
    view_->setToolTip(problem);
    rebuild();
}

void SplitView::rebuild() {
    scene_->reset();
    scene_->set_halves(false);
    if (graph_) {
        picture_ = graph_->picture(expanded_[0], expanded_[1]);
        scene_->set_halves(true, picture_.boundary);
        scene_->add_part(picture_.known, picture_.known_layout);
        scene_->add_part(picture_.unknown, picture_.unknown_layout);
        scene_->add_crossings(picture_);
        scene_->setSceneRect(-24, -20, picture_.width + 48, picture_.height + 76);
        if (fresh_ && isVisible()) {
            view_->first_look(picture_.boundary);
            fresh_ = false;
        }
        follow(selection_->picked());
    }
    update();
}

void SplitView::restyle() { rebuild(); }

void SplitView::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    if (fresh_ && graph_) {
        view_->first_look(picture_.boundary);
        fresh_ = false;
    }
}

void SplitView::set_expanded(int part, const std::string& key, bool expanded) {
    const auto index = [&]() -> int {
        const auto& graph = part == 0 ? picture_.known : picture_.unknown;
        const auto found = graph.by_key.find(key);
        return found == graph.by_key.end() ? -1 : static_cast<int>(found->second);
    };
    const NodeItem* item = scene_->node(part, index());
    const QPoint at = item != nullptr ? view_->mapFromScene(item->rect().topLeft()) : QPoint();
    if (expanded)
        expanded_[part].insert(key);
    else
        expanded_[part].erase(key);
    rebuild();
    if (const NodeItem* after = scene_->node(part, index()); after != nullptr) view_->keep(after->rect().topLeft(), at);
}

void SplitView::pick(int part, int node) {
    const auto& graph = part == 0 ? picture_.known : picture_.unknown;
    if (node < 0 || static_cast<std::size_t>(node) >= graph.nodes.size()) return;
    const VisibleGraph::Node& item = graph.nodes[static_cast<std::size_t>(node)];
    Picked picked;
    (part == 0 ? picked.known : picked.unknown) = item.equation();
    if (!item.equation()) {
        picked.group = item.key;
        picked.group_in = part == 0 ? Picked::Where::Known : Picked::Where::Unknown;
    }
    selection_->pick(picked);
}

void SplitView::follow(const Picked& picked) {
    if (!graph_) return;
    const auto find = [](const GraphModel& model, const VisibleGraph& graph, const std::optional<EqnPath>& path) {
        int node = -1;
        if (!path) return node;
        try {
            for (const std::string& key : model.keys_around(*path))
                if (const auto found = graph.by_key.find(key); found != graph.by_key.end()) node = static_cast<int>(found->second);
        } catch (const Error&) {  // picked in another split
        }
        return node;
    };
    int part = 0;
    int node = find(graph_->known(), picture_.known, picked.known);
    if (node < 0 || (picked.unknown && !picked.known)) {
        part = 1;
        node = find(graph_->unknown(), picture_.unknown, picked.unknown);
    }
    if (!picked.group.empty() && picked.group_in != Picked::Where::Program) {
        part = picked.group_in == Picked::Where::Known ? 0 : 1;
        const auto& graph = part == 0 ? picture_.known : picture_.unknown;
        if (const auto found = graph.by_key.find(picked.group); found != graph.by_key.end()) node = static_cast<int>(found->second);
    }
    scene_->set_picked(part, node);
    const ResidualRow* row = picked.residual ? find_residual(split_->residuals, *picked.residual) : nullptr;
    const int input = row != nullptr ? row->input : -1;
    int residual = -1;
    const auto fits = [&](std::uint32_t k) {
        if (input >= 0) return graph_->input_of(k) == input;
        return picked.known && (row != nullptr ? graph_->is_value_of(k, *picked.known) : graph_->producer_of(k) == picked.known);
    };
    for (std::uint32_t k = 0; k < graph_->num_residuals() && residual < 0; ++k)
        if (fits(k)) residual = static_cast<int>(k);
    scene_->set_picked_residual(residual);
    if (NodeItem* item = scene_->node(part, node)) {
        const QRectF seen = view_->mapToScene(view_->viewport()->rect()).boundingRect();
        if (!seen.contains(item->rect())) view_->centerOn(item->rect().center());
    }
}

/// The heads of the two halves, and between them what is saved. They stand still while the picture scrolls.
void SplitView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const Palette& p = theme().palette();
    const QRect head(0, 0, width(), kHeadHeight);
    if (!split_) {
        painter.fillRect(head, theme()(p.canvas));
        return;
    }
    // Over the boundary of the picture, as long as both heads have room.
    const int middle = std::clamp(view_->mapFromScene(QPointF(picture_.boundary, 0)).x(), width() * 3 / 10, width() * 7 / 10);
    painter.fillRect(QRect(0, 0, middle, kHeadHeight), theme()(p.known_canvas));
    painter.fillRect(QRect(middle, 0, width() - middle, kHeadHeight), theme()(p.unknown_canvas));
    const QString saved = utf8("saved " + count_text(static_cast<std::int64_t>(split_->residuals.rows.size())) + " \u00b7 " +
                               bytes_text(split_->residuals.total_bytes));
    const int saved_width = QFontMetrics(text_font(12, true)).horizontalAdvance(saved) + 28;
    const auto write = [&](int x, int room, const QString& title, const char* colour, const QString& detail) {
        painter.setFont(text_font(12, true));
        painter.setPen(theme()(colour));
        painter.drawText(QRect(x, 0, room, kHeadHeight), Qt::AlignVCenter | Qt::AlignLeft, title);
        const int used = painter.fontMetrics().horizontalAdvance(title) + 14;
        painter.setFont(text_font(12));
        painter.setPen(theme()(p.muted));
        const QString fitted = painter.fontMetrics().elidedText(detail, Qt::ElideRight, room - used);
        painter.drawText(QRect(x + used, 0, room - used, kHeadHeight), Qt::AlignVCenter | Qt::AlignLeft, fitted);
    };
    const int left_room = middle - saved_width / 2 - 32, right_room = width() - middle - saved_width / 2 - 32;
    write(20, left_room, tr("KNOWN forward"), p.known_text, utf8(count_text(count_equations(*split_->known)) + " eqns"));
    std::string unknown = count_text(count_equations(*split_->unknown)) + " eqns";
    if (split_->recomputed_flops > 0) unknown += " \u00b7 " + flops_text(split_->recomputed_flops) + " recomputed";
    write(middle + saved_width / 2 + 20, right_room, tr("UNKNOWN backward"), p.unknown_text, utf8(unknown));
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme()(p.residual), 1.2));
    painter.setBrush(theme()(p.panel));
    const QRectF tag(middle - saved_width / 2.0, 8.5, saved_width, 23);
    painter.drawRoundedRect(tag, 11.5, 11.5);
    painter.setFont(text_font(12, true));
    painter.setPen(theme()(p.residual_text));
    painter.drawText(tag, Qt::AlignCenter, saved);
}

}  // namespace jaxscope::views
