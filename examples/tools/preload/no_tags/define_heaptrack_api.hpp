/// An object that hears of no pools defines none of heaptrack's functions.
#pragma once
