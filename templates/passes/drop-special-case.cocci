// Replace a branch for sizes that are a multiple of W, and its general alternative, by the general one.
@@
expression n;
constant W;
statement F, S;
@@
(
- if (n % W == 0) F else S
+ S
|
- if (!(n % W)) F else S
+ S
|
- if (n % W) S else F
+ S
|
- if ((n & W) == 0) F else S
+ S
|
- if (n & W) S else F
+ S
)
