// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace jaxscope {

struct ProcessRequest {
    std::vector<std::string> command;                ///< the program is looked up on PATH
    std::map<std::string, std::string> environment;  ///< added to this process's own
    std::string input;                               ///< given on standard input
    bool inherit_input = false;          ///< give it our standard input instead, unless that is a terminal (it runs in the background)
    double timeout_seconds = 0;          ///< 0: none
    std::size_t max_output = 64u << 20;  ///< of each stream, kept or passed on; the rest is read and thrown away, and said
    std::size_t memory_limit = 0;        ///< RLIMIT_AS of the child, 0: none
    bool forward_stderr = false;         ///< pass the child's standard error on as it comes
};
struct ProcessResult {
    int exit_code = 0;  ///< 128 + signal when a signal ended it
    bool timed_out = false, cancelled = false, truncated = false;
    std::string output, error;
    std::string error_tail;  ///< the last 4 KiB of its standard error: what it said in the end, however much it said before
};

/// The one way in which jaxscope runs other programs. The child leads a process group of its own, which is ended as a whole: none of
/// its children is left behind when it ends, times out, or is cancelled (base/cancel.h; then it is asked with SIGTERM first, and gets half
/// a second), nor are those that left the group (daemons): a variable of the environment tells them. Nobody waits for a grandchild that
/// holds the streams open. Throws Error{NotFound} when there is no such program.
ProcessResult run_process(const ProcessRequest& request);

/// The last line that is no blank one of what it said on standard error.
std::string last_line(const ProcessResult& result);
/// That of a jaxscope, without what it puts in front of its words and behind them ("jaxscope: ", " [bad-input]"): they are said anew.
std::string last_word(const ProcessResult& result);

}  // namespace jaxscope
