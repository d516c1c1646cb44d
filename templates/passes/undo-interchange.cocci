// The innermost loop runs along a row (unit stride). Make the summation the
// innermost loop again.
@@
type T1, T2, T3;
identifier i, j, a;
expression n, m, E, X, Y, R;
@@
- for (T1 i = 0; i < n; i++) {
-	T3 a = E;
-	for (T2 j = 0; j < m; j++)
-		X[Y + j] += R;
- }
+ for (T2 j = 0; j < m; j++)
+	for (T1 i = 0; i < n; i++) {
+		T3 a = E;
+		X[Y + j] += R;
+	}

@@
type T1, T2, T3;
identifier i, j, a;
expression n, m, E, X, R;
@@
- for (T1 i = 0; i < n; i++) {
-	T3 a = E;
-	for (T2 j = 0; j < m; j++)
-		X[j] += R;
- }
+ for (T2 j = 0; j < m; j++)
+	for (T1 i = 0; i < n; i++) {
+		T3 a = E;
+		X[j] += R;
+	}

@@
type T1, T2;
identifier i, j;
expression n, m, X, Y, R;
@@
(
- for (T1 i = 0; i < n; i++)
-	for (T2 j = 0; j < m; j++)
-		X[Y + j] += R;
+ for (T2 j = 0; j < m; j++)
+	for (T1 i = 0; i < n; i++)
+		X[Y + j] += R;
|
- for (T1 i = 0; i < n; i++) {
-	for (T2 j = 0; j < m; j++)
-		X[Y + j] += R;
- }
+ for (T2 j = 0; j < m; j++)
+	for (T1 i = 0; i < n; i++)
+		X[Y + j] += R;
|
- for (T1 i = 0; i < n; i++)
-	for (T2 j = 0; j < m; j++)
-		X[j] += R;
+ for (T2 j = 0; j < m; j++)
+	for (T1 i = 0; i < n; i++)
+		X[j] += R;
|
- for (T1 i = 0; i < n; i++) {
-	for (T2 j = 0; j < m; j++)
-		X[j] += R;
- }
+ for (T2 j = 0; j < m; j++)
+	for (T1 i = 0; i < n; i++)
+		X[j] += R;
)
