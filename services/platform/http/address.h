#pragma once

#include <sys/socket.h>

#include <string>

namespace winnow::http {

// Whether the address is one of the public Internet: not loopback, private, link-local, CGNAT,
// metadata, documentation, multicast, reserved, nor one of these inside an IPv6 form (IANA special
// purpose registries).
bool IsGlobalAddress(const sockaddr& address);
// The same of a literal, "192.0.2.1" or "2001:db8::1"; false for what is none.
bool IsGlobalAddress(const std::string& literal);

}  // namespace winnow::http
