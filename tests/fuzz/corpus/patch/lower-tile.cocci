// One constant at a time: KL_NAME is its name, KL_FROM its value, KL_TO the
// smaller one; git-klineage puts them in before spatch reads this.
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
