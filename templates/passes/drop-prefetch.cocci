// A prefetch is a hint: without it the same bytes are read later.
@@
@@
(
- __builtin_prefetch(...);
|
- _mm_prefetch(...);
)

// remove a loop that contained only prefetches
@@
expression a, b, c;
@@
- for (a; b; c) { }

@@
type T;
identifier i;
expression e, b, c;
@@
- for (T i = e; b; c) { }
