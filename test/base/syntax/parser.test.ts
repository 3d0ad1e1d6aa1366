import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { type FileToParse, openParser, type ParseOutcome, type Parser } from '../../../src/base/syntax/parser.ts'

async function parseAll(parser: Parser, files: FileToParse[]): Promise<Map<string, ParseOutcome>> {
  const outcomes = await Array.fromAsync(parser.parse(files))
  return new Map(outcomes.flat().map(outcome => [outcome.path, outcome]))
}

test('files are parsed in another process, which ends when it is idle; a file that cannot be read is named', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'pcc-parser-'))
  try {
    const file = join(folder, 'b.py')
    writeFileSync(file, 'def run():\n    pass\n')
    using parser = openParser({ keepMs: 1, threads: 2 })
    const outcomes = await parseAll(parser, [
      { path: 'a.ts', text: 'export function go() {}\n' },
      { path: 'b.py', file },
      { path: 'c.py', file: join(folder, 'gone.py') },
    ])
    const a = outcomes.get('a.ts')
    const b = outcomes.get('b.py')
    assert.ok(a && 'parsed' in a && b && 'parsed' in b)
    assert.equal(a.parsed.definitions[0]?.name, 'go')
    assert.equal(b.parsed.definitions[0]?.name, 'run')
    assert.deepEqual(outcomes.get('c.py'), { path: 'c.py', skipped: 'it could not be read' })
    while (parser.pid !== undefined) await setTimeout(5)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('a file that blocks the parser is skipped and named, and the others are parsed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'pcc-parser-'))
  try {
    // A pipe that nobody writes to: reading it blocks the thread, as a parser that hangs would.
    const pipe = join(folder, 'hangs.ts')
    const { spawn } = await import('node:child_process')
    await once(spawn('mkfifo', [pipe]), 'exit')
    using parser = openParser({ deadlineMs: 500, threads: 1 })
    const outcomes = await parseAll(parser, [
      { path: 'a.ts', text: 'let a = 1\n' },
      { path: 'hangs.ts', file: pipe },
      { path: 'z.ts', text: 'let z = 1\n' },
    ])
    assert.deepEqual(outcomes.get('hangs.ts'), { path: 'hangs.ts', skipped: 'the parser failed on it' })
    assert.ok('parsed' in (outcomes.get('a.ts') ?? {}) && 'parsed' in (outcomes.get('z.ts') ?? {}))
  } finally {
    rmSync(folder, { recursive: true })
  }
})
