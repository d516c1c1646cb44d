// A branch for shapes that are a multiple of something, beside one for any shape.
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
