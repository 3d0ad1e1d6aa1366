/** Colours of both themes and the few shapes of the page. It must look the same without a network. */
export const STYLE = `
:root{--ink:#1c2024;--soft:#60646c;--line:#e2e4e9;--paper:#fff;--card:#f7f8fa;--green:#18794e;--red:#c62a2f;--amber:#ad5700;--blue:#0b68cb}
@media (prefers-color-scheme:dark){:root{--ink:#ecedee;--soft:#9ba1a6;--line:#2b2f31;--paper:#151718;--card:#1a1d1e;--green:#4cc38a;--red:#ff6369;--amber:#f1a10d;--blue:#52a9ff}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:980px;margin:0 auto;padding:32px 20px 64px}
h1{font-size:24px;margin:0 0 2px}h2{font-size:16px;margin:36px 0 10px}
.span{color:var(--soft);margin:0 0 22px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(128px,1fr));gap:10px}
.tile{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:12px 14px}
.tile b{display:block;font-size:26px;line-height:1.2;font-variant-numeric:tabular-nums}.tile span{color:var(--soft);font-size:13px}
.green b,.green{color:var(--green)}.red b,.red{color:var(--red)}.amber b,.amber{color:var(--amber)}
ul{list-style:none;margin:0;padding:0}li{border-top:1px solid var(--line);padding:9px 0}li:first-child{border-top:0}
code,.id{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-wrap:anywhere}
.id,.soft{color:var(--soft)}.facts{color:var(--soft);font-size:13px;float:right;padding-left:12px}
.note{color:var(--soft);margin:2px 0 0;white-space:pre-wrap;overflow-wrap:anywhere}
.next{display:inline-block;margin-top:3px;background:var(--card);border:1px solid var(--line);border-radius:6px;padding:1px 7px;color:var(--blue)}
.picture{overflow:auto;border:1px solid var(--line);border-radius:10px;background:#fff}.picture svg{max-width:100%;height:auto;display:block}
.time{overflow:auto}.time text{fill:var(--ink);font:12px system-ui,sans-serif}.time .tick{fill:var(--soft)}.time line{stroke:var(--line)}
footer{margin-top:44px;color:var(--soft);font-size:13px}
`
