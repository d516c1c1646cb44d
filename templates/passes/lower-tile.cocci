// Lower one constant: KL_NAME is its name, KL_FROM its value, KL_TO the new
// value; git-klineage replaces these words before spatch reads this file.
@@
@@
(
- #define KL_NAME KL_FROM
+ #define KL_NAME KL_TO
|
- #define KL_NAME (KL_FROM)
+ #define KL_NAME KL_TO
)

@@
@@
  enum { ...,
- KL_NAME = KL_FROM
+ KL_NAME = KL_TO
  , ... }

@@
type T;
@@
(
  static const T KL_NAME =
- KL_FROM
+ KL_TO
  ;
|
  const T KL_NAME =
- KL_FROM
+ KL_TO
  ;
)
