/// Functions of a library whose pages are guarded (PROT_BTI): branches through pointers must lead
/// to landing pads.
#pragma once

extern "C" {
/// Each returns x + 7. The first begins with bti c, the second with paciasp.
int guarded_leaf(int x);
int guarded_caller(int x);
/// Begins with no landing pad.
int guarded_without_pad(int x);
}
