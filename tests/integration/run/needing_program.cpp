#include <cstdio>

int main() { std::puts("started"); }
