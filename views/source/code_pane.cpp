// SPDX-License-Identifier: Apache-2.0
#include <KSyntaxHighlighting/Definition>
#include <KSyntaxHighlighting/Repository>
#include <QApplication>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QTextBlock>

#include "base/units.h"
#include "source/source_view.h"
#include "theme/readable_colours.h"
#include "theme/theme.h"

namespace jaxscope::views {
namespace {

constexpr int kColumn = 92, kPad = 8, kHeadHeight = 26;

/// All syntax definitions that there are: made once, they take a while.
KSyntaxHighlighting::Repository& syntax() {
    static KSyntaxHighlighting::Repository all;
    return all;
}

}  // namespace

/// Scrolls and is clicked with the text.
class CodePane::Margin : public QWidget {
public:
    explicit Margin(CodePane* pane) : QWidget(pane), pane_(pane) {
        setAccessibleName(CodePane::tr("What each line holds"));
        setCursor(Qt::PointingHandCursor);
    }

protected:
    void paintEvent(QPaintEvent* event) override { pane_->paint_margin(*this, event->rect()); }
    void mouseReleaseEvent(QMouseEvent* event) override {
        if (const int line = pane_->line_at(event->pos().y()); line > 0) Q_EMIT pane_->line_clicked(line);
    }
    void wheelEvent(QWheelEvent* event) override { QCoreApplication::sendEvent(pane_->viewport(), event); }

private:
    CodePane* pane_;
};

/// What the margin's columns mean.
class CodePane::Head : public QWidget {
public:
    explicit Head(CodePane* pane) : QWidget(pane), pane_(pane) {}

protected:
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        const Palette& p = theme().palette();
        painter.fillRect(rect(), theme()(p.panel));
        painter.setPen(theme()(p.rule));
        painter.drawLine(rect().bottomLeft(), rect().bottomRight());
        painter.setFont(head_font());
        painter.setPen(theme()(p.muted));
        const QRect first(pane_->number_width(), 0, kColumn - kPad, height());
        painter.drawText(first, Qt::AlignRight | Qt::AlignVCenter, CodePane::tr("SAVED"));
        painter.drawText(first.translated(kColumn, 0), Qt::AlignRight | Qt::AlignVCenter, CodePane::tr("AT THE PEAK"));
        if (!pane_->seconds_.empty())
            painter.drawText(first.translated(2 * kColumn, 0), Qt::AlignRight | Qt::AlignVCenter, CodePane::tr("TIME"));
    }

private:
    CodePane* pane_;
};

CodePane::CodePane(QWidget* parent) : QPlainTextEdit(parent), margin_(new Margin(this)), head_(new Head(this)) {
    setReadOnly(true);
    setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    setLineWrapMode(NoWrap);
    setFrameShape(NoFrame);
    setFont(mono_font(12));
    setAccessibleName(tr("Source"));
    connect(this, &QPlainTextEdit::updateRequest, this, [this](const QRect& rect, int dy) {
        if (dy != 0)
            margin_->scroll(0, dy);
        else
            margin_->update(0, rect.y(), margin_->width(), rect.height());
    });
    restyle();
}

CodePane::~CodePane() = default;

void CodePane::set_text(const QString& path, const QString& text) {
    path_ = path;
    marked_ = 0;
    setExtraSelections({});
    colours_.reset();  // it would colour all lines at once
    setPlainText(text);
    restyle();
    place_margin();
}

void CodePane::set_costs(const FileCosts& costs) {
    costs_ = costs;
    most_saved_ = most_at_peak_ = 0;
    for (const LineCost& c : costs_.lines) {
        most_saved_ = std::max(most_saved_, c.saved);
        most_at_peak_ = std::max(most_at_peak_, c.at_peak);
    }
    margin_->update();
}

void CodePane::set_times(std::map<int, double> seconds) {
    seconds_ = std::move(seconds);
    most_seconds_ = 0;
    for (const auto& [line, taken] : seconds_) most_seconds_ = std::max(most_seconds_, taken);
    place_margin();
    margin_->update();
    head_->update();
}

void CodePane::restyle() {
    const Palette& p = theme().palette();
    setStyleSheet(QStringLiteral("QPlainTextEdit { background: %1; color: %2; }").arg(QLatin1String(p.canvas), QLatin1String(p.ink)));
    if (!colours_) colours_ = std::make_unique<ReadableColours>(document());
    colours_->colour(syntax(), syntax().definitionForFileName(path_), firstVisibleBlock());
    mark(marked_);
    margin_->update();
    head_->update();
}

int CodePane::number_width() const {
    const int digits = QString::number(std::max(100, blockCount())).size();
    return QFontMetrics(mono_font(11)).horizontalAdvance(QLatin1Char('0')) * digits + 2 * kPad;
}

int CodePane::margin_width() const { return number_width() + (seconds_.empty() ? 2 : 3) * kColumn + kPad; }

void CodePane::place_margin() {
    const int width = margin_width();
    setViewportMargins(width, kHeadHeight, 0, 0);
    const QRect inside = contentsRect();
    margin_->setGeometry(inside.left(), inside.top() + kHeadHeight, width, inside.height() - kHeadHeight);
    head_->setGeometry(inside.left(), inside.top(), inside.width(), kHeadHeight);
}

void CodePane::resizeEvent(QResizeEvent* event) {
    QPlainTextEdit::resizeEvent(event);
    place_margin();
}

int CodePane::line_at(int y) const {
    QTextBlock block = firstVisibleBlock();
    for (; block.isValid(); block = block.next()) {
        const QRectF at = blockBoundingGeometry(block).translated(contentOffset());
        if (at.top() > y) break;
        if (at.bottom() > y) return block.blockNumber() + 1;
    }
    return 0;
}

QString CodePane::margin_text(int line) const {
    const LineCost* cost = costs_.at(line);
    const auto said = [](std::int64_t bytes) { return bytes > 0 ? utf8(bytes_text(bytes)) : QString(); };
    const auto taken = seconds_.find(line);
    const QString time = taken == seconds_.end() ? QString() : QLatin1Char('|') + utf8(seconds_text(taken->second));
    return cost == nullptr ? time : said(cost->saved) + QLatin1Char('|') + said(cost->at_peak) + time;
}

void CodePane::paint_margin(QWidget& margin, const QRect& rect) {
    QPainter painter(&margin);
    painter.fillRect(rect, theme()(theme().palette().panel));
    for (QTextBlock block = firstVisibleBlock(); block.isValid(); block = block.next()) {
        const QRect row = blockBoundingGeometry(block).translated(contentOffset()).toRect();
        if (row.top() > rect.bottom()) break;
        if (block.isVisible() && row.bottom() >= rect.top())
            paint_line(painter, QRect(0, row.top(), margin.width(), row.height()), block.blockNumber() + 1);
    }
}

void CodePane::paint_line(QPainter& painter, const QRect& row, int line) const {
    const Palette& p = theme().palette();
    if (line == marked_) painter.fillRect(row, theme()(p.selected_row));
    painter.setFont(mono_font(11));
    painter.setPen(theme()(p.muted));
    painter.drawText(QRect(0, row.top(), number_width() - kPad, row.height()), Qt::AlignRight | Qt::AlignVCenter, QString::number(line));
    const auto column = [&](int at, double share, const std::string& text, const char* colour) {
        const QRect cell(number_width() + at * kColumn, row.top(), kColumn - kPad, row.height());
        QColor bar = theme()(colour);
        bar.setAlphaF(theme().dark() ? 0.45 : 0.35);
        const int width = std::max(2, static_cast<int>(static_cast<double>(cell.width()) * share));
        painter.fillRect(QRect(cell.right() - width + 5, cell.top() + 1, width, cell.height() - 2), bar);
        painter.setPen(theme()(p.ink));
        painter.drawText(cell, Qt::AlignRight | Qt::AlignVCenter, utf8(text));
    };
    const auto bytes = [&](int at, std::int64_t held, std::int64_t most, const char* colour) {
        if (held > 0) column(at, static_cast<double>(held) / static_cast<double>(most), bytes_text(held), colour);
    };
    if (const LineCost* cost = costs_.at(line)) {
        bytes(0, cost->saved, most_saved_, p.residual);
        bytes(1, cost->at_peak, most_at_peak_, p.recomputed);
    }
    if (const auto taken = seconds_.find(line); taken != seconds_.end())
        column(2, taken->second / most_seconds_, seconds_text(taken->second), p.known);
}

void CodePane::mark(int line) {
    marked_ = line;
    const QTextBlock block = document()->findBlockByNumber(line - 1);
    if (line <= 0 || !block.isValid()) {
        marked_ = 0;
        setExtraSelections({});
        return margin_->update();
    }
    QTextEdit::ExtraSelection whole;
    whole.format.setBackground(theme()(theme().palette().selected_row));
    whole.format.setProperty(QTextFormat::FullWidthSelection, true);
    whole.cursor = QTextCursor(block);
    setExtraSelections({whole});
    const QRectF at = blockBoundingGeometry(block).translated(contentOffset());
    if (at.top() < 0 || at.bottom() > viewport()->height()) {
        setTextCursor(QTextCursor(block));
        centerCursor();
    }
    margin_->update();
}

void CodePane::mouseReleaseEvent(QMouseEvent* event) {
    QPlainTextEdit::mouseReleaseEvent(event);
    if (event->button() != Qt::LeftButton || textCursor().hasSelection()) return;  // text that is to be copied
    if (const int line = line_at(event->pos().y()); line > 0) Q_EMIT line_clicked(line);
}

/// Up and down go from line to line, as in a table.
void CodePane::keyPressEvent(QKeyEvent* event) {
    const int step = event->key() == Qt::Key_Down ? 1 : event->key() == Qt::Key_Up ? -1 : 0;
    if (step == 0 || event->modifiers() != Qt::NoModifier) return QPlainTextEdit::keyPressEvent(event);
    const int line = std::clamp(marked_ + step, 1, blockCount());
    mark(line);
    Q_EMIT line_clicked(line);
}

}  // namespace jaxscope::views
