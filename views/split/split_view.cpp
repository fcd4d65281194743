// SPDX-License-Identifier: Apache-2.0
#include "split/split_view.h"

#include <QPainter>
#include <QVBoxLayout>
#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/units.h"
#include "graph/legend_bar.h"
#include "theme/theme.h"

namespace jaxscope::views {
namespace {

constexpr int kHeadHeight = 40, kTagPadding = 28, kHeadMargin = 20, kHeadSpare = 12;
constexpr std::size_t kFirstNodes = 16;  // of each half's first picture
const QString kNothingToSplit =
    QStringLiteral("The split shows what the forward pass saves for the backward pass. Open a capture that differentiates something.");

}  // namespace

SplitView::SplitView(Selection* selection, QWidget* parent)
    : QWidget(parent), selection_(selection), scene_(new GraphScene(this)), view_(new GraphView(this)), latest_(this) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, kHeadHeight, 0, 0);
    layout->addWidget(view_);
    layout->addWidget(new LegendBar(true));
    layout->setSpacing(0);
    view_->setScene(scene_);
    view_->setAccessibleName(tr("Forward and backward half"));
    view_->set_empty_text(kNothingToSplit);
    connect(scene_, &GraphScene::node_clicked, this, &SplitView::pick);
    connect(scene_, &GraphScene::portal_clicked, this, [this](int part, int node) {
        pick(part, node);
        if (const NodeItem* item = scene_->node(part, node)) view_->bring_into_view(item->rect());
    });
    connect(scene_, &GraphScene::node_walked, this, [this](int part, int node) {
        pick(part, node);
        if (const NodeItem* item = scene_->node(part, node)) view_->bring_into_view(item->rect());
    });
    connect(scene_, &GraphScene::ground_clicked, this, [this] { selection_->clear(); });
    connect(scene_, &GraphScene::node_toggled, this, [this](int part, int node) {
        const auto& graph = part == 0 ? picture_.known : picture_.unknown;
        const std::string key = graph.nodes[static_cast<std::size_t>(node)].key;
        set_expanded(part, key, !expanded_[part].contains(key));
    });
    connect(scene_, &GraphScene::crossing_clicked, this, [this](int residual) {
        if (!graph_) return;
        own_pick_ = true;
        selection_->pick(saved_value(static_cast<std::uint32_t>(residual)));
        own_pick_ = false;
        scene_->set_picked_residual(residual);
    });
    connect(selection_, &Selection::changed, this, [this](const Picked& picked) { mark(picked, !own_pick_); });
    connect(view_, &GraphView::moved, this, QOverload<>::of(&SplitView::update));
}

void SplitView::set_look(const Look& look, std::set<std::string> added) {
    lacks_gradient_ = look.stages().lacks_gradient();
    would_be_ = lacks_gradient_ || look.only_would_differentiate();
    update();
    if (look.split == split_ && split_) return;
    added_ = std::move(added);
    split_ = look.split;
    graph_.reset();
    const QString problem = look.problems.value(QStringLiteral("split"));
    view_->set_empty_text(!problem.isEmpty()
                              ? tr("There is no split of this program: the message says why, and so it does when you point here.")
                          : look.inspection && !look.done ? tr("The two halves are made in the background.")
                                                          : kNothingToSplit);
    view_->setToolTip(problem);
    latest_.cancel();
    if (split_) return rebuild();
    show_picture(false);
}

/// Makes the picture in the background; of another split its graph first, and what is open in it.
void SplitView::rebuild() {
    struct Made {
        std::shared_ptr<const SplitGraph> graph;
        std::set<std::string> expanded[2];
        SplitPicture picture;
    };
    latest_.start([this, split = split_, known = graph_, before = std::array{expanded_[0], expanded_[1]},
                   nodes = view_->room_for(kFirstNodes)]() -> std::function<void()> {
        auto made = std::make_shared<Made>();
        made->graph = known ? known : std::make_shared<const SplitGraph>(*split);
        const SplitGraph& whole = *made->graph;
        made->expanded[0] = known ? before[0] : whole.known().first_look(nodes, whole.known_marks());
        made->expanded[1] = known ? before[1] : whole.unknown().first_look(nodes, whole.unknown_marks());
        made->picture = made->graph->picture(made->expanded[0], made->expanded[1]);
        return [this, made] {
            fresh_ = fresh_ || graph_ == nullptr;
            graph_ = made->graph;
            for (const int part : {0, 1}) expanded_[part] = std::move(made->expanded[part]);
            picture_ = std::move(made->picture);
            show_picture(true);
        };
    });
}

void SplitView::show_picture(bool move) {
    scene_->reset();
    scene_->set_halves(false);
    if (graph_) {
        scene_->set_halves(true, picture_.boundary);
        scene_->add_part(picture_.known, picture_.known_layout);
        scene_->add_part(picture_.unknown, picture_.unknown_layout);
        scene_->add_crossings(picture_, added_residuals());
        scene_->setSceneRect(-24, -20, picture_.width + 48, picture_.height + 40);
        if (fresh_ && isVisible()) {
            view_->first_look(picture_.boundary);
            fresh_ = false;
        }
        const NodeItem* anchor = anchor_ ? scene_->node(anchor_->part, node_of(anchor_->part, anchor_->key)) : nullptr;
        if (anchor != nullptr) view_->keep(anchor->rect().topLeft(), anchor_->at);
        mark(selection_->picked(), move && anchor == nullptr);  // what was opened stays where it is, whatever is selected
    }
    anchor_.reset();
    update();
}

/// Which residuals are made by equations whose values the program as it is doesn't save.
std::vector<bool> SplitView::added_residuals() const {
    std::vector<bool> added(graph_->num_residuals(), false);
    for (std::uint32_t k = 0; k < added.size(); ++k)
        if (const auto producer = graph_->producer_of(k)) added[k] = added_.contains(to_text(*producer));
    return added;
}

int SplitView::node_of(int part, const std::string& key) const {
    const VisibleGraph& graph = part == 0 ? picture_.known : picture_.unknown;
    const auto found = graph.by_key.find(key);
    return found == graph.by_key.end() ? -1 : static_cast<int>(found->second);
}

void SplitView::restyle() { show_picture(false); }

void SplitView::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    if (fresh_ && graph_) {
        view_->first_look(picture_.boundary);
        fresh_ = false;
    }
}

void SplitView::set_expanded(int part, const std::string& key, bool expanded) {
    if (!graph_) return;
    if (const NodeItem* item = scene_->node(part, node_of(part, key)))
        anchor_ = Anchor{part, key, view_->mapFromScene(item->rect().topLeft())};
    if (expanded)
        expanded_[part].insert(key);
    else
        expanded_[part].erase(key);
    rebuild();
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
    own_pick_ = true;
    selection_->pick(picked);
    own_pick_ = false;
}

/// What the tables know a line of the picture as: the value that is saved, which stands behind another name for it.
Picked SplitView::saved_value(std::uint32_t residual) const {
    Picked picked;
    const int input = graph_->input_of(residual);
    for (const ResidualRow& row : split_->residuals.rows) {
        const bool same =
            input >= 0 ? row.input == input : !row.equation.empty() && graph_->is_value_of(residual, parse_eqn_path(row.equation));
        if (!same) continue;
        picked.residual = row.id;
        return picked;
    }
    picked.known = graph_->producer_of(residual);
    return picked;
}

void SplitView::mark(const Picked& picked, bool move) {
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
        node = node_of(part, picked.group);
    }
    scene_->set_picked(part, node);
    const ResidualRow* row = picked.residual ? find_residual(split_->residuals, *picked.residual) : nullptr;
    const int input = row != nullptr ? row->input : -1;
    int residual = -1;
    // Of a value inside of a checkpoint the line leaves the checkpoint.
    const std::optional<EqnPath> made = row != nullptr && !row->equation.empty() ? parse_eqn_path(row->equation) : picked.known;
    const auto fits = [&](std::uint32_t k) {
        if (input >= 0) return graph_->input_of(k) == input;
        return made && (row != nullptr ? graph_->is_value_of(k, *made) : graph_->producer_of(k) == made);
    };
    for (std::uint32_t k = 0; k < graph_->num_residuals() && residual < 0; ++k)
        if (fits(k)) residual = static_cast<int>(k);
    scene_->set_picked_residual(residual);
    if (const NodeItem* item = scene_->node(part, node); item != nullptr && move) view_->bring_into_view(item->rect());
}

/// What stands over each half, and what is said of it.
QStringList SplitView::head_words() const {
    const QString known = utf8(count_text(count_equations(*split_->known)) + " eqns");
    QString unknown = utf8(count_text(count_equations(*split_->unknown)) + " eqns");
    if (lacks_gradient_)
        return {tr("KNOWN forward"), known, tr("UNKNOWN tangents"), unknown + tr(" \u00b7 can't be transposed: no backward pass")};
    if (split_->recomputed_flops > 0) unknown += utf8(" \u00b7 " + flops_text(split_->recomputed_flops) + " recomputed");
    return {tr("KNOWN forward"), known + (would_be_ ? tr(", if this were differentiated") : QString()), tr("UNKNOWN backward"), unknown};
}

/// What the tag and a margin take at each side of the middle.
int SplitView::beside_tag() const {
    return (QFontMetrics(text_font(12, true)).horizontalAdvance(saved_words()) + kTagPadding) / 2 + kHeadMargin;
}

/// Over the boundary of the picture, as long as both heads have room.
int SplitView::middle() const {
    const QFontMetrics bold(text_font(12, true)), small(text_font(11));
    const QStringList words = head_words();
    const auto needed = [&](int half) {
        return std::max(bold.horizontalAdvance(words[2 * half]), small.horizontalAdvance(words[2 * half + 1])) + beside_tag() + 1;
    };
    const int least = std::max(width() * 36 / 100, kHeadSpare + needed(0)),
              most = std::min(width() * 64 / 100, width() - kHeadSpare - needed(1));
    return least <= most ? std::clamp(view_->mapFromScene(QPointF(picture_.boundary, 0)).x(), least, most) : width() / 2;
}

QString SplitView::saved_words() const {
    return utf8((would_be_ ? "would save " : "saved ") + count_text(static_cast<std::int64_t>(split_->residuals.rows.size())) + " \u00b7 " +
                bytes_text(split_->residuals.device_bytes.value_or(split_->residuals.total_bytes)) +
                (split_->residuals.device_bytes ? " on each device" : ""));
}

/// In one line; where that has no room in one of them, what is said of a half stands under its title.
std::array<SplitView::Head, 2> SplitView::heads() const {
    std::array<Head, 2> out;
    if (!split_) return out;
    const QFontMetrics bold(text_font(12, true)), plain(text_font(12)), small(text_font(11));
    constexpr int kGap = 14;
    const QStringList words = head_words();
    const int from[2] = {kHeadMargin, middle() + beside_tag()},
              to[2] = {middle() - beside_tag() + kHeadMargin - kHeadSpare, width() - kHeadSpare};
    bool below = false;
    for (const int half : {0, 1})
        below =
            below || bold.horizontalAdvance(words[2 * half]) + kGap + plain.horizontalAdvance(words[2 * half + 1]) > to[half] - from[half];
    for (const int half : {0, 1}) {
        Head& head = out[static_cast<std::size_t>(half)];
        const int room = to[half] - from[half], used = below ? 0 : bold.horizontalAdvance(words[2 * half]) + kGap;
        head.below = below;
        head.title = bold.elidedText(words[2 * half], Qt::ElideRight, room);
        head.detail = (below ? small : plain).elidedText(words[2 * half + 1], Qt::ElideRight, room - used);
        head.title_at = QRect(from[half], below ? 4 : 0, room, below ? kHeadHeight / 2 - 4 : kHeadHeight);
        head.detail_at = QRect(from[half] + used, below ? kHeadHeight / 2 : 0, room - used, below ? kHeadHeight / 2 - 4 : kHeadHeight);
    }
    return out;
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
    const int middle = this->middle();
    painter.fillRect(QRect(0, 0, middle, kHeadHeight), theme()(p.known_canvas));
    painter.fillRect(QRect(middle, 0, width() - middle, kHeadHeight), theme()(p.unknown_canvas));
    const QString saved = saved_words();
    const int saved_width = QFontMetrics(text_font(12, true)).horizontalAdvance(saved) + kTagPadding;
    const std::array<Head, 2> heads = this->heads();
    for (const bool known : {true, false}) {
        const Head& half = heads[known ? 0 : 1];
        painter.setFont(text_font(12, true));
        painter.setPen(theme()(known ? p.known_text : p.unknown_text));
        painter.drawText(half.title_at, Qt::AlignVCenter | Qt::AlignLeft, half.title);
        painter.setFont(text_font(half.below ? 11 : 12));
        painter.setPen(theme()(p.muted));
        painter.drawText(half.detail_at, Qt::AlignVCenter | Qt::AlignLeft, half.detail);
    }
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
