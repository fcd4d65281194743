// SPDX-License-Identifier: Apache-2.0
#pragma once
// The colours of highlighted text. Comes in: a document, a theme of KSyntaxHighlighting's. Goes out: its colours, as light or dark as they
// must be to be read on our ground. Never here: which words have which colour.
#include <KSyntaxHighlighting/SyntaxHighlighter>

namespace jaxscope::views {

/// The library's own themes are made for grounds of their own.
class ReadableColours : public KSyntaxHighlighting::SyntaxHighlighter {
public:
    using SyntaxHighlighter::SyntaxHighlighter;

protected:
    void applyFormat(int offset, int length, const KSyntaxHighlighting::Format& how) override;
};

}  // namespace jaxscope::views
