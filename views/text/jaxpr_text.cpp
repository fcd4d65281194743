// SPDX-License-Identifier: Apache-2.0
#include "text/jaxpr_text.h"

#include <KSyntaxHighlighting/Definition>
#include <KSyntaxHighlighting/Repository>
#include <QMouseEvent>
#include <QTextBlock>
#include <QTimer>
#include <algorithm>

#include "io/load_program.h"
#include "session/session.h"
#include "theme/readable_colours.h"
#include "theme/theme.h"

namespace jaxscope::views {

namespace {

/// With our own definition of what a jaxpr looks like.
KSyntaxHighlighting::Repository& syntax_of_jaxprs() {
    static KSyntaxHighlighting::Repository& all = *[] {
        auto* made = new KSyntaxHighlighting::Repository;
        made->addCustomSearchPath(utf8(data_folder() + "/resources"));
        return made;
    }();
    return all;
}

}  // namespace

JaxprText::JaxprText(QWidget* parent) : QPlainTextEdit(parent), printing_(this) {
    setReadOnly(true);
    setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    setLineWrapMode(NoWrap);
    setFrameShape(NoFrame);
    setFont(mono_font(12));
    document()->setDocumentMargin(14);
    viewport()->setMouseTracking(true);
    JaxprText::restyle();
}

JaxprText::~JaxprText() = default;

void JaxprText::set_jaxpr(const JaxprPtr& jaxpr, int width) {
    tell({});
    jaxpr_ = jaxpr;
    width_ = width;
    if (isVisible()) print();
}

void JaxprText::tell(const QString& sentence) {
    printing_.cancel();
    jaxpr_.reset();
    printed_.reset();
    asked_ = false;
    pointed_ = nullptr;
    mark({}, false);
    setPlainText(sentence);
}

const std::vector<EqnLine>& JaxprText::equations() const {
    static const std::vector<EqnLine> none;
    return printed_ ? printed_->equations : none;
}

const EqnLine* JaxprText::equation_at(int line) const {
    const std::vector<EqnLine>& all = equations();
    if (line >= kMostLines) return nullptr;
    const auto behind = std::upper_bound(all.begin(), all.end(), line, [](int l, const EqnLine& e) { return l < e.line; });
    if (behind == all.begin()) return nullptr;
    // Of several on one line the first: a jaxpr that fits into a line stands behind the equation that holds it.
    auto at = std::prev(behind);
    while (at != all.begin() && std::prev(at)->line == at->line) --at;
    return &*at;
}

void JaxprText::showEvent(QShowEvent* event) {
    QPlainTextEdit::showEvent(event);
    print();
}

void JaxprText::print() {
    if (!jaxpr_ || asked_) return;
    asked_ = true;
    setPlainText(tr("Printing."));
    printing_.start([this, jaxpr = jaxpr_, width = width_]() -> std::function<void()> {
        auto printed = std::make_shared<Printed>();
        try {
            const std::string text = to_text(*jaxpr, {.width = width, .lines = &printed->equations});
            printed->lines = 1 + std::count(text.begin(), text.end(), '\n');
            for (std::size_t begin = 0; begin < text.size() && printed->parts.size() * kLinesAtOnce < kMostLines;) {
                std::size_t end = begin;
                for (int line = 0; line < kLinesAtOnce && end < text.size(); ++line)
                    end = std::min(text.find('\n', end), text.size() - 1) + 1;
                printed->parts << utf8(text.substr(begin, end - begin));
                begin = end;
            }
            if (printed->lines > kMostLines)
                printed->parts << tr("... the first %1 of %2 lines; `jaxscope print` has all of them").arg(kMostLines).arg(printed->lines);
        } catch (const std::exception& e) {
            printed->parts << in_words(e);
        }
        return [this, printed] { take(printed); };
    });
}

void JaxprText::take(const std::shared_ptr<const Printed>& printed) {
    printed_ = printed;
    shown_parts_ = 0;
    setPlainText({});
    show_more();
}

/// Lines are coloured as they come in: a few at a time, so that the window answers meanwhile.
void JaxprText::show_more() {
    if (!printed_ || shown_parts_ >= printed_->parts.size()) return;
    QTextCursor end(document());
    end.movePosition(QTextCursor::End);
    end.insertText(printed_->parts[shown_parts_++]);
    if (shown_parts_ < printed_->parts.size())
        QTimer::singleShot(0, this, &JaxprText::show_more);
    else
        Q_EMIT this->printed();
}

void JaxprText::mark(const std::vector<int>& lines, bool bring_into_view) {
    marked_.clear();
    QList<QTextEdit::ExtraSelection> marks;
    for (const int line : lines) {
        if (line >= std::min(blockCount(), kMostLines)) continue;
        marked_.push_back(line);
        QTextEdit::ExtraSelection mark;
        mark.format.setBackground(theme()(theme().palette().selected_row));
        mark.format.setProperty(QTextFormat::FullWidthSelection, true);
        mark.cursor = QTextCursor(document()->findBlockByNumber(line));
        marks << mark;
    }
    if (bring_into_view && !marks.empty()) {
        setTextCursor(marks.first().cursor);
        centerCursor();
    }
    setExtraSelections(marks);
}

void JaxprText::mouseReleaseEvent(QMouseEvent* event) {
    QPlainTextEdit::mouseReleaseEvent(event);
    if (event->button() != Qt::LeftButton || textCursor().hasSelection()) return;
    if (const EqnLine* equation = equation_at(cursorForPosition(event->pos()).blockNumber())) Q_EMIT clicked(equation);
}

void JaxprText::mouseMoveEvent(QMouseEvent* event) {
    QPlainTextEdit::mouseMoveEvent(event);
    point_at(equation_at(cursorForPosition(event->pos()).blockNumber()));
}

void JaxprText::leaveEvent(QEvent* event) {
    QPlainTextEdit::leaveEvent(event);
    point_at(nullptr);
}

void JaxprText::point_at(const EqnLine* equation) {
    if (pointed_ == equation) return;
    pointed_ = equation;
    Q_EMIT pointed_at(equation);
}

void JaxprText::restyle() {
    const Palette& p = theme().palette();
    setStyleSheet(QStringLiteral("QPlainTextEdit { background: %1; color: %2; }").arg(QLatin1String(p.canvas), QLatin1String(p.ink)));
    if (!colours_) colours_ = std::make_unique<ReadableColours>(document());
    KSyntaxHighlighting::Repository& all = syntax_of_jaxprs();
    colours_->colour(all, all.definitionForName(QStringLiteral("jaxpr")), firstVisibleBlock());
    mark(std::vector<int>(marked_), false);
}

}  // namespace jaxscope::views
