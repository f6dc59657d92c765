extern int anything;

int main(void) { return anything; }
