// SPDX-License-Identifier: Apache-2.0
#pragma once
// The colours of highlighted text. Comes in: a document, a theme of KSyntaxHighlighting's. Goes out: its colours, as light or dark as they
// must be to be read on our ground. Never here: which words have which colour.
#include <KSyntaxHighlighting/Definition>
#include <KSyntaxHighlighting/SyntaxHighlighter>
#include <QColor>
#include <QHash>
#include <QTextBlock>
#include <QTimer>

namespace KSyntaxHighlighting {
class Repository;
}

namespace jaxscope::views {

/// The library's own themes are made for grounds of their own. A text that is there is coloured some lines in each event.
class ReadableColours : public KSyntaxHighlighting::SyntaxHighlighter {
public:
    explicit ReadableColours(QTextDocument* document);
    /// In the colours of the theme in force, as the repository has them for it; from `first` on, then what is above.
    void colour(const KSyntaxHighlighting::Repository& all, const KSyntaxHighlighting::Definition& definition, const QTextBlock& first);
    bool busy() const { return left_ > 0; }

protected:
    void applyFormat(int offset, int length, const KSyntaxHighlighting::Format& how) override;
    void highlightBlock(const QString& text) override;

private:
    void colour_some();
    QTimer soon_;
    QHash<QRgb, QColor> readable_;  ///< on the ground of the theme in force
    int next_ = 0, left_ = 0;       ///< blocks
    bool skips_ = false;            ///< what is asked of all lines at once
};

}  // namespace jaxscope::views
