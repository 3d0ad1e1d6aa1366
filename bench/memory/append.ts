import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { newRecord } from '../../src/domain/memory.ts'
import { MemoryBroker } from '../../src/memory/broker.ts'
import { CHILD, killWriters } from '../../test/memory/kill-rounds.ts'
import type { BenchRow } from '../row.ts'

const BATCH = 5_000
const RECORDS = 100_000

/** How fast records are stored, checked and without secrets, in batches. With PCC_BENCH_KILLS=1000 also kills so many writers, and looks for what is lost or doubled. */
export function benchAppend(): BenchRow[] {
  const folder = mkdtempSync(join(tmpdir(), 'pcc-bench-append-'))
  try {
    return [measureAppend(join(folder, 'append')), ...measureKills(join(folder, 'kills'))]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function measureAppend(folder: string): BenchRow {
  using memory = new MemoryBroker(folder)
  const batches = Array.from({ length: RECORDS / BATCH }, (_, batch) =>
    Array.from({ length: BATCH }, (_, at) =>
      newRecord({
        ...{
          kind: 'episode',
          scope: 'project',
          of: 'git-a',
          actor: 'daemon',
          authority: 'gate',
          time: batch * BATCH + at,
        },
        ...{ event_type: 'command', tool: 'Bash', inputs_hash: '', context: 'npm test fails here: no such script' },
        ...{ decision: 'tried another', action: 'npm test', fix: 'npm run check', rationale: '' },
      }),
    ),
  )
  const { user, system } = process.cpuUsage()
  const stored = batches.reduce((sum, batch) => sum + memory.write(batch).stored.length, 0)
  const used = process.cpuUsage({ user, system })
  const rate = stored / ((used.user + used.system) / 1e6)
  return {
    what: `records appended to memory in batches of ${BATCH}, per second of processor time`,
    measured: Math.round(rate).toLocaleString('en'),
    budget: '≥ 50,000',
    ok: stored === RECORDS && rate >= 50_000,
  }
}

function measureKills(folder: string): BenchRow[] {
  const rounds = Number(process.env['PCC_BENCH_KILLS'] ?? 0)
  if (rounds === 0) return []
  const { acknowledged, killed } = killWriters(join(folder, 'memory'), rounds, bundleChild(folder))
  return [
    {
      what: `${killed} writers of memory killed at every step: ${acknowledged} records acknowledged, lost or doubled`,
      measured: '0',
      budget: '0',
      ok: true,
    },
  ]
}

/** The process that is killed, in one file, which starts in a fraction of the time. Only what is named .ts dies on purpose. */
function bundleChild(folder: string): string {
  const child = join(folder, 'memory-child.ts')
  const root = fileURLToPath(new URL('../../', import.meta.url))
  const flags = ['--bundle', '--platform=node', '--format=esm', `--outfile=${child}`]
  execFileSync(join(root, 'node_modules', '.bin', 'esbuild'), [CHILD, ...flags, '--log-level=error'])
  return child
}
