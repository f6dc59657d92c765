/* Calls three libraries that allocate: 100 blocks of 10 bytes, 200 of 20 and 300 of 30. */
void allocate_in_first(void);
void allocate_in_second(void);
void allocate_in_third(void);

int main(void) {
  allocate_in_first();
  allocate_in_second();
  allocate_in_third();
  return 0;
}
