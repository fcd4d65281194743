// SPDX-License-Identifier: Apache-2.0
#include "inspector/inspector.h"

#include <QClipboard>
#include <QEvent>
#include <QGridLayout>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QTimer>
#include <QVBoxLayout>
#include <algorithm>
#include <tuple>

#include "theme/theme.h"

namespace jaxscope::views {
namespace {

/// What is copied, or read aloud, has none of `breakable`'s invisible characters: in Python they would be errors.
QString without_breaks(QString text) { return text.remove(QChar(0x200B)); }

QLabel* label(const QString& text, const QFont& font, const char* colour, bool wrap = true) {
    auto* made = new QLabel(text);
    made->setTextFormat(Qt::PlainText);
    made->setAccessibleName(without_breaks(text));
    made->setFont(font);
    made->setWordWrap(wrap);
    made->setTextInteractionFlags(Qt::TextSelectableByMouse);
    made->setStyleSheet(QStringLiteral("color: %1").arg(QLatin1String(colour)));
    return made;
}

/// Long avals and paths have no spaces to break at: invisible ones after commas, dots and slashes. "33.5 MiB" stays in one piece.
QString breakable(const std::string& text) {
    QString out;
    const QString all = utf8(text);
    for (int k = 0; k < all.size(); ++k) {
        out += all[k];
        const bool in_number = all[k] == QLatin1Char('.') && k + 1 < all.size() && all[k + 1].isDigit();
        if (QStringLiteral(",/=._").contains(all[k]) && !in_number) out += QChar(0x200B);
    }
    return out;
}

/// Spaces that all lines begin with: the room is for what stands behind them.
int common_indent(const std::vector<Explanation::CodeLine>& code) {
    std::size_t least = std::string::npos;
    for (const auto& line : code) least = std::min(least, line.text.find_first_not_of(' '));  // an empty line has as many as one likes
    return least == std::string::npos ? 0 : static_cast<int>(least);
}

const char* verdict_colour(const Explanation& e) {
    const Palette& p = theme().palette();
    if (e.saved) return p.residual_text;
    if (e.verdict.rfind("donated, reused", 0) == 0) return p.donated_text;
    switch (e.role) {
        case Role::Forward:
            return p.known_text;
        case Role::Backward:
            return p.unknown_text;
        case Role::Recomputed:
            return p.recomputed_text;
        case Role::Plain:
            break;
    }
    return p.muted;
}

}  // namespace

Inspector::Inspector(QWidget* parent) : QScrollArea(parent) {
    setWidgetResizable(true);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    connect(QGuiApplication::clipboard(), &QClipboard::changed, this, [this](QClipboard::Mode mode) {
        const QString text = QGuiApplication::clipboard()->text(mode);
        if (!text.contains(QChar(0x200B))) return;
        for (const QLabel* from : findChildren<QLabel*>())
            if (from->selectedText() == text) return QGuiApplication::clipboard()->setText(without_breaks(text), mode);
    });
    show_nothing(tr("Select something to ask about it."));
}

void Inspector::show_nothing(const QString& text) {
    auto* body = new QWidget;
    auto* column = new QVBoxLayout(body);
    column->setContentsMargins(16, 16, 16, 16);
    column->addWidget(label(text, text_font(), theme().palette().muted));
    column->addStretch();
    setWidget(body);
}

void Inspector::show_explanation(const Explanation& explanation) {
    explanation_ = explanation;
    auto* body = new QWidget;
    auto* column = new QVBoxLayout(body);
    column->setContentsMargins(16, 14, 16, 16);
    column->setSpacing(8);
    add_head(*column);
    add_code(*column);
    add_pairs(*column, tr("Facts"), explanation_.facts, false);
    add_actions(*column);
    add_pairs(*column, tr("Parameters"), explanation_.parameters, true);
    column->addStretch();
    body->setMaximumWidth(viewport()->width());
    setWidget(body);
}

/// A line of the shown source was clicked.
bool Inspector::eventFilter(QObject* watched, QEvent* event) {
    const QVariant line = watched->property("line");
    if (event->type() != QEvent::MouseButtonRelease || !line.isValid()) return QScrollArea::eventFilter(watched, event);
    // Later: the answer replaces the widgets that this event is for.
    QTimer::singleShot(0, this, [this, file = utf8(explanation_.place.file), line] { Q_EMIT line_clicked(file, line.toInt()); });
    return false;
}

void Inspector::resizeEvent(QResizeEvent* event) {
    QScrollArea::resizeEvent(event);
    if (widget() != nullptr) widget()->setMaximumWidth(viewport()->width());
}

void Inspector::add_head(QVBoxLayout& column) const {
    const Palette& p = theme().palette();
    column.addWidget(label(breakable(explanation_.title), text_font(15, true), p.ink));
    if (!explanation_.subtitle.empty()) column.addWidget(label(breakable(explanation_.subtitle), mono_font(11), p.muted));
    if (!explanation_.verdict.empty()) {
        auto* chip = label(utf8(explanation_.verdict), text_font(11, true), verdict_colour(explanation_), false);
        chip->setStyleSheet(
            QStringLiteral("color: %1; border: 1.2px %2 %1; border-radius: 10px; padding: 2px 9px;")
                .arg(QLatin1String(verdict_colour(explanation_)), explanation_.role == Role::Recomputed ? "dashed" : "solid"));
        column.addWidget(chip, 0, Qt::AlignLeft);
    }
    for (const std::string& sentence : explanation_.sentences) column.addWidget(label(breakable(sentence), text_font(), p.ink));
}

void Inspector::add_code(QVBoxLayout& column) {
    const Palette& p = theme().palette();
    if (explanation_.place.line <= 0) return;
    column.addSpacing(6);
    column.addWidget(label(tr("Where"), head_font(), p.muted));
    auto* place = label(utf8(short_place(explanation_.place.file, explanation_.place.line)), mono_font(11), p.known_text);
    place->setToolTip(utf8(explanation_.place.file));
    column.addWidget(place);
    if (explanation_.code.empty()) return;
    auto* block = new QWidget;
    block->setStyleSheet(QStringLiteral("background: %1").arg(QLatin1String(p.canvas)));
    auto* lines = new QVBoxLayout(block);
    lines->setContentsMargins(0, 4, 0, 4);
    lines->setSpacing(0);
    const int indent = common_indent(explanation_.code);
    for (const auto& line : explanation_.code) {
        auto* row = label(utf8(std::to_string(line.number)).rightJustified(4) + QStringLiteral("  ") + utf8(line.text).mid(indent),
                          mono_font(11), line.here ? p.ink : p.muted, false);
        row->setStyleSheet(QStringLiteral("color: %1; background: %2; padding: 2px 6px")
                               .arg(QLatin1String(line.here ? p.ink : p.muted), QLatin1String(line.here ? p.selected_row : p.canvas)));
        row->setToolTip(utf8(line.text));
        row->setObjectName(QStringLiteral("code line"));
        row->setProperty("line", line.number);
        row->setCursor(Qt::PointingHandCursor);
        row->installEventFilter(this);
        row->setMinimumWidth(10);
        row->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
        lines->addWidget(row);
    }
    column.addWidget(block);
}

void Inspector::add_pairs(QVBoxLayout& column, const QString& title, const std::vector<std::pair<std::string, std::string>>& pairs,
                          bool mono) const {
    const Palette& p = theme().palette();
    if (pairs.empty()) return;
    column.addSpacing(6);
    column.addWidget(label(title, head_font(), p.muted));
    auto* grid = new QGridLayout;
    grid->setHorizontalSpacing(14);
    grid->setVerticalSpacing(5);
    grid->setColumnStretch(1, 1);
    int row = 0;
    for (const auto& [name, value] : pairs) {
        if (mono) {  // names of parameters are long: each above its value
            grid->addWidget(label(breakable(name), text_font(11), p.muted), row++, 0, 1, 2);
            grid->addWidget(label(breakable(value), mono_font(11), p.ink), row++, 0, 1, 2);
            continue;
        }
        constexpr int kMostLetters = 16;  // longer names stand above their values
        const bool own_row = name.size() > kMostLetters;
        grid->addWidget(label(utf8(name), text_font(), p.muted, own_row), row, 0, 1, own_row ? 2 : 1, Qt::AlignTop);
        if (own_row) ++row;
        grid->addWidget(label(breakable(value), text_font(), p.ink), row++, 1);
    }
    column.addLayout(grid);
}

/// What the user can say of the value; what it is already can't be chosen.
void Inspector::add_verdicts(QVBoxLayout& column) {
    if (!explanation_.markable) return;
    auto* row = new QHBoxLayout;
    row->setSpacing(6);
    const std::tuple<QString, HandVerdict, std::string> verdicts[] = {{tr("Save"), HandVerdict::Save, "saved"},
                                                                      {tr("Recompute"), HandVerdict::Recompute, "recomputed"},
                                                                      {tr("Offload"), HandVerdict::Offload, "offloaded"}};
    for (const auto& [text, verdict, now] : verdicts) {
        auto* button = new QPushButton(text);
        button->setObjectName(QStringLiteral("verdict"));
        button->setToolTip(tr("By hand: a choice like any other, whose Python can be copied"));
        button->setEnabled(explanation_.verdict != now);
        connect(button, &QPushButton::clicked, this, [this, verdict = verdict] { Q_EMIT verdict_wanted(verdict); });
        row->addWidget(button);
    }
    row->addStretch();
    column.addLayout(row);
}

void Inspector::add_actions(QVBoxLayout& column) {
    add_verdicts(column);
    if (explanation_.python.empty()) return;
    column.addSpacing(4);
    auto* copy = new QPushButton(tr("Copy the Python that stops saving it"));
    copy->setToolTip(utf8(explanation_.python));
    const QString text = utf8(explanation_.python);
    connect(copy, &QPushButton::clicked, this, [this, text] {
        QGuiApplication::clipboard()->setText(text);
        Q_EMIT python_copied(text);
    });
    column.addWidget(copy);
}

}  // namespace jaxscope::views
