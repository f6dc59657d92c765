int chosen_when_called(int x);

int call_lazily(int x);
int call_lazily(int x) { return chosen_when_called(x) * 2; }
