// SPDX-License-Identifier: Apache-2.0
#include "theme/readable_colours.h"

#include <KSyntaxHighlighting/Repository>
#include <KSyntaxHighlighting/Theme>
#include <QElapsedTimer>
#include <QTextDocument>

#include "theme/theme.h"

namespace jaxscope::views {

ReadableColours::ReadableColours(QTextDocument* document) : SyntaxHighlighter(document) {
    connect(&soon_, &QTimer::timeout, this, &ReadableColours::colour_some);
}

void ReadableColours::colour(const KSyntaxHighlighting::Repository& all, const KSyntaxHighlighting::Definition& wanted,
                             const QTextBlock& first) {
    using KSyntaxHighlighting::Repository;
    readable_.clear();
    setTheme(all.defaultTheme(views::theme().dark() ? Repository::DarkTheme : Repository::LightTheme));
    // A line's colours depend on how the one above ended, which a text that was never coloured doesn't know.
    const bool anew = definition() != wanted;
    skips_ = true;
    setDefinition(wanted);
    skips_ = false;
    next_ = anew || !first.isValid() ? 0 : first.blockNumber();
    left_ = document()->blockCount();
    colour_some();
    if (left_ > 0) soon_.start(0);
}

void ReadableColours::colour_some() {
    constexpr int kAtOnce = 5;  // ms of an event; there are several such texts
    QElapsedTimer clock;
    clock.start();
    for (; left_ > 0 && clock.elapsed() < kAtOnce; --left_, ++next_) {
        if (next_ >= document()->blockCount()) next_ = 0;
        rehighlightBlock(document()->findBlockByNumber(next_));
    }
    if (left_ == 0) soon_.stop();
}

void ReadableColours::highlightBlock(const QString& text) {
    if (!skips_) SyntaxHighlighter::highlightBlock(text);
}

void ReadableColours::applyFormat(int offset, int length, const KSyntaxHighlighting::Format& how) {
    SyntaxHighlighter::applyFormat(offset, length, how);
    QTextCharFormat made = format(offset);
    if (length == 0 || made.foreground().style() == Qt::NoBrush) return;
    const QColor wanted = made.foreground().color();
    const auto known = readable_.constFind(wanted.rgb());
    made.setForeground(known != readable_.constEnd()
                           ? *known
                           : *readable_.insert(wanted.rgb(), readable_on(views::theme()(views::theme().palette().canvas), wanted)));
    setFormat(offset, length, made);
}

}  // namespace jaxscope::views
