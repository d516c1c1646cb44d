/* SPDX-License-Identifier: Apache-2.0 */
#include "report/style.h"

#define LIGHT                                                                                  \
	"--t-text:#1b1f23;--t-soft:#4a5159;--t-link:#0b4f8a;--t-good:#17602b;--t-bad:#9c1c1c;" \
	"--t-key:#5b2a86;--t-string:#7a3b00;--t-number:#0b5563;--t-comment:#4d5a4d;"           \
	"--g-page:#fff;--g-panel:#f4f5f6;--g-add:#e3f4e6;--g-del:#fbe6e4;"                     \
	"--g-1:#eef5f9;--g-2:#ddecf5;--g-3:#cde4f1;--g-lost:#fbeee0;"                          \
	"--rule:#9aa2aa;--trace:#0b6579;--other:#8a3b12;--third:#5b3a8c;--reject:#a61e1e"

#define DARK                                                                                   \
	"--t-text:#e8eaed;--t-soft:#b9c0c7;--t-link:#8cc4ff;--t-good:#8fdc9f;--t-bad:#ffb0a8;" \
	"--t-key:#d9b8ff;--t-string:#ffc48a;--t-number:#8fdbe8;--t-comment:#b4c2b4;"           \
	"--g-page:#16181b;--g-panel:#1f2327;--g-add:#163021;--g-del:#3a1d1c;"                  \
	"--g-1:#1a2730;--g-2:#1b303e;--g-3:#1b394c;--g-lost:#37291a;"                          \
	"--rule:#6b737b;--trace:#5cc4dc;--other:#f0a070;--third:#c0a0f0;--reject:#ff8f85"

const char kl_report_style[] =
	"<style>\n"
	":root{color-scheme:light;" LIGHT "}\n"
	"@media screen and (prefers-color-scheme:dark){:root{color-scheme:dark;" DARK "}}\n"
	"body{font:15px/1.5 system-ui,sans-serif;max-width:1200px;margin:2em auto;padding:0 1em;"
	"overflow-wrap:anywhere;color:var(--t-text);background:var(--g-page)}\n"
	"th,td{overflow-wrap:normal}a{color:var(--t-link)}\n"
	"h1{font-size:1.6em;line-height:1.25}h3{font-size:1.15em;margin-top:1.8em}h4{font-size:1em}\n"
	"h2{font-size:1.3em;margin-top:2.2em;border-bottom:1px solid var(--rule)}\n"
	"table{border-collapse:collapse;width:100%;font-size:.92em}\n"
	"th,td{text-align:left;padding:.25em .6em;border-bottom:1px solid var(--rule);"
	"vertical-align:top}\n"
	"td.n,th.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}\n"
	"tr:target,h4:target{outline:2px solid var(--t-link)}\n"
	"pre,code{font:12px/1.4 ui-monospace,monospace;tab-size:8}\n"
	"pre{white-space:pre-wrap;background:var(--g-panel);padding:.6em;margin:.4em 0}\n"
	".plain{font-size:13px}\n"
	"details{margin:.4em 0}summary{cursor:pointer}.wide{overflow-x:auto}\n"
	".pass{color:var(--t-good)}.fail{color:var(--t-bad);font-weight:bold}.soft{color:var(--t-soft)}\n"
	".lost{text-decoration:line-through}\n"
	"dl{display:grid;grid-template-columns:max-content 1fr;gap:.15em 1em}\n"
	"dt{color:var(--t-soft)}dd{margin:0;overflow-wrap:anywhere}\n"
	"figure{margin:1em 0}figcaption{color:var(--t-soft);max-width:52em}\n"
	".k{color:var(--t-key)}.s{color:var(--t-string)}.m{color:var(--t-number)}"
	".c{color:var(--t-comment);font-style:italic}\n"
	".side{background:var(--g-panel);border:1px solid var(--rule)}"
	".side>div{display:grid;grid-template-columns:1fr 1fr}\n"
	".side code,.code code{white-space:pre-wrap;overflow-wrap:anywhere}"
	".side b{color:var(--t-soft);font-weight:normal}\n"
	".side code{padding:0 .4em;min-width:0}"
	".add{background:var(--g-add);border-left:3px solid var(--t-good)}"
	".del{background:var(--g-del);border-left:3px dotted var(--t-bad)}\n"
	".code{background:var(--g-panel)}.code td{border:0;padding:0 .6em}"
	".code td:first-child{white-space:nowrap;font-size:12px}\n"
	".g1{background:var(--g-1)}.g2{background:var(--g-2)}.g3{background:var(--g-3)}"
	".glost{background:var(--g-lost)}\n"
	".fig,.when{max-width:100%;height:auto}.slim{display:none}\n"
	".fig .line,.fig .up{stroke:var(--trace)}.fig .up,.fig circle.line{fill:var(--trace)}\n"
	".fig .line2{stroke:var(--other)}.fig .line3{stroke:var(--third)}\n"
	".fig path.line2{fill:var(--other)}.fig path.line3{fill:var(--third)}\n"
	".fig .down,.fig .reject{stroke:var(--reject)}\n"
	"@media (max-width:640px){.full{display:none}.slim{display:block}"
	"body{margin:1em auto;padding:0 .7em}dl{grid-template-columns:1fr}dd{margin:0 0 .3em 1em}"
	".side>div{grid-template-columns:1fr}.side .none,.side .same+.same{display:none}"
	".code td:first-child{white-space:normal}}\n"
	"@media print{body{font-size:10pt;max-width:none;margin:0}details.raw{display:none}"
	"details:not(.source)::details-content{content-visibility:visible;display:block;height:auto}"
	".wide{overflow:visible}table{font-size:7.5pt}th,td{padding:.15em .3em}"
	"td.n,th.n{white-space:normal}figure,tr{break-inside:avoid}h2,h3,h4{break-after:avoid}"
	"a{color:inherit}}\n"
	"</style>\n";
