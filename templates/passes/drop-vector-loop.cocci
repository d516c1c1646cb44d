// Remove a main loop of W elements an iteration; the remainder loop after it
// then does all the work.
@@
identifier i;
expression n;
constant W;
statement V, S;
@@
(
- for (; i + W <= n; i += W) V
|
- for (; i + W < n + 1; i += W) V
|
- for (; i <= n - W; i += W) V
|
- for (; i + W - 1 < n; i += W) V
)
  ... when != i = ...
  for (; i < n; i++) S

@@
identifier i;
expression n, e;
constant W;
statement V, S;
@@
(
- for (i = e; i + W <= n; i += W) V
+ i = e;
|
- for (i = e; i <= n - W; i += W) V
+ i = e;
)
  ... when != i = ...
  for (; i < n; i++) S

// the same with a bound that the source rounds down
@@
identifier i, j;
expression n, m;
constant W;
type T1, T2;
statement V, S;
@@
- for (T1 i = 0; i < m; i += W) V
  ... when != m = ...
- for (T2 j = m; j < n; j++) S
+ for (T2 j = 0; j < n; j++) S
