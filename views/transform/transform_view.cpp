// SPDX-License-Identifier: Apache-2.0
#include "transform/transform_view.h"

#include <QHBoxLayout>
#include <QVBoxLayout>
#include <QVector>

#include "analysis/equations/eqn_path.h"
#include "base/units.h"
#include "session/session.h"
#include "theme/theme.h"

namespace jaxscope::views {

namespace {

using Kind = TransformStage::Kind;
constexpr int kColumnWidth = 64;  // characters: two columns stand side by side on a small screen

struct Words {
    const char *title, *about;
    bool at_first;  ///< is it shown at first?
};
/// By kind.
constexpr Words kWords[] = {
    {"Function", "As it was traced, under the policy that is chosen.", true},
    {"jvp", "Each equation beside its derivative; tangents are the inputs behind.", false},
    {"Known", "The forward pass. Behind its own results stand the residuals: what is kept.", true},
    {"Unknown", "What is linear in the tangents, from the residuals; what is recomputed stands here.", false},
    {"Transposed", "The backward pass: from residuals and cotangents to cotangents.", true},
    {"dce", "Value and pullback without what no cotangent needs.", false},
    {"vmap", "The function over a new axis of 8 in front of every input.", false},
};

QString about_text(const Words& words) {
    return QStringLiteral("<b>%1</b>&nbsp; %2").arg(TransformView::tr(words.title), TransformView::tr(words.about));
}

TracebackRef place_of(const EqnLine& e) { return e.jaxpr->eqns[e.eqn].source->traceback; }

}  // namespace

TransformView::TransformView(Selection* selection, QWidget* parent)
    : QWidget(parent), selection_(selection), splitter_(new QSplitter(Qt::Horizontal)), making_(this) {
    setAccessibleName(tr("Transformations"));
    auto* switches = new QHBoxLayout;
    switches->setContentsMargins(12, 8, 12, 8);
    switches->setSpacing(6);
    for (int kind = 0; kind <= static_cast<int>(Kind::Vmap); ++kind) {
        columns_.push_back(make_column(static_cast<Kind>(kind)));
        switches->addWidget(columns_.back().button);
    }
    switches->addStretch(1);
    splitter_->setHandleWidth(1);
    splitter_->setChildrenCollapsible(false);
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    rows->addLayout(switches);
    rows->addWidget(splitter_, 1);
    connect(selection_, &Selection::changed, this, &TransformView::mark_selected);
    splitter_->setSizes(QVector<int>(splitter_->count(), 1000).toList());
    restyle();
}

TransformView::Column TransformView::make_column(Kind kind) {
    const Words& words = kWords[static_cast<std::size_t>(kind)];
    Column c{new QToolButton, new QWidget, new QLabel(about_text(words)), new JaxprText};
    c.button->setText(tr(words.title));
    c.button->setCheckable(true);
    c.button->setChecked(words.at_first);
    c.button->setToolTip(tr(words.about));
    c.about->setWordWrap(true);
    c.about->setContentsMargins(14, 6, 8, 2);
    c.text->setAccessibleName(tr(words.title));
    auto* rows = new QVBoxLayout(c.box);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    rows->addWidget(c.about);
    rows->addWidget(c.text, 1);
    splitter_->addWidget(c.box);
    splitter_->setStretchFactor(splitter_->indexOf(c.box), 1);
    c.box->setVisible(words.at_first);
    connect(c.button, &QToolButton::toggled, this, [this, kind](bool on) { show_stage(kind, on); });
    connect(c.text, &JaxprText::printed, this, &TransformView::mark_selected);
    connect(c.text, &JaxprText::clicked, this, [this, text = c.text](const EqnLine* e) { pick(text, *e); });
    connect(c.text, &JaxprText::pointed_at, this, [this, text = c.text](const EqnLine* e) {
        if (e != nullptr)
            mark(place_of(*e), text);
        else
            mark_selected();
    });
    return c;
}

void TransformView::show_stage(Kind kind, bool shown) {
    const Column& c = column(kind);
    c.button->setChecked(shown);
    c.box->setVisible(shown);
    splitter_->setSizes(QVector<int>(splitter_->count(), width()).toList());  // equal parts of what there is
}

void TransformView::set_inspection(const std::shared_ptr<const Inspection>& inspection) {
    if (inspection == inspection_) return;
    inspection_ = inspection;
    asked_ = false;
    making_.cancel();
    for (const Column& c : columns_) c.text->tell({});
    if (isVisible()) make();
}

bool TransformView::busy() const {
    bool any = making_.busy();
    for (const Column& c : columns_) any = any || (c.box->isVisibleTo(this) && c.text->busy());
    return any;
}

void TransformView::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    make();
}

void TransformView::make() {
    if (!inspection_ || asked_) return;
    asked_ = true;
    for (const Column& c : columns_) c.text->tell(tr("Transforming."));
    making_.start([this, inspection = inspection_]() -> std::function<void()> {
        try {
            return [this, stages = inspection->transformed()] { take(stages); };
        } catch (const std::exception& e) {
            return [this, problem = in_words(e)] {
                for (const Column& c : columns_) c.text->tell(problem);
            };
        }
    });
}

void TransformView::take(const std::vector<TransformStage>& stages) {
    for (const TransformStage& stage : stages) {
        const Column& c = column(stage.kind);
        const Words& words = kWords[static_cast<std::size_t>(stage.kind)];
        if (!stage.jaxpr) {
            c.text->tell(utf8(stage.problem));
            continue;
        }
        c.about->setText(about_text(words) + QStringLiteral(" ") +
                         tr("%1 equations.").arg(utf8(count_text(count_equations(*stage.jaxpr)))));
        c.text->set_jaxpr(stage.jaxpr, kColumnWidth);
    }
}

/// `but_where`: the column under the pointer, which doesn't move.
void TransformView::mark(TracebackRef place, const JaxprText* but_where) {
    for (const Column& c : columns_) {
        std::vector<int> lines;
        if (place != TracebackRef())
            for (const EqnLine& e : c.text->equations())
                if (place_of(e) == place && (lines.empty() || lines.back() != static_cast<int>(e.line)))
                    lines.push_back(static_cast<int>(e.line));
        c.text->mark(lines, c.text != but_where);
    }
}

void TransformView::mark_selected() {
    const auto& path = selection_->picked().program;
    TracebackRef place;
    if (path && inspection_) place = resolve(*inspection_->program().jaxpr, *path).source->traceback;
    mark(place, picked_in_);
}

/// What was traced there in the program is selected. Where the program has nothing of it, its line is marked here alone.
void TransformView::pick(const JaxprText* where, const EqnLine& equation) {
    const TracebackRef place = place_of(equation);
    Picked picked;
    picked.program = traced_at(*inspection_->program().jaxpr, place);
    picked_in_ = where;
    if (picked.program)
        selection_->pick(picked);
    else
        mark(place, where);
    picked_in_ = nullptr;
}

void TransformView::restyle() {
    const Palette& p = theme().palette();
    QPalette ground = palette();
    ground.setColor(QPalette::Window, theme()(p.canvas));
    setPalette(ground);
    setAutoFillBackground(true);
    const QString button = QStringLiteral(
                               "QToolButton { border: 1px solid %1; border-radius: 4px; padding: 3px 9px; color: %2; background: %3; }"
                               "QToolButton:checked { background: %4; }")
                               .arg(QLatin1String(p.rule), QLatin1String(p.ink), QLatin1String(p.canvas), QLatin1String(p.selected_row));
    const QString about = QStringLiteral("QLabel { color: %1; background: %2; }").arg(QLatin1String(p.muted), QLatin1String(p.canvas));
    for (const Column& c : columns_) {
        c.button->setStyleSheet(button);
        c.about->setFont(text_font(12));
        c.about->setStyleSheet(about);
        c.text->restyle();
    }
}

}  // namespace jaxscope::views
