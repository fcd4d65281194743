// SPDX-License-Identifier: Apache-2.0
// libjaxscope.so is made of core's static libraries; CMake wants a source of its own.
