import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { OpenSession } from '../../src/domain/session.ts'
import { openSimulator } from '../../src/simulator/open.ts'
import { median } from '../measure.ts'
import type { BenchRow } from '../row.ts'
import { codex } from './codex.ts'
import { gemini } from './gemini.ts'
import { drivenAgent, type Pair, scenarioOf, TURNS } from './pair.ts'

/** Turns through our drivers, compared with the same turns of the same real agents on a bare pipe with every call allowed at once. */
export async function benchAgents(): Promise<BenchRow[]> {
  return [await overhead(gemini), await overhead(codex)]
}

async function overhead(pair: Pair): Promise<BenchRow> {
  const what = `a turn of ${pair.name} with a call, through the driver, against the bare protocol`
  const budget = '≤ 1.05×'
  if (!existsSync(pair.program))
    return { what, measured: 'not measured: run npm run test:agents once', budget, ok: false }
  const dir = mkdtempSync(join(tmpdir(), 'pcc-bench-'))
  const project = join(dir, 'project')
  mkdirSync(project)
  writeFileSync(join(project, 'README.md'), '# sample\n')
  await using simulator = await openSimulator({ text: scenarioOf(pair) })
  const open: OpenSession = {
    ...{ id: 's-000001', cwd: project, env: pair.env(dir, simulator.url), isolation: 'marker', settingSources: [] },
    ...(pair.model && { model: pair.model }),
    asks: {
      permission: async () => ({ verdict: 'allow', risk: 'LOW', reason: '', confidence: 1, by: 'bench' }),
      question: async () => ({ declined: 'nobody', by: 'bench' }),
    },
  }
  try {
    // Turn by turn, so that a busy period of the machine slows both.
    await using bare = await pair.bare(open)
    await using driven = await drivenAgent(pair, open)
    const took: { bare: number[]; driven: number[] } = { bare: [], driven: [] }
    for (let at = 0; at <= TURNS; at += 1) {
      const [one, other] = [await timed(bare.turn), await timed(driven.turn)]
      // The first one fills caches.
      if (at > 0) took.bare.push(one)
      if (at > 0) took.driven.push(other)
    }
    const [ours, theirs] = [quickest(took.driven), quickest(took.bare)]
    const ratio = ours / theirs
    const measured = `${ours.toFixed(1)} ms (bare ${theirs.toFixed(1)} ms; the quicker half of ${TURNS} turns each)`
    return { what, measured, ratio, budget, ok: ratio <= 1.05 }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** The median of the faster half, because other load only makes turns slower. */
function quickest(times: readonly number[]): number {
  return median(times.toSorted((a, b) => a - b).slice(0, Math.ceil(times.length / 2)))
}

async function timed(work: () => Promise<void>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}
