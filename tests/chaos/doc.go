// Package chaos is a proxy between clients and a server that spoils what
// passes, the way that networks, proxies and dying servers do. It speaks HTTP,
// so that it can lose an answer after the server has acted, or answer in its
// stead, and it keeps every byte and every request for the checks of a test.
//
// Which fault meets which request follows from a seed, or from [Proxy.Once];
// [Proxy.Hold] keeps one request back until a test lets it through. Faults can be
// changed at any time. It is for tests alone: it keeps all of its
// traffic in memory.
package chaos
