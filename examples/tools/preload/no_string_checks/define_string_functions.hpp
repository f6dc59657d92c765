/// An object that checks no functions of strings defines none.
#pragma once
