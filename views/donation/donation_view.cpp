// SPDX-License-Identifier: Apache-2.0
#include "donation/donation_view.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <numeric>

#include "base/units.h"
#include "theme/theme.h"

namespace jaxscope::views {
namespace {

constexpr int kRow = 28, kHead = 44, kMargin = 16, kBytesWidth = 76, kGap = 26, kBetween = 56, kBetweenFindings = 6, kBeforeOutput = 14;
constexpr int kTick = 14, kLeft = kMargin + kTick + 8;  // the box that is ticked, and where a row's words begin

const QString kUsedMark = QStringLiteral("\u27f2 "), kLostMark = QStringLiteral("\u2298 ");

/// "state['mu']['w']" without its first part, which names the argument.
std::string place_in_tree(const std::string& path) {
    const std::size_t at = path.find_first_of("[.");
    return at == std::string::npos ? std::string() : path.substr(at);
}

std::string output_name(const DonatedLeaf& leaf) {
    return leaf.output_path.empty() ? "result " + std::to_string(leaf.output.value_or(0)) : leaf.output_path;
}

}  // namespace

DonationCanvas::DonationCanvas(Selection* selection) : selection_(selection) {
    setAccessibleName(tr("Donated inputs and the outputs that take their memory"));
    setMinimumWidth(520);
    connect(selection_, &Selection::changed, this, [this] {
        update();
        if (const int at = picked(); at >= 0) Q_EMIT row_shown(row_rect(at));
    });
    on_theme_change(this, [this] { update(); });
}

bool DonationCanvas::crosses(const DonatedLeaf& leaf) {
    const std::string from = place_in_tree(leaf.path), to = place_in_tree(leaf.output_path);
    return leaf.used && !from.empty() && !to.ends_with(from) && !from.ends_with(to);
}

void DonationCanvas::set_report(std::shared_ptr<const DonationReport> report) {
    if (report == report_) return;
    report_ = std::move(report);
    std::vector<std::string> paths;
    if (report_)
        for (const auto* leaves : {&report_->donated, &report_->kept_back})
            for (const DonatedLeaf& l : *leaves)
                for (const std::string& path : {l.path, l.output_path}) paths.push_back(path);
    paths_ = ShortPaths(paths);
    widest_output_ = 0;
    const QFontMetrics letters(mono_font(11));
    for (int l = 0; report_ && !is_kept_back(l); ++l)
        if (leaf(l).used) widest_output_ = std::max(widest_output_, letters.horizontalAdvance(utf8(output_name(leaf(l)))));
    order_.resize(report_ ? report_->donated.size() + report_->kept_back.size() : 0);
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(), [&](int a, int b) {
        if (is_kept_back(a) != is_kept_back(b)) return is_kept_back(b);
        if (leaf(a).used != leaf(b).used) return leaf(b).used;
        return leaf(a).bytes > leaf(b).bytes;
    });
    place_rows();
    update();
}

/// What was found stands first, in whole, over as many lines as it needs.
void DonationCanvas::place_rows() {
    finding_rects_.clear();
    rows_top_ = kHead;
    const QFontMetrics letters(text_font(12));
    for (std::size_t f = 0; report_ && f < report_->findings.size(); ++f) {
        const QRect room(kMargin, rows_top_, std::max(width() - 2 * kMargin, 100), 10'000);
        const int height = letters.boundingRect(room, int(Qt::AlignLeft) | Qt::TextWordWrap, utf8(report_->findings[f])).height();
        finding_rects_.push_back({kMargin, rows_top_, room.width(), height});
        rows_top_ += height + kBetweenFindings;
    }
    setMinimumHeight(rows_top_ + kRow * static_cast<int>(order_.size()) + (lost_rows() > 0 ? kGap : 0) + kGap + kMargin);
    updateGeometry();
}

void DonationCanvas::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    place_rows();
}

/// What has no room in its row is told in whole.
bool DonationCanvas::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip) return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    QToolTip::showText(help->globalPos(), tool_tip_at(help->pos()), this);
    return true;
}

QString DonationCanvas::tool_tip_at(const QPoint& at) const {
    for (const int l : order_) {
        if (!row_rect(l).contains(at)) continue;
        const std::string to = leaf(l).output_path.empty() ? "" : "\n\u2192 " + leaf(l).output_path;
        return utf8(leaf(l).path + "  " + leaf(l).aval + to + (leaf(l).reason.empty() ? "" : "\n" + leaf(l).reason));
    }
    return {};
}

QString DonationCanvas::shortened(const QString& mark, const std::string& path, int room) const {
    const QFontMetrics letters(mono_font(11));
    return mark + paths_.shown(path, letters, room - letters.horizontalAdvance(mark));
}

/// Names of outputs are shorter (they begin without an argument's): what they leave belongs to the inputs.
int DonationCanvas::output_room() const {
    const int both = width() - kMargin - kLeft - kBetween - kBytesWidth;
    return std::clamp(widest_output_ + kBeforeOutput + 2, both * 3 / 10, both / 2);
}

QString DonationCanvas::shown_path(int number) const {
    const int beside = width() - kMargin - kLeft - kBetween, room = leaf(number).used ? beside - output_room() : beside / 2;
    const QString mark = is_kept_back(number) ? QString() : leaf(number).used ? kUsedMark : kLostMark;
    return shortened(mark, leaf(number).path, room - kBytesWidth);
}

const DonatedLeaf& DonationCanvas::leaf(int number) const {
    const auto at = static_cast<std::size_t>(number);
    return is_kept_back(number) ? report_->kept_back[at - report_->donated.size()] : report_->donated[at];
}

QRect DonationCanvas::tick_rect(int number) const {
    const QRect row = row_rect(number);
    return {kMargin, row.center().y() - kTick / 2, kTick, kTick};
}

void DonationCanvas::paint_tick(QPainter& painter, int number) const {
    const Palette& p = theme().palette();
    const QRectF box = QRectF(tick_rect(number)).adjusted(0.5, 0.5, -0.5, -0.5);
    painter.setPen(QPen(theme()(p.muted), 1));
    painter.setBrush(theme()(p.panel));
    painter.drawRoundedRect(box, 3, 3);
    if (is_kept_back(number)) return;
    painter.setPen(QPen(theme()(p.ink), 1.6));
    painter.drawPolyline(
        QPolygonF({{box.left() + 3, box.center().y()}, {box.left() + 5.5, box.bottom() - 3.5}, {box.right() - 3, box.top() + 3.5}}));
}

int DonationCanvas::lost_rows() const {
    return static_cast<int>(std::count_if(order_.begin(), order_.end(), [&](int l) { return !leaf(l).used && !is_kept_back(l); }));
}

QRect DonationCanvas::row_rect(int number) const {
    const int row = static_cast<int>(std::find(order_.begin(), order_.end(), number) - order_.begin());
    const int lost = lost_rows();
    return {0, rows_top_ + row * kRow + (row >= lost && lost > 0 ? kGap : 0), width(), kRow};
}

int DonationCanvas::picked() const {
    for (std::size_t l = 0; report_ && selection_->picked().donated >= 0 && l < report_->donated.size(); ++l)
        if (report_->donated[l].input == selection_->picked().donated) return static_cast<int>(l);
    return -1;
}

void DonationCanvas::paintEvent(QPaintEvent* event) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const Palette& p = theme().palette();
    painter.fillRect(rect(), theme()(p.canvas));
    painter.setFont(text_font(13));
    painter.setPen(theme()(p.muted));
    if (!report_ || order_.empty())
        return painter.drawText(
            rect().adjusted(60, 40, -60, -40), int(Qt::AlignCenter) | Qt::TextWordWrap,
            report_ ? tr("Nothing is donated. Tick an argument under Donate above to see which outputs could take its memory.")
                    : tr("Which outputs take the memory of donated inputs stands here once a program is open."));
    std::int64_t lost = 0;
    for (const DonatedLeaf& l : report_->donated) lost += l.used ? 0 : l.bytes;
    painter.setFont(text_font(12, true));
    painter.setPen(theme()(p.ink));
    std::string head = bytes_text(report_->saved_bytes) + " reused";
    if (lost > 0) head = bytes_text(lost) + " lost \u00b7 " + head;
    painter.drawText(QRect(kMargin, 0, width() - 2 * kMargin, kHead), Qt::AlignLeft | Qt::AlignVCenter, utf8(head));
    if (const int at = picked(); at >= 0) painter.fillRect(row_rect(at), theme()(p.selected_row));
    for (const int l : order_) {
        if (!row_rect(l).intersects(event->rect())) continue;
        paint_tick(painter, l);
        if (leaf(l).used)
            paint_pair(painter, l);
        else
            paint_lost(painter, l);
    }
    paint_findings(painter);
}

void DonationCanvas::paint_lost(QPainter& painter, int number) const {
    const Palette& p = theme().palette();
    const DonatedLeaf& at = leaf(number);
    const QRect where = row_rect(number).adjusted(kLeft, 0, -kMargin, 0);
    const int half = (where.width() - kBetween) / 2;
    painter.setFont(mono_font(11));
    const QString mark = is_kept_back(number) ? QString() : kLostMark;
    painter.setPen(theme()(is_kept_back(number) ? p.muted : p.unknown_text));
    const QString type = utf8("  " + at.aval);
    const int room = half - kBytesWidth, for_type = painter.fontMetrics().horizontalAdvance(type);
    // The type is in the table, too; the path says which it is.
    const bool with_type = room - for_type > room / 2;
    const QString left = shortened(mark, at.path, room - (with_type ? for_type : 0)) + (with_type ? type : QString());
    painter.drawText(where.adjusted(0, 0, half - where.width() - kBytesWidth, 0), Qt::AlignLeft | Qt::AlignVCenter, left);
    painter.setPen(theme()(p.ink));
    painter.drawText(QRect(where.left() + half - kBytesWidth, where.top(), kBytesWidth - 10, kRow), Qt::AlignRight | Qt::AlignVCenter,
                     utf8(bytes_text(at.bytes)));
    painter.setFont(text_font(12));
    painter.setPen(theme()(p.muted));
    const QRect reason(where.left() + half + 6, where.top(), where.width() - half - 6, kRow);
    painter.drawText(reason, Qt::AlignLeft | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(utf8(at.reason), Qt::ElideRight, reason.width()));
}

void DonationCanvas::paint_pair(QPainter& painter, int number) const {
    const Palette& p = theme().palette();
    const DonatedLeaf& at = leaf(number);
    const QRect where = row_rect(number).adjusted(kLeft, 0, -kMargin, 0);
    const int right = where.right() - output_room(), left = right - kBetween, y = where.center().y();
    painter.setFont(mono_font(11));
    painter.setPen(theme()(p.donated_text));
    painter.drawText(QRect(where.left(), where.top(), left - kBytesWidth - where.left(), kRow), Qt::AlignLeft | Qt::AlignVCenter,
                     shown_path(number));
    painter.setPen(theme()(p.ink));
    painter.drawText(QRect(left - kBytesWidth, where.top(), kBytesWidth - 10, kRow), Qt::AlignRight | Qt::AlignVCenter,
                     utf8(bytes_text(at.bytes)));
    const bool other = crosses(at);
    painter.setPen(theme()(other ? p.recomputed_text : p.ink));
    const QRect end(right + kBeforeOutput, where.top(), output_room() - kBeforeOutput, kRow);
    painter.drawText(end, Qt::AlignLeft | Qt::AlignVCenter, shortened({}, output_name(at), end.width()));
    QPen pen(theme()(other ? p.recomputed : p.donated), number == picked() ? 3 : 1.4);
    if (other) pen.setDashPattern({4, 3});
    painter.setPen(pen);
    painter.drawLine(left + 2, y, right + 4, y);
}

void DonationCanvas::paint_findings(QPainter& painter) const {
    const Palette& p = theme().palette();
    painter.setFont(text_font(12));
    painter.setPen(theme()(p.ink));
    for (std::size_t f = 0; f < finding_rects_.size(); ++f)
        painter.drawText(finding_rects_[f], int(Qt::AlignLeft) | Qt::TextWordWrap, utf8(report_->findings[f]));
}

void DonationCanvas::mousePressEvent(QMouseEvent* event) {
    for (const int l : order_) {
        if (!row_rect(l).contains(event->pos())) continue;
        constexpr int kNear = 6;
        if (event->button() == Qt::LeftButton && tick_rect(l).adjusted(-kNear, -kNear, kNear, kNear).contains(event->pos()))
            return Q_EMIT leaf_ticked(leaf(l).input, is_kept_back(l));
        Picked one;
        (is_kept_back(l) ? one.input : one.donated) = leaf(l).input;
        return selection_->pick(one);
    }
    selection_->clear();
}

DonationView::DonationView(Selection* selection, QWidget* parent) : QScrollArea(parent), canvas_(new DonationCanvas(selection)) {
    setWidget(canvas_);
    setWidgetResizable(true);
    setFrameShape(QFrame::NoFrame);
    connect(canvas_, &DonationCanvas::row_shown, this,
            [this](const QRect& row) { ensureVisible(0, row.center().y(), 0, row.height() * 2); });
}

}  // namespace jaxscope::views
