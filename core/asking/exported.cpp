// SPDX-License-Identifier: Apache-2.0
#include "asking/exported.h"

#include <fstream>
#include <iterator>

#include "asking/capture_package.h"
#include "base/error.h"
#include "base/temporary_folder.h"

namespace jaxscope {

bool looks_exported(std::string_view bytes) { return bytes.substr(0, 1 << 20).find("ML\xefR\rStableHLO_") != std::string_view::npos; }

std::string stablehlo_of_exported(const std::string& file, const std::string& python) {
    const TemporaryFolder folder;
    const std::string out = folder.file("exported.mlir");
    ProcessRequest request;
    request.command = {python_of(python), "-m", "jaxscope.command.exported", file, out};
    add_capture_package(request);
    request.environment["JAX_PLATFORMS"] = "cpu";
    request.timeout_seconds = 600;
    const ProcessResult result = run_process(request);
    if (result.cancelled) throw Error(ErrorCode::Cancelled, "cancelled");
    if (result.exit_code != 0) {
        const ErrorCode code = result.exit_code == exit_code(ErrorCode::BadInput) ? ErrorCode::BadInput : ErrorCode::CannotRun;
        throw Error(code, result.timed_out ? "expected Python to read it within 10 minutes, found it still at work" : last_word(result))
            .at({file, 0, 0});
    }
    std::ifstream in(out, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace jaxscope
