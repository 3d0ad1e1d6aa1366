import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { screenOf } from '../../scripts/picture/screen.ts'
import { svgOf } from '../../scripts/picture/svg.ts'
import { ROOT } from './source-tree.ts'

const text = (output: string) => screenOf(output).map(cells => cells.map(cell => cell.text).join(''))

test('the screen shows what a terminal would show, including overwritten, erased and linked text', () => {
  assert.deepEqual(text('one\r\ntwo\rT\r\n\x1b[1Athree\x1b[K'), ['one', 'three', ''])
  assert.deepEqual(
    screenOf('wrapped', 4).map(cells => cells.map(cell => cell.text).join('')),
    ['wrap', 'ped'],
  )
  assert.deepEqual(text('wait…\r\x1b[2Kdone  '), ['done'])
  assert.deepEqual(text('\x1b]8;;file:///a\x1b\\src/x.ts\x1b]8;;\x1b\\ ✓'), ['src/x.ts ✓'])
  assert.deepEqual(text('a\r\nb\r\nc\x1b[2A\x1b[J\rz'), ['z'])
})

test('colours and weights are kept until they are reset', () => {
  const [cells = []] = screenOf('\x1b[1;31mA\x1b[22mB\x1b[39mC\x1b[2mD\x1b[0mE')
  assert.deepEqual(
    cells.map(({ style }) => [Boolean(style.bold), Boolean(style.dim), style.color !== undefined]),
    [
      [true, false, true],
      [false, false, true],
      [false, false, false],
      [false, true, false],
      [false, false, false],
    ],
  )
})

test('a box closes at one column in every line, wide characters or not', () => {
  const rows = screenOf('╭────────╮\r\n│ \x1b[33m⏳\x1b[39m wait│\r\n│ \x1b[1mbold\x1b[22m & │\r\n╰────────╯')
  const svg = svgOf({ rows, columns: 10, title: 'a < b' })
  const rightmost = [...svg.matchAll(/<path d="([^"]+)"/g)].map(([, path = '']) =>
    Math.max(...[...path.matchAll(/[ML](\d+(?:\.\d+)?) /g)].map(([, x]) => Number(x))),
  )
  const right = 18 + 9.5 * 8.43
  assert.equal(rightmost.filter(x => Math.abs(x - right) < 0.2).length, 4, `${rightmost}`)
  assert.match(svg, /<title>a &lt; b<\/title>/)
  assert.match(svg, /&amp;/)
})

test('the picture in the README was made from the demo and is small enough to load at once', () => {
  const svg = readFileSync(join(ROOT, 'docs/demo.svg'), 'utf8')
  assert.ok(svg.length < 150_000, `${svg.length} bytes`)
  assert.match(svg, /auto-approved/)
  assert.doesNotMatch(svg, /\/tmp\/|\x1b/)
})
