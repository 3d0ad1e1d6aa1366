import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Cell, screenOf } from './picture/screen.ts'
import { svgOf } from './picture/svg.ts'
import { ROOT } from './places.ts'

// docs/demo.svg shows the real output of `pcc demo` in a terminal of a fixed width.
const COLUMNS = 98
const home = mkdtempSync(join(tmpdir(), 'pcc-picture-'))
try {
  const rows = screenOf(record(), COLUMNS).map(withoutTemporaryPaths)
  while (rows.at(-1)?.length === 0) rows.pop()
  writeFileSync(join(ROOT, 'docs/demo.svg'), svgOf({ rows, columns: COLUMNS, title: 'npm run demo' }))
} finally {
  rmSync(home, { recursive: true, force: true })
}

/** Runs the demo in a pseudo-terminal (`script` of util-linux) with its own home and without this machine's settings. */
function record(): string {
  const command = `stty cols ${COLUMNS} rows 60; exec '${process.execPath}' '${join(ROOT, 'bin/pcc.js')}' demo`
  const env = {
    HOME: home,
    PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
    LANG: 'C.UTF-8',
    TERM: 'xterm-256color',
    FORCE_COLOR: '1',
    SHELL: '/bin/sh',
  }
  const { status, stdout } = spawnSync('script', ['-qefc', command, '/dev/null'], {
    env,
    cwd: home,
    encoding: 'utf8',
    timeout: 120_000,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (status === 0) return stdout
  process.stderr.write(`${stdout}\nThe demo failed (exit ${status}); the picture was not changed.\n`)
  process.exit(1)
}

/** Replaces a random temporary folder with a fixed name. A box keeps its right border in place. */
function withoutTemporaryPaths(cells: Cell[]): Cell[] {
  const text = cells.map(cell => (cell.text.length === 1 ? cell.text : '\0')).join('')
  const match = /\/tmp\/pcc-[\w-]+/.exec(text)
  if (!match) return cells
  const short = [...'~/demo'].map(character => ({ text: character, style: cells[match.index]?.style ?? {} }))
  const shorter = cells.toSpliced(match.index, match[0].length, ...short)
  const missing = cells.length - shorter.length
  const right = shorter.at(-1)?.text === '│' ? shorter.length - 1 : undefined
  const aligned = right === undefined ? shorter : shorter.toSpliced(right, 0, ...blanks(missing))
  return withoutTemporaryPaths(aligned)
}

function blanks(count: number): Cell[] {
  return Array.from({ length: count }, () => ({ text: ' ', style: {} }))
}
