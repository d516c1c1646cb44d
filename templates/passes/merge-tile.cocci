// Merge a loop over tiles with the loop over one tile, if it contains nothing else.
@@
type T1, T2;
identifier ii, i;
expression n, W;
statement S;
@@
- for (T1 ii = 0; ii < n; ii += W)
-	for (T2 i = ii; i < ii + W && i < n; i++)
+ for (T2 i = 0; i < n; i++)
		S

@@
type T1, T2;
identifier ii, i;
expression n, W, E;
statement S;
@@
(
- for (T1 ii = 0; ii < n; ii += W)
-	for (T2 i = ii; i < E; i++)
+ for (T2 i = 0; i < n; i++)
		S
|
- for (T1 ii = 0; ii < n; ii += W) {
-	for (T2 i = ii; i < E; i++)
+ for (T2 i = 0; i < n; i++)
		S
- }
)

@@
type T1, T2, T3;
identifier ii, i, m;
expression n, W, E;
statement S;
@@
- for (T1 ii = 0; ii < n; ii += W) {
-	T3 m = E;
-	for (T2 i = ii; i < m; i++)
+ for (T2 i = 0; i < n; i++)
		S
- }
