// SPDX-License-Identifier: Apache-2.0
#include "text/jaxpr_view.h"

#include <KSyntaxHighlighting/Definition>
#include <KSyntaxHighlighting/Repository>
#include <KSyntaxHighlighting/SyntaxHighlighter>
#include <KSyntaxHighlighting/Theme>
#include <QMouseEvent>
#include <QTextBlock>
#include <QTimer>
#include <algorithm>
#include <unordered_set>

#include "analysis/equations/eqn_path.h"
#include "io/load_program.h"
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

/// Where a jaxpr stands first below `root`.
bool find_jaxpr(const Jaxpr& root, const Jaxpr* wanted, JaxprPath& path, std::unordered_set<const Jaxpr*>& seen) {
    if (&root == wanted) return true;
    if (!seen.insert(&root).second) return false;
    for (std::size_t i = 0; i < root.eqns.size(); ++i)
        for (const SubJaxpr& sub : sub_jaxprs(root.eqns[i])) {
            path.steps.push_back({static_cast<std::uint32_t>(i), sub.param, sub.index});
            if (find_jaxpr(*sub.jaxpr, wanted, path, seen)) return true;
            path.steps.pop_back();
        }
    return false;
}

}  // namespace

JaxprView::JaxprView(Selection* selection, QWidget* parent) : QPlainTextEdit(parent), selection_(selection), printing_(this) {
    setReadOnly(true);
    setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    setLineWrapMode(NoWrap);
    setFrameShape(NoFrame);
    setFont(mono_font(12));
    document()->setDocumentMargin(14);
    setAccessibleName(tr("Text of the program"));
    connect(selection_, &Selection::changed, this, [this] { mark_selected(!own_pick_); });
    restyle();
}

JaxprView::~JaxprView() = default;

void JaxprView::set_program(const ProgramPtr& program) {
    program_ = program;
    printed_.reset();
    asked_ = false;
    marked_ = 0;
    setPlainText({});
    if (isVisible()) print();
}

void JaxprView::showEvent(QShowEvent* event) {
    QPlainTextEdit::showEvent(event);
    print();
}

void JaxprView::print() {
    if (!program_ || asked_) return;
    asked_ = true;
    setPlainText(tr("Printing."));
    printing_.start([this, program = program_]() -> std::function<void()> {
        auto printed = std::make_shared<Printed>();
        try {
            const std::string text = to_text(*program->jaxpr, {.lines = &printed->equations});
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

void JaxprView::take(const std::shared_ptr<const Printed>& printed) {
    printed_ = printed;
    shown_parts_ = 0;
    setPlainText({});
    show_more();
}

/// Lines are coloured as they come in: a few at a time, so that the window answers meanwhile.
void JaxprView::show_more() {
    if (!printed_ || shown_parts_ >= printed_->parts.size()) return;
    QTextCursor end(document());
    end.movePosition(QTextCursor::End);
    end.insertText(printed_->parts[shown_parts_++]);
    if (shown_parts_ < printed_->parts.size())
        QTimer::singleShot(0, this, &JaxprView::show_more);
    else
        mark_selected(true);
}

void JaxprView::mark_selected(bool bring_into_view) {
    marked_ = 0;
    QList<QTextEdit::ExtraSelection> marks;
    if (const auto& path = selection_->picked().program; path && printed_ && !printed_->equations.empty()) {
        const Jaxpr* jaxpr = &resolve(*program_->jaxpr, path->jaxpr);
        const auto at = std::find_if(printed_->equations.begin(), printed_->equations.end(),
                                     [&](const EqnLine& e) { return e.jaxpr == jaxpr && e.eqn == path->eqn; });
        if (at != printed_->equations.end() && at->line < std::min<std::int64_t>(blockCount(), kMostLines)) {
            marked_ = static_cast<int>(at->line) + 1;
            QTextEdit::ExtraSelection mark;
            mark.format.setBackground(theme()(theme().palette().selected_row));
            mark.format.setProperty(QTextFormat::FullWidthSelection, true);
            mark.cursor = QTextCursor(document()->findBlockByNumber(marked_ - 1));
            marks << mark;
            if (bring_into_view) {
                setTextCursor(mark.cursor);
                centerCursor();
            }
        }
    }
    setExtraSelections(marks);
}

void JaxprView::mouseReleaseEvent(QMouseEvent* event) {
    QPlainTextEdit::mouseReleaseEvent(event);
    if (event->button() == Qt::LeftButton && !textCursor().hasSelection()) pick_line(cursorForPosition(event->pos()).blockNumber());
}

/// The equation that begins on the line, else the one of which it is a part: the last one before.
void JaxprView::pick_line(int line) {
    if (!printed_ || line >= kMostLines) return;
    const auto behind =
        std::upper_bound(printed_->equations.begin(), printed_->equations.end(), line, [](int l, const EqnLine& e) { return l < e.line; });
    if (behind == printed_->equations.begin()) return;
    // Of several on one line the first: a jaxpr that fits into a line stands behind the equation that holds it.
    auto at = std::prev(behind);
    while (at != printed_->equations.begin() && std::prev(at)->line == at->line) --at;
    JaxprPath path;
    std::unordered_set<const Jaxpr*> seen;
    if (!find_jaxpr(*program_->jaxpr, at->jaxpr, path, seen)) return;
    Picked picked;
    picked.program = EqnPath{path, at->eqn};
    own_pick_ = true;
    selection_->pick(picked);
    own_pick_ = false;
}

void JaxprView::restyle() {
    const Palette& p = theme().palette();
    setStyleSheet(QStringLiteral("QPlainTextEdit { background: %1; color: %2; }").arg(QLatin1String(p.canvas), QLatin1String(p.ink)));
    if (!colours_) colours_ = std::make_unique<KSyntaxHighlighting::SyntaxHighlighter>(document());
    KSyntaxHighlighting::Repository& all = syntax_of_jaxprs();
    colours_->setTheme(
        all.defaultTheme(theme().dark() ? KSyntaxHighlighting::Repository::DarkTheme : KSyntaxHighlighting::Repository::LightTheme));
    colours_->setDefinition(all.definitionForName(QStringLiteral("jaxpr")));
    colours_->rehighlight();
    mark_selected(false);
}

}  // namespace jaxscope::views
