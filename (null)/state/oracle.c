void copy(void) {}
