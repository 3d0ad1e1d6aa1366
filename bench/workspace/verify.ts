import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { openGuard } from '../../src/base/process/guardian.ts'
import { openStore } from '../../src/store/open.ts'
import { commandEnvironment } from '../../src/workspace/command/run-command.ts'
import { type CommandGate, commandGate } from '../../src/workspace/verify/command-gate.ts'
import type { BenchRow } from '../row.ts'

const TESTS = 2_000
const ROUNDS = 50

/** A gate whose command already passed on the same tree: its key is computed, and a row with the results of many tests is read. */
export async function benchVerify(): Promise<BenchRow[]> {
  const dir = mkdtempSync(join(tmpdir(), 'pcc-bench-'))
  try {
    const directory = join(dir, 'project')
    mkdirSync(directory)
    writeFileSync(join(directory, 'package-lock.json'), JSON.stringify({ packages: 'x'.repeat(500_000) }))
    writeFileSync(join(directory, 'told.txt'), toldTests())
    execFileSync('git', ['init', '-q', directory])
    await using store = await openStore({ file: join(dir, 'store.db') })
    const deps = { store, clock: systemClock, runner: { guard: openGuard() }, keeper: undefined }
    const gate: CommandGate = {
      ...{
        gate: 'test',
        command: 'cat told.txt',
        directory,
        inside: '',
        isInPlace: false,
        tree: 'a'.repeat(40),
        cache: true,
      },
      ...{ env: commandEnvironment(process.env), timeoutMs: 60_000, signal: new AbortController().signal },
    }
    const first = await commandGate(gate, deps)
    if (first.status !== 'passed' || first.tests?.length !== TESTS) throw new Error(JSON.stringify(first).slice(0, 500))
    const times: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const began = performance.now()
      const { cached } = await commandGate(gate, deps)
      if (!cached) throw new Error('it was run again')
      times.push(performance.now() - began)
    }
    times.sort((a, b) => a - b)
    const [middle = 0, slow = 0] = [times[ROUNDS / 2], times[Math.floor(ROUNDS * 0.95)]]
    return [
      {
        what: `verification known from before, ${TESTS.toLocaleString('en')} tests`,
        measured: `${middle.toFixed(1)} ms (95 of 100 within ${slow.toFixed(1)} ms)`,
        budget: '< 20 ms',
        ok: middle < 20,
      },
    ]
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** The output of a test runner for this many tests. */
function toldTests(): string {
  const lines = Array.from({ length: TESTS }, (_, at) => `✔ the shop does what is number ${at} on its list (1.5ms)`)
  return [...lines, `ℹ tests ${TESTS}`, ''].join('\n')
}
