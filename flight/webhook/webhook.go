// Package webhook signs, sends and verifies the service's webhooks.
//
// It promises the following.
//
//   - A delivery is one HTTP POST of the bytes it was given, with the headers of
//     the service's contract: the six x-service-* ones, their copies under the
//     legacy prefix, the subscription's own, and those of the Standard Webhooks
//     specification where the secret has that form.
//   - [Sender.Send] never panics, never blocks past its time-out, reads a bounded
//     part of the answer, follows no redirect, uses no proxy, and connects to no
//     address that is not public unless it was told to; it always comes back with
//     a [Result] that says what happened and what is to follow from it.
//   - [Verify] is for receivers, who may import this package: it accepts exactly
//     what [Sign] made within five minutes, in constant time. [VerifyStandard]
//     does the same by the headers of Standard Webhooks.
//
// What a customer may set (URL, headers, secret) is checked by [CheckURL],
// [CheckHeaders] and [CheckSecret] when it is set, and again when it is used.
package webhook
