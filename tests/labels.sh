#!/bin/sh
# The page of labels of a flat neighbourhood, KLAT2 unless a table is given, as a browser shows and
# prints it: one box per PC with the switch of each NIC as the table has it, switches told apart by colour
# and mark, colours on the screen, no box across two sheets. Exits with 77 where chromium is missing.
#
#   tests/labels.sh [TABLE]        KEEP=DIRECTORY keeps the page, its picture and its sheets
set -eu
table=${1:+$(realpath "$1")}
cd "$(dirname "$0")/.."
chromium=$(command -v chromium || command -v chromium-browser || true)
if [ -z "$chromium" ] || ! command -v pdftotext >/dev/null; then
    echo "labels: not judged: needs chromium and pdftotext (chromium, poppler-utils)" >&2
    exit 77
fi
tresse=${TRESSE:-${CARGO_TARGET_DIR:-$PWD/target}/debug/tresse}
[ -n "${TRESSE:-}" ] || cargo build --locked --quiet --package tresse

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "labels: $*" >&2
    exit 1
}
# A profile of its own; as root chromium runs without its sandbox only. The page is ours alone.
browse() {
    timeout 120 "$chromium" --headless --no-sandbox --disable-gpu --hide-scrollbars \
        --user-data-dir="$work/profile" "$@" 2>>"$work/chromium.log" || {
        tail -n 5 "$work/chromium.log" >&2
        fail "chromium failed"
    }
}

if [ -z "$table" ]; then
    table=$work/klat2.fnn
    "$tresse" design configs/design/klat2.toml --seconds 1 -o "$table" >/dev/null
fi
"$tresse" design "$table" --labels "$work/labels.html" >/dev/null

sed 's/#.*//; /:/!d' "$table" | sort -n >"$work/table"
# What the page should say: a PC, then the switch of each of its NICs.
awk -F: '{ n = split($2, pcs, " "); for (i = 1; i <= n; i++) row[pcs[i]] = row[pcs[i]] " " $1 + 0
        for (i = 1; i <= n; i++) if (pcs[i] > last) last = pcs[i] + 0 }
    END { width = length(last); for (pc = 0; pc <= last; pc++) printf "n%0" width "d%s\n", pc, row[pc] }
' "$work/table" >"$work/wanted"
pcs=$(wc -l <"$work/wanted")
switches=$(wc -l <"$work/table")

browse --dump-dom "file://$work/labels.html" >"$work/dom"
sed 's/<div class="label">/\n&/g; s/<div class="key">/\n&/g; s/<\/section>/\n/g' "$work/dom" >"$work/boxes"
grep '^<div class="label">' "$work/boxes" |
    sed 's/<i>[^<]*<\/i>//g; s/<[^>]*>/ /g; s/  */ /g; s/^ //; s/ $//' >"$work/found"
diff "$work/wanted" "$work/found" >&2 || fail "the boxes are not those of the table"
# Without what differs by its number alone, patches must still differ.
differ=$(grep '^<div class="key">' "$work/boxes" | sed 's/.*<svg[^>]*>//; s/<text.*//' | sort -u | wc -l)
[ "$differ" = "$switches" ] || fail "$switches switches have $differ different patches"

# The picture: chromium itself counts its colours, in a page that holds it.
browse --screenshot="$work/labels.png" --window-size=1200,2400 "file://$work/labels.html" >/dev/null
colours=$(grep -o '<rect width="44"[^>]*fill="#[0-9a-f]*"' "$work/dom" | sed 's/.*fill="#//; s/"//' | sort -u)
cat >"$work/count.html" <<PAGE
<body><script>
const image = new Image();
image.onload = () => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width, image.height];
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const data = context.getImageData(0, 0, image.width, image.height).data;
    const count = new Map();
    for (let i = 0; i < data.length; i += 4) {
        const colour = (data[i] << 16 | data[i + 1] << 8 | data[i + 2]).toString(16).padStart(6, "0");
        count.set(colour, (count.get(colour) ?? 0) + 1);
    }
    document.body.textContent =
        [...count].filter(([, n]) => n > 500).map(([c, n]) => "colour " + c + " " + n).join("\n");
};
image.src = "data:image/png;base64,$(base64 -w 0 "$work/labels.png")";
</script></body>
PAGE
browse --virtual-time-budget=20000 --dump-dom "file://$work/count.html" |
    grep -o 'colour [0-9a-f]* [0-9]*' >"$work/colours" || fail "the picture has no colours"
for colour in $colours ffffff; do
    grep -q "colour $colour " "$work/colours" || fail "the picture shows no patch of #$colour"
done

# The sheets: a box that is cut has its name on one and NICs on another, or touches the margin.
browse --print-to-pdf="$work/labels.pdf" --no-pdf-header-footer "file://$work/labels.html" >/dev/null
pdftotext -bbox "$work/labels.pdf" "$work/words.html"
sheets=$(awk -v pcs="$pcs" -v cables="$(awk '{ n += NF - 1 } END { print n }' "$work/wanted")" '
    function number(key, skip) {
        skip = length(key) + 2
        return match($0, key "=\"[0-9.]+") ? substr($0, RSTART + skip, RLENGTH - skip) + 0 : 0
    }
    /<page / { sheet++; height = number("height") }
    /<word / {
        top = number("yMin"); bottom = number("yMax")
        word = $0; sub(/<\/word>.*/, "", word); sub(/.*>/, "", word)
        if (word ~ /^n[0-9]+$/) {
            names[sheet]++; all++
            if (top < 36 || bottom > height - 36) { print word " is cut on sheet " sheet; cut = 1; exit }
        } else if (word ~ /^[0-9]+$/) numbers[sheet]++
    }
    END {
        if (cut) exit
        if (all != pcs) print all + 0 " names on the sheets for " pcs " PCs"
        # The first sheet has the key too; the others hold whole boxes, two numbers for each cable.
        for (i = 2; i <= sheet; i++) if (numbers[i] != 2 * cables / pcs * names[i]) uneven = uneven " " i
        if (uneven && cables % pcs == 0) print "boxes are cut on sheets" uneven
        print "sheets " sheet
    }' "$work/words.html")
case $sheets in
"sheets "*) ;;
*) fail "$sheets" ;;
esac
# About 30 boxes fill a sheet; with fewer than 20 they are larger than labels should be.
[ "${sheets#sheets }" -le $((pcs / 20 + 1)) ] || fail "$sheets for $pcs PCs"

if [ -n "${KEEP:-}" ]; then
    mkdir -p "$KEEP"
    cp "$work/labels.html" "$work/labels.png" "$work/labels.pdf" "$KEEP"
fi
echo "labels: $pcs boxes as in the table, $switches switches by $(echo "$colours" | wc -w) colours and marks, $sheets"
