// The bodies of hook/ that know the operators of an executable.
#include "alloctap/hook/impl/program_operators.hpp"
