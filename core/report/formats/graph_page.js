// SPDX-License-Identifier: Apache-2.0
// The graph of a report: groups that open and close, drawn level by level. All text comes as data and is set as text, never as markup.
(() => {
    'use strict';
    const host = document.getElementById('graph');
    const graphs = JSON.parse(document.getElementById('graph-data').textContent);
    if (!graphs.length) return;
    const SVG = 'http://www.w3.org/2000/svg';
    const ROLES = ['var(--muted)', 'var(--known)', 'var(--unknown)', 'var(--recomputed)'];
    const HEADER = 26, PAD = 14, GAP = 26, ROW = 34, DUMMY = 10;
    const at = {title: 0, detail: 1, frame: 2, role: 3, size: 4, saved: 5, line: 6, more: 7};  // as graph_page.cpp writes them

    const $ = (tag, attributes = {}, text) => {
        const e = document.createElement(tag);
        for (const k in attributes) e.setAttribute(k, attributes[k]);
        if (text !== undefined) e.textContent = text;
        return e;
    };
    const s = (tag, attributes = {}, text) => {
        const e = document.createElementNS(SVG, tag);
        for (const k in attributes) e.setAttribute(k, attributes[k]);
        if (text !== undefined) e.textContent = text;
        return e;
    };

    // ---- what is visible ----------------------------------------------------------------------------------------------------------------
    class Graph {
        constructor(data) {
            this.name = data.name;
            this.nodes = data.nodes;
            this.edges = data.edges;
            this.left = data.left_out;
            this.lineTexts = data.lines;
            this.open = new Set(data.open);
            this.children = new Map([[-1, []]]);
            this.nodes.forEach((n, i) => {
                if (!this.children.has(n[at.frame])) this.children.set(n[at.frame], []);
                this.children.get(n[at.frame]).push(i);
            });
            this.depth = [];
            this.nodes.forEach((n, i) => {
                this.depth[i] = n[at.frame] < 0 ? 0 : this.depth[n[at.frame]] + 1;
            });
        }
        frame(i) { return this.nodes[i][at.frame]; }
        opens(i) { return this.children.has(i); }
        shown(i) {  // the node that stands for i: its outermost closed container, or itself
            let out = i;
            for (let f = this.frame(i); f >= 0; f = this.frame(f))
                if (!this.open.has(f)) out = f;
            return out;
        }
        isOpen(i) { return this.opens(i) && this.open.has(i); }
        reveal(i) {
            for (let f = this.frame(i); f >= 0; f = this.frame(f)) this.open.add(f);
        }
        // Lines between nodes of one frame: those of nodes deeper inside are drawn between the containers that share a frame.
        lines() {
            const found = new Map();
            for (const [from, to, bytes, values, crowd] of this.edges) {
                if (crowd) continue;
                let a = this.shown(from), b = this.shown(to);
                while (a !== b && this.frame(a) !== this.frame(b)) {
                    if (this.depth[a] > this.depth[b])
                        a = this.frame(a);
                    else if (this.depth[b] > this.depth[a])
                        b = this.frame(b);
                    else {
                        a = this.frame(a);
                        b = this.frame(b);
                    }
                }
                if (a === b) continue;
                const key = a * this.nodes.length + b, line = found.get(key);
                if (line) {
                    line.bytes += bytes;
                    line.values += values;
                } else
                    found.set(key, {from: a, to: b, bytes, values});
            }
            return [...found.values()];
        }
    }

    // ---- places -------------------------------------------------------------------------------------------------------------------------
    // Rows by longest path; a line over several rows passes through empty places of its own, so that it doesn't run behind nodes.
    function levels(members, lines) {
        const row = new Map(members.map(m => [m, 0])), sorted = [...members].sort((a, b) => a - b);
        const into = new Map(members.map(m => [m, []])), outof = new Map(members.map(m => [m, []]));
        for (const l of lines) {
            into.get(l.to).push(l);
            outof.get(l.from).push(l);
        }
        for (const m of sorted)
            for (const l of into.get(m)) row.set(m, Math.max(row.get(m), row.get(l.from) + 1));
        for (const m of sorted) {  // what nothing precedes stands just above its first reader
            if (into.get(m).length || !outof.get(m).length) continue;
            row.set(m, Math.min(...outof.get(m).map(l => row.get(l.to))) - 1);
        }
        const rows = [];
        const put = (r, item) => {
            while (rows.length <= r) rows.push([]);
            rows[r].push(item);
        };
        const item = new Map();
        for (const m of sorted) {
            item.set(m, {node: m, above: [], below: []});
            put(row.get(m), item.get(m));
        }
        let dummies = 0;
        for (const l of lines) {
            let last = item.get(l.from);
            const via = [];
            for (let r = row.get(l.from) + 1; r < row.get(l.to) && dummies < 6000; ++r, ++dummies) {
                const d = {node: -1, above: [last], below: []};
                last.below.push(d);
                put(r, d);
                via.push(d);
                last = d;
            }
            last.below.push(item.get(l.to));
            item.get(l.to).above.push(last);
            l.via = via;
        }
        return rows;
    }

    function place(rows, size) {
        for (const r of rows) {
            let x = 0;
            for (const i of r) {
                [i.w, i.h] = i.node < 0 ? [DUMMY, 0] : size(i.node);
                i.x = x;
                x += i.w + GAP;
            }
        }
        const centre = i => i.x + i.w / 2;
        const settle = (r, side) => {
            for (const i of r) i.want = i[side].length ? i[side].reduce((t, o) => t + centre(o), 0) / i[side].length : centre(i);
            r.sort((a, b) => a.want - b.want);
            let x = -Infinity;
            for (const i of r) {
                i.x = Math.max(i.want - i.w / 2, x);
                x = i.x + i.w + GAP;
            }
            const off = r.reduce((t, i) => t + centre(i) - i.want, 0) / r.length;  // pushed to the right only so far: back to the middle
            for (const i of r) i.x -= off;
        };
        for (let pass = 0; pass < 6; ++pass) {
            for (let k = 1; k < rows.length; ++k) settle(rows[k], 'above');
            for (let k = rows.length - 2; k >= 0; --k) settle(rows[k], 'below');
        }
        // What has no line stands beside its neighbour, or in the middle.
        const tied = rows.flat().filter(i => i.above.length + i.below.length),
              middle = tied.length ? tied.reduce((t, i) => t + centre(i), 0) / tied.length : 0;
        for (const r of rows) {
            const k = r.findIndex(i => i.above.length + i.below.length);
            if (k < 0) {
                let x = middle - r.reduce((t, i) => t + i.w + GAP, -GAP) / 2;
                for (const i of r) {
                    i.x = x;
                    x += i.w + GAP;
                }
            }
            for (let j = k - 1; j >= 0; --j) r[j].x = r[j + 1].x - GAP - r[j].w;
        }
        const left = Math.min(...rows.flat().map(i => i.x));
        let y = 0, width = 0;
        for (const r of rows) {
            const h = Math.max(...r.map(i => i.h));
            for (const i of r) {
                i.x -= left;
                i.y = y + (h - i.h) / 2;
                i.top = y;
                i.bottom = y + h;
                width = Math.max(width, i.x + i.w);
            }
            y += h + ROW;
        }
        return [width, y - ROW];
    }

    function layout(g) {
        const rect = new Map(), lines = g.lines(), byFrame = new Map();
        for (const l of lines) {
            const f = g.frame(l.from);
            if (!byFrame.has(f)) byFrame.set(f, []);
            byFrame.get(f).push(l);
        }
        const inside = f => {
            const members = g.children.get(f), size = new Map();
            for (const m of members)
                size.set(m, g.isOpen(m) ? inside(m).map((v, k) => v + 2 * PAD + k * (HEADER - PAD)) : leafSize(g.nodes[m], g.opens(m)));
            const own = byFrame.get(f) || [], rows = levels(members, own);
            const [w, h] = place(rows, m => size.get(m));
            for (const i of rows.flat())
                if (i.node >= 0) rect.set(i.node, {x: i.x, y: i.y, w: i.w, h: i.h, top: i.top, bottom: i.bottom});
            // Through a row a line runs straight down; it moves sideways between rows only, and so behind no node.
            for (const l of own) {
                const from = rect.get(l.from), to = rect.get(l.to);
                const through = l.via.flatMap(d => [{x: d.x + d.w / 2, y: d.top}, {x: d.x + d.w / 2, y: d.bottom}]);
                l.via = [{x: from.x + from.w / 2, y: from.bottom}, ...through, {x: to.x + to.w / 2, y: to.top}];
            }
            return [Math.max(w, f < 0 ? 0 : g.nodes[f][at.title].length * 7.4 + 40), h];
        };
        const [width, height] = inside(-1);
        const move = (f, dx, dy) => {
            for (const l of byFrame.get(f) || [])
                for (const p of l.via) {
                    p.x += dx;
                    p.y += dy;
                }
            for (const m of g.children.get(f)) {
                const r = rect.get(m);
                r.x += dx;
                r.y += dy;
                if (g.isOpen(m)) move(m, r.x + PAD, r.y + HEADER);
            }
        };
        move(-1, 0, 0);
        return {rect, lines, width, height};
    }

    function leafSize(n, opens) {
        const text = Math.max(n[at.title].length * 7.4 + (opens ? 20 : 0), n[at.detail].length * 6.7, n[at.saved] ? 90 : 0);
        return [Math.min(Math.max(text + 24, 96), 280), n[at.saved] ? 58 : 42];
    }

    // ---- the picture --------------------------------------------------------------------------------------------------------------------
    let g = null, picked = -1, hits = [], hit = -1, box = {x: 0, y: 0, w: 1, h: 1}, full = null, places = null;
    const bar = host.appendChild($('div', {class: 'gbar'}));
    const tabs = graphs.map((data, k) => {
        const b = bar.appendChild($('button', {type: 'button'}, data.name));
        b.onclick = () => show(k);
        return b;
    });
    const button = (text, label, act) => {
        const b = bar.appendChild($('button', {type: 'button', 'aria-label': label, title: label}, text));
        b.onclick = act;
        return b;
    };
    button('\u2212', 'zoom out', () => zoom(1.25));
    button('+', 'zoom in', () => zoom(0.8));
    button('fit', 'fit the picture to its frame', () => fit());
    button('close all', 'close all groups', () => {
        g.open.clear();
        draw();
        fit();
    });
    const find = bar.appendChild($('input', {placeholder: 'find in the graph', 'aria-label': 'find in the graph', type: 'search'}));
    const said = bar.appendChild($('span', {class: 'muted', 'aria-live': 'polite'}));
    const svg = host.appendChild(s('svg', {class: 'gview', role: 'group', 'aria-label': 'graph of the program'}));
    const details = host.appendChild($('div', {class: 'gdetails muted', 'aria-live': 'polite'}));
    const made = graphs.map(() => null);

    function show(k) {
        g = made[k] = made[k] || new Graph(graphs[k]);
        tabs.forEach((b, i) => b.setAttribute('aria-pressed', String(i === k)));
        picked = -1;
        draw();
        fit();
        look();
        tell();
    }

    function short(text, width, advance) {
        const most = Math.floor(width / advance);
        return text.length <= most ? text : text.slice(0, Math.max(1, most - 1)) + '\u2026';
    }

    function draw() {
        places = layout(g);
        svg.textContent = '';
        const back = svg.appendChild(s('g')), front = svg.appendChild(s('g'));
        // Frames first, then lines, then what is closed: a line into a frame ends at its edge.
        const all = [...places.rect.keys()].sort((a, b) => a - b);
        for (const i of all.filter(i => g.isOpen(i))) frame(back, i);
        for (const l of places.lines) line(back, l);
        for (const i of all.filter(i => !g.isOpen(i))) leaf(front, i);
        mark();
    }

    function frame(into, i) {
        const r = places.rect.get(i), n = g.nodes[i], e = into.appendChild(s('g', {class: 'gframe', 'data-i': i}));
        e.append(s('rect', {x: r.x, y: r.y, width: r.w, height: r.h, rx: 6}));
        e.append(s('text', {x: r.x + 10, y: r.y + 17}, '\u25be ' + short(n[at.title], r.w - 30, 7.4)));
        usable(e, i, n);
    }

    function leaf(into, i) {
        const r = places.rect.get(i), n = g.nodes[i], e = into.appendChild(s('g', {class: 'gnode', 'data-i': i}));
        const recomputed = n[at.role] === 3;
        e.append(s('rect', {x: r.x, y: r.y, width: r.w, height: r.h, rx: 5, 'stroke-dasharray': recomputed ? '4 3' : 'none'}));
        e.append(s('rect', {x: r.x, y: r.y, width: 4, height: r.h, rx: 2, style: `fill:${ROLES[n[at.role]]};stroke:none`}));
        e.append(s(
            'text', {x: r.x + 12, y: r.y + 17}, (g.opens(i) ? '\u25b8 ' : '') + short(n[at.title], r.w - 20 - (g.opens(i) ? 14 : 0), 7.4)));
        e.append(s('text', {x: r.x + 12, y: r.y + 33, class: 'gdetail'}, short(n[at.detail], r.w - 18, 6.7)));
        if (n[at.saved]) e.append(s('text', {x: r.x + 12, y: r.y + 50, class: 'gsaved'}, 'saves ' + n[at.saved]));
        e.append(s('title', {}, n[at.title] + '\n' + n[at.detail] + (lineOf(i) ? '\n' + lineOf(i) : '')));
        usable(e, i, n);
    }

    function usable(e, i, n) {
        e.setAttribute('tabindex', '0');
        e.setAttribute('role', 'button');
        e.setAttribute('aria-label', n[at.title] + ', ' + n[at.detail] + (g.opens(i) ? (g.isOpen(i) ? ', open' : ', closed') : ''));
        e.onclick = () => {
            if (!dragged) {
                if (g.opens(i) && (picked === i || g.isOpen(i)))
                    toggle(i);
                else
                    pick(i);
            }
        };
        e.onkeydown = event => {
            if (event.key !== 'Enter' && event.key !== ' ') return;
            event.preventDefault();
            if (g.opens(i) && (picked === i || g.isOpen(i)))
                toggle(i);
            else
                pick(i);
        };
    }

    function line(into, l) {
        const a = places.rect.get(l.from), b = places.rect.get(l.to);
        const points = [{x: a.x + a.w / 2, y: a.y + a.h}, ...l.via, {x: b.x + b.w / 2, y: b.y}];
        let d = `M${points[0].x} ${points[0].y}`;
        for (let k = 1; k < points.length; ++k) {
            const p = points[k - 1], q = points[k], m = (p.y + q.y) / 2;
            d += `C${p.x} ${m} ${q.x} ${m} ${q.x} ${q.y}`;
        }
        const width = Math.min(6, Math.max(1, 1 + (Math.log2(Math.max(1, l.bytes)) - 8) * 5 / 22));
        const e = into.appendChild(s('path', {class: 'gline', d, 'stroke-width': width, 'data-from': l.from, 'data-to': l.to}));
        e.append(s('title', {}, size(l.bytes) + (l.values > 1 ? ', ' + l.values + ' values' : '')));
    }

    function size(bytes) {
        const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
        let k = 0;
        for (; bytes >= 1024 && k < 4; ++k) bytes /= 1024;
        return (k ? bytes.toFixed(1) : String(bytes)) + ' ' + units[k];
    }

    // ---- selection ----------------------------------------------------------------------------------------------------------------------
    const lineOf = i => g.lineTexts[g.nodes[i][at.line]] || '';
    const rows = [...document.querySelectorAll('main table tbody tr')];
    const has = (text, word) => {  // "a.py:1" is not in "a.py:12", nor in "aa.py:1"
        for (let k = text.indexOf(word); k >= 0; k = text.indexOf(word, k + 1))
            if (!/[\w.\/-]/.test(text[k - 1] || ' ') && !/\d/.test(text[k + word.length] || ' ')) return true;
        return false;
    };

    function pick(i) {
        picked = i;
        mark();
        tell();
        const word = i < 0 ? '' : lineOf(i) || (g.opens(i) ? '' : 'argument ' + g.nodes[i][at.title]);
        const told = rows.filter(r => word !== '' && has(r.textContent, word));
        for (const r of rows) r.classList.toggle('picked', told.includes(r));
        if (!told.length) return;
        const link =
            details.appendChild($('button', {type: 'button'}, told.length === 1 ? 'its row above' : `its ${told.length} rows above`));
        link.onclick = () => told[0].scrollIntoView({block: 'center'});
    }

    function pickLine(text) {
        const found = [];
        g.nodes.forEach((n, i) => {
            if (g.opens(i)) return;
            const word = lineOf(i) || 'argument ' + n[at.title];
            if (has(text, word)) found.push(i);
        });
        if (!found.length) return false;
        found.sort((a, b) => (g.nodes[b][at.saved] ? 1 : 0) - (g.nodes[a][at.saved] ? 1 : 0) || g.nodes[b][at.size] - g.nodes[a][at.size]);
        g.reveal(found[0]);
        draw();
        pick(found[0]);
        hits = found;
        mark();
        centre(found[0]);
        return true;
    }
    for (const r of rows)
        r.addEventListener('click', () => {
            if (pickLine(r.textContent)) {
                host.scrollIntoView({block: 'nearest'});
                rows.forEach(o => o.classList.remove('picked'));
                r.classList.add('picked');
            }
        });

    function toggle(i) {
        if (g.open.has(i))
            g.open.delete(i);
        else
            g.open.add(i);
        const before = places.rect.get(i), shift = {x: before.x - box.x, y: before.y - box.y};
        draw();
        const r = places.rect.get(i);
        box.x = r.x - shift.x;
        box.y = r.y - shift.y;
        view();
        pick(i);
    }

    function mark() {
        const on = new Set(hits.map(i => g.shown(i)));
        for (const e of svg.querySelectorAll('[data-i]')) {
            e.classList.toggle('picked', +e.dataset.i === picked);
            e.classList.toggle('hit', on.has(+e.dataset.i));
        }
        for (const e of svg.querySelectorAll('.gline'))
            e.classList.toggle('picked', picked >= 0 && (+e.dataset.from === picked || +e.dataset.to === picked));
    }

    function tell() {
        if (picked < 0) {
            details.textContent =
                'Click a group twice to open it, its header to close it; drag to move, Ctrl and wheel to zoom. A click on a row of a table above shows it here. Lines from a crowd of inputs are left out.' +
                (g.left ? ` ${g.left} equations stand in groups that don't open here.` : '');
            return;
        }
        const n = g.nodes[picked];
        const parts = [
            n[at.title], n[at.detail], lineOf(picked), n[at.saved] ? 'saves ' + n[at.saved] + ' for the backward pass' : '',
            n[at.more] > 1 ? n[at.more] + ' equations' : ''
        ];
        details.textContent = parts.filter(p => p).join('  \u00b7  ');
    }

    // ---- search -------------------------------------------------------------------------------------------------------------------------
    function look() {
        const word = find.value.trim().toLowerCase();
        hits = word === '' ?
            [] :
            g.nodes.flatMap((n, i) => [n[at.title], n[at.detail], lineOf(i)].some(t => t.toLowerCase().includes(word)) ? [i] : []);
        hit = -1;
        said.textContent = word === '' ? '' : hits.length ? `${hits.length} found, Enter goes through them` : 'nothing found';
        mark();
    }
    find.oninput = look;
    find.onkeydown = event => {
        if (event.key !== 'Enter' || !hits.length) return;
        hit = (hit + (event.shiftKey ? hits.length - 1 : 1)) % hits.length;
        g.reveal(hits[hit]);
        draw();
        pick(hits[hit]);
        centre(hits[hit]);
        said.textContent = `${hit + 1} of ${hits.length}`;
    };

    // ---- moving about -------------------------------------------------------------------------------------------------------------------
    const view = () => svg.setAttribute('viewBox', `${box.x} ${box.y} ${box.w} ${box.h}`);
    const frameSize = () => ({w: svg.clientWidth || 1000, h: svg.clientHeight || 560});
    function fit() {
        const f = frameSize(), k = Math.max((places.width + 40) / f.w, (places.height + 40) / f.h, 0.7);
        const readable = Math.min(k, 1.15);  // a long program begins at its top, at a size that can be read
        box = {w: f.w * readable, h: f.h * readable};
        box.x = places.width / 2 - box.w / 2;
        box.y = k > readable ? -20 : places.height / 2 - box.h / 2;
        view();
    }
    function zoom(by, px = 0.5, py = 0.5) {
        box = {x: box.x + box.w * (1 - by) * px, y: box.y + box.h * (1 - by) * py, w: box.w * by, h: box.h * by};
        view();
    }
    function centre(i) {
        const r = places.rect.get(g.shown(i));
        box.x = r.x + r.w / 2 - box.w / 2;
        box.y = r.y + r.h / 2 - box.h / 2;
        view();
    }
    let grip = null, dragged = false;
    svg.onpointerdown = event => {
        grip = {x: event.clientX, y: event.clientY, box: {...box}};
        dragged = false;
    };
    window.addEventListener('pointermove', event => {
        if (!grip) return;
        const dx = event.clientX - grip.x, dy = event.clientY - grip.y, k = box.w / frameSize().w;
        if (Math.abs(dx) + Math.abs(dy) > 4) dragged = true;
        box = {...box, x: grip.box.x - dx * k, y: grip.box.y - dy * k};
        view();
    });
    window.addEventListener('pointerup', () => {
        grip = null;
    });
    svg.addEventListener('wheel', event => {
        if (!event.ctrlKey && !event.metaKey) return;  // the page scrolls
        event.preventDefault();
        const r = svg.getBoundingClientRect();
        zoom(event.deltaY > 0 ? 1.15 : 0.87, (event.clientX - r.left) / r.width, (event.clientY - r.top) / r.height);
    }, {passive: false});
    window.addEventListener('resize', () => {
        const f = frameSize();
        box.h = box.w * f.h / f.w;
        view();
    });
    show(0);
})();
