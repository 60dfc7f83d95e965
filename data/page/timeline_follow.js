// What is in view of the step, and how pointer and keys move it.
let RANKS;
const VIEW = {};
const LEAST_SPAN = 200;

function takeTimeline() {
    STEP_UNITS = DATA.timeline ? DATA.timeline.units : 1;
    RANKS = readTimeline();
    Object.assign(VIEW, { from: 0, to: STEP_UNITS, rank: 0, box: -1 });
}

function look(from, to) {
    const span = Math.max(LEAST_SPAN, Math.min(STEP_UNITS, to - from));
    VIEW.from = Math.max(0, Math.min(STEP_UNITS - span, from));
    VIEW.to = VIEW.from + span;
}

function zoomView(factor, middle = (VIEW.from + VIEW.to) / 2) {
    const half = ((VIEW.to - VIEW.from) * factor) / 2;
    look(middle - half, middle + half);
}

function boxesInView(boxes) {
    let last = firstAfter(boxes, VIEW.from);
    const first = last;
    while (last < boxes.length && boxes[last].start < VIEW.to) last++;
    return boxes.slice(first, last);
}

// The pass or edge of a rank at a moment.
function boxAt(rank, unit) {
    const { boxes, edges } = RANKS[rank],
        box = boxes[firstAfter(boxes, unit)];
    if (box && box.start <= unit) return box;
    return edges.find((e) => e.start <= unit && e.end >= unit);
}

// Moment and rank below the pointer.
function placeOf(event, picture, area) {
    const box = picture.getBoundingClientRect(),
        px = ((event.clientX - box.left) / box.width) * area.width,
        py = ((event.clientY - box.top) / box.height) * area.height;
    const share = (px - area.left) / (area.right - area.left);
    return { unit: VIEW.from + share * (VIEW.to - VIEW.from), rank: Math.floor(py / area.row) };
}

const hide = (node) => node.setAttribute("visibility", "hidden");

function place(node, attributes) {
    fill(node, { ...attributes, visibility: "visible" }, []);
}

// Frames a box and says what it is; returns that in words.
function showBox(outline, area, rank, box, x, y) {
    const [title, lines] = boxWords(rank, box);
    const width = Math.max(2, area.x(box.end) - area.x(box.start));
    place(outline, { x: area.x(box.start), width, y: 2 + rank * area.row, height: area.bar });
    showTip({ title, lines }, x, y);
    return [title, ...lines].join(". ");
}

function followTimeline(picture, area) {
    const quiet = { "pointer-events": "none", visibility: "hidden" };
    const outline = svg("rect", { class: "ring", ...quiet });
    const band = svg("rect", { class: "band", y: 0, height: area.height - 24, ...quiet });
    const clear = () => {
        hide(outline);
        hideTip();
    };
    picture.append(band, outline);
    picture.setAttribute("tabindex", "0");
    picture.setAttribute("role", "application");
    picture.setAttribute("aria-roledescription", "chart");
    dragTimeline(picture, area, band, clear);
    picture.addEventListener("pointermove", (e) => {
        const { unit, rank } = placeOf(e, picture, area);
        const box = RANKS[rank] && e.buttons === 0 && boxAt(rank, unit);
        if (box) showBox(outline, area, rank, box, e.clientX, e.clientY);
        else clear();
    });
    picture.addEventListener("pointerleave", clear);
    picture.addEventListener("blur", clear);
    picture.addEventListener("keydown", (e) => walkTimeline(e, area));
    VIEW.show = () => {
        const box = RANKS[VIEW.rank].boxes[VIEW.box],
            frame = picture.getBoundingClientRect(),
            x = frame.left + (area.x(box.start) / area.width) * frame.width;
        speak(showBox(outline, area, VIEW.rank, box, x, frame.top + VIEW.rank * area.row));
    };
}

// A part of the step is chosen by dragging; a double click shows all of it.
function dragTimeline(picture, area, band, clear) {
    let from = null;
    const unitOf = (e) => placeOf(e, picture, area).unit;
    const end = () => {
        from = null;
        hide(band);
    };
    const go = () => {
        clear();
        area.redraw();
    };
    picture.addEventListener("pointerdown", (e) => (from = unitOf(e)));
    picture.addEventListener("pointermove", (e) => {
        if (from === null) return;
        const [a, b] = [from, unitOf(e)].sort((p, q) => p - q).map(area.x);
        const left = Math.max(area.left, a);
        place(band, { x: left, width: Math.max(0, Math.min(area.right, b) - left) });
    });
    picture.addEventListener("pointerup", (e) => {
        const [a, b] = [from === null ? unitOf(e) : from, unitOf(e)].sort((p, q) => p - q);
        end();
        if (area.x(b) - area.x(a) < 6) return;
        look(a, b);
        go();
    });
    picture.addEventListener("pointerleave", end);
    picture.addEventListener("pointercancel", end);
    picture.addEventListener("dblclick", () => {
        look(0, STEP_UNITS);
        go();
    });
}

const touchesView = (box) => box && box.end > VIEW.from && box.start < VIEW.to;

// Another picture takes the place of the one that has the keys.
function renewTimeline(area) {
    area.redraw();
    document.querySelector("#timeline svg").focus({ preventScroll: true });
}

// To the next pass, or to the first one in view when the last one is not there any more.
function stepTimeline(side, down) {
    const seen = touchesView(RANKS[VIEW.rank].boxes[VIEW.box]);
    VIEW.rank = Math.max(0, Math.min(RANKS.length - 1, VIEW.rank + down));
    const { boxes } = RANKS[VIEW.rank],
        next = seen ? VIEW.box + side : firstAfter(boxes, VIEW.from);
    VIEW.box = Math.max(0, Math.min(boxes.length - 1, next));
    return boxes[VIEW.box];
}

// Moves the view to a box that is not whole in it; returns whether it had to.
function panTo(box) {
    const span = VIEW.to - VIEW.from,
        whole = box.start >= VIEW.from && box.end <= VIEW.to,
        fits = box.end - box.start <= span;
    if (whole || (!fits && touchesView(box))) return false;
    const from = fits ? (box.start + box.end - span) / 2 : box.start;
    look(from, from + span);
    return true;
}

function walkTimeline(e, area) {
    const zoom = { "+": 0.5, "=": 0.5, "-": 2, 0: STEP_UNITS }[e.key],
        side = { ArrowRight: 1, ArrowLeft: -1 }[e.key] || 0,
        down = { ArrowDown: 1, ArrowUp: -1 }[e.key] || 0;
    if (!zoom && !side && !down) return;
    e.preventDefault();
    if (zoom) {
        const box = RANKS[VIEW.rank].boxes[VIEW.box];
        zoomView(zoom, touchesView(box) ? box.start : undefined);
        renewTimeline(area);
        return;
    }
    if (panTo(stepTimeline(side, down))) renewTimeline(area);
    VIEW.show();
}
