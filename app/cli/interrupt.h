// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/cancel.h"

namespace jaxscope::cli {

/// Starts the thread that Ctrl-C goes to; call where signals are blocked (base/signals.h). It cancels `interrupted()`, in whose scope main
/// works, so that whatever is at work stops at its next check, ends its children and removes its temporary files. What has not stopped half
/// a second later (a library's call that doesn't ask) ends with the process, and so does everything at a second Ctrl-C: temporary files
/// are removed even then. The exit code is 130. Once results are being put in place (AtomicFile) it is too late to cancel.
void watch_for_interrupt();
const CancelToken& interrupted();

/// While it stands, the process waits for what is at work as long as that takes: children get their time to end.
class WaitForChildren {
public:
    WaitForChildren();
    ~WaitForChildren();
    WaitForChildren(const WaitForChildren&) = delete;
    WaitForChildren& operator=(const WaitForChildren&) = delete;
};

}  // namespace jaxscope::cli
