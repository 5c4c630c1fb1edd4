//! Wiring labels: an HTML page to print, with one label per PC. The label has a patch for each NIC,
//! in the colour of the cable to plug in (flat-neighborhood-network-compiler, section 3.1).
//!
//! Each switch has a colour, which is that of all its cables. There are eight: from the ninth
//! switch on they repeat for transparent cables, whose patches bear a mark (first a double
//! triangle, as in the paper). The number of the switch is on the patch too, so that the page is of
//! use without colours. The page needs no other files.

use std::fmt::Write as _;

use tresse_base::wiring::Wiring;

/// Returns the HTML page with one wiring label per PC. The label of PC `i` bears `name(i)`.
#[must_use]
pub fn html(wiring: &Wiring, pcs: usize, title: &str, name: impl Fn(u32) -> String) -> String {
    let mut page = String::from(HEAD);
    // Writing to a string cannot fail.
    let _ = writeln!(page, "<title>{0}</title></head><body><h1>{0}</h1>", escaped(title));
    let _ = writeln!(
        page,
        "<p>{} PCs, {} cables. NIC 1 of a PC is the one that the kernel finds first: try that on one \
         PC before all are wired.</p><section class=\"switches\">",
        pcs,
        wiring.switches.iter().map(Vec::len).sum::<usize>()
    );
    for (switch, members) in wiring.switches.iter().enumerate() {
        let _ = writeln!(
            page,
            "<div class=\"key\">{} switch {switch}: {} cables</div>",
            patch(switch as u32),
            members.len()
        );
    }
    page.push_str("</section><section class=\"labels\">\n");
    for (pc, row) in wiring.rows(pcs).iter().enumerate() {
        let _ = write!(page, "<div class=\"label\"><b>{}</b>", escaped(&name(pc as u32)));
        for (nic, switch) in row.iter().enumerate() {
            let _ = write!(page, "<span class=\"nic\"><i>{}</i>{}</span>", nic + 1, patch(*switch));
        }
        page.push_str("</div>\n");
    }
    page.push_str("</section></body></html>\n");
    page
}

fn patch(switch: u32) -> String {
    let colour = COLOURS[switch as usize % COLOURS.len()];
    let mark = match switch as usize / COLOURS.len() {
        0 => "",
        1 => "<path d=\"M2 2h12l-6 9zM30 2h12l-6 9z\" fill=\"#fff\" stroke=\"#000\"/>",
        2 => "<path d=\"M0 12h44\" stroke=\"#fff\" stroke-width=\"4\"/>",
        _ => "<circle cx=\"9\" cy=\"12\" r=\"5\" fill=\"#fff\" stroke=\"#000\"/>",
    };
    format!(
        "<svg viewBox=\"-1 -1 46 26\" role=\"img\" aria-label=\"switch {switch}\"><rect width=\"44\" \
         height=\"24\" rx=\"3\" fill=\"{colour}\" stroke=\"#000\"/>{mark}<rect x=\"13\" y=\"5\" \
         width=\"18\" height=\"14\" rx=\"2\" fill=\"#fff\"/><text x=\"22\" y=\"16\" \
         text-anchor=\"middle\" font-size=\"11\">{switch}</text></svg>"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

const HEAD: &str = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><style>
body{font:11pt sans-serif;margin:1cm;print-color-adjust:exact;-webkit-print-color-adjust:exact}
.switches{display:flex;flex-wrap:wrap;gap:.4em 1.5em;margin-bottom:1em}
.key{display:flex;align-items:center;gap:.4em}
.labels{display:grid;grid-template-columns:repeat(auto-fill,minmax(6.2cm,1fr));gap:2mm}
.label{border:1px dashed #888;padding:2mm;display:flex;align-items:end;gap:2mm;break-inside:avoid}
.label b{min-width:1.4cm;align-self:center}
.nic{display:flex;flex-direction:column;align-items:center}
.nic i{font-size:8pt;color:#333}
svg{width:1.05cm;height:.6cm;display:block}
@page{margin:1cm}
</style>";
/// Colours that people with the common kinds of colour blindness can distinguish (Okabe and Ito 2008).
const COLOURS: [&str; 8] =
    ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#000000"];
