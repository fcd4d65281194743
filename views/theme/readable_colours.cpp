// SPDX-License-Identifier: Apache-2.0
#include "theme/readable_colours.h"

#include "theme/theme.h"

namespace jaxscope::views {

void ReadableColours::applyFormat(int offset, int length, const KSyntaxHighlighting::Format& how) {
    SyntaxHighlighter::applyFormat(offset, length, how);
    QTextCharFormat made = format(offset);
    if (length == 0 || made.foreground().style() == Qt::NoBrush) return;
    made.setForeground(readable_on(views::theme()(views::theme().palette().canvas), made.foreground().color()));
    setFormat(offset, length, made);
}

}  // namespace jaxscope::views
